"""``OS::Cinder::VolumeType``: a type of volumes, and the projects that may use it."""

from collections.abc import Mapping
from typing import Any

from orchestrator.definition import is_unknown
from orchestrator.plugins.custom import Custom
from orchestrator.plugins.properties import PropertyError
from orchestrator.plugins.steps import PropertyChanges
from orchestrator.plugins.translation import Rule
from workers.resources.openstack.cinder.cinder_object import (
    VOLUME_TYPES,
    CinderObject,
)
from workers.resources.openstack.comparing import as_texts, texts_as_given
from workers.resources.openstack.lookups import looked_up
from workers.resources.openstack.tokens import token_of
from workers.resources.schemas import boolean, listing, mapping, text


class VolumeType(CinderObject):
    """A type of volumes. Most clouds let administrators alone make one."""

    description = "A type of volumes, which administrators make."
    example = """\
heat_template_version: 2021-04-16
resources:
  fast:
    type: OS::Cinder::VolumeType
    properties:
      name: fast
      metadata: {volume_backend_name: ssd}
"""
    collection = VOLUME_TYPES
    entity = "volume type"
    whole_list = {"is_public": "None"}
    extensions = {"": "os-types-manage", "projects": "os-volume-type-access"}
    sent_as = {"metadata": "", "is_public": "os-volume-type-access:is_public", "projects": ""}
    properties_schema = {
        "name": text("Its name, which no other type has.", required=True, update_allowed=True),
        "metadata": mapping("Its extra specifications: keys and texts.", update_allowed=True),
        "is_public": boolean("Whether all projects may use it.", default=True, update_allowed=True),
        "description": text("Its description.", update_allowed=True),
        "projects": listing(
            "The ids or names of the projects that may use it, if it is not public.",
            schema=text(constraints=(Custom("keystone.project"),)),
            default=[],
            update_allowed=True,
        ),
    }

    @classmethod
    def translation_rules(cls, properties: Mapping[str, Any]) -> list[Rule]:  # noqa: ARG003 (the contract's)
        """Return that projects may be given by their names."""
        return [looked_up("project", "projects")]

    @classmethod
    def validate(cls, properties: Mapping[str, Any]) -> None:
        """Check that a public type names no projects.

        Raises:
            PropertyError: it does.
        """
        projects = properties["projects"]
        if projects and not is_unknown(projects) and properties["is_public"] is True:
            raise PropertyError(("projects",), "all projects may use a public type: set is_public to false")

    def found(self) -> dict[str, Any] | None:
        """Return the type of this row, among all of them: lists have no other condition."""
        listed = self.collection.listed(self.service, is_public="None")
        return next((each for each in listed if token_of(each.get("description")) == self.state.uuid), None)

    def check_create_complete(self, token: Any) -> bool:  # noqa: ARG002 (the contract's signature)
        """Give it its extra specifications and its projects."""
        self._set_metadata()
        self._set_projects()
        return True

    def handle_update(self, changes: PropertyChanges) -> None:
        """Change what differs."""
        body = self.changed_values(changes)
        public = body.pop("os-volume-type-access:is_public", None)
        self.change({**body, **({} if public is None else {"is_public": public})})
        self._set_metadata()
        self._set_projects()

    def check_update_complete(self, token: Any) -> bool:  # noqa: ARG002 (the contract's signature)
        """Return that the changes were made at once."""
        return True

    def _set_metadata(self) -> None:
        wanted, has = as_texts(self.properties["metadata"]), dict(self.whole().get("extra_specs") or {})
        path = f"{self.collection.at(str(self.state.physical_id))}/extra_specs"
        if added := {name: value for name, value in wanted.items() if has.get(name) != value}:
            self.service.ask("POST", path, body={"extra_specs": added})
        for name in sorted(has.keys() - wanted.keys()):
            self._ignoring_gone("DELETE", f"{path}/{name}")
        self.changed()

    def _set_projects(self) -> None:
        wanted, has = set(self.properties["projects"] or ()), self._projects()
        path = f"{self.collection.at(str(self.state.physical_id))}/action"
        if self.whole().get("os-volume-type-access:is_public"):
            return
        for project in sorted(wanted - has):
            self.service.ask("POST", path, body={"addProjectAccess": {"project": project}})
        for project in sorted(has - wanted):
            self._ignoring_gone("POST", path, {"removeProjectAccess": {"project": project}})

    def _projects(self) -> set[str]:
        """Return the ids of the projects that may use it; the service does not list those of a public one."""
        if self.whole().get("os-volume-type-access:is_public"):
            return set()
        path = f"{self.collection.at(str(self.state.physical_id))}/os-volume-type-access"
        return {each["project_id"] for each in self.service.ask("GET", path)["volume_type_access"]}

    def _ignoring_gone(self, method: str, path: str, body: Mapping[str, Any] | None = None) -> None:
        try:
            self.service.ask(method, path, body=body)
        except Exception as error:
            if not self.service.is_not_found(error):
                raise

    def seen(self, name: str, shown: Mapping[str, Any]) -> Any:
        """Return a property as the service has it."""
        if name == "metadata":
            return texts_as_given(self.properties[name], shown.get("extra_specs") or {})
        if name == "projects":
            given, has = self.properties[name], self._projects()
            return [each for each in given if each in has] + sorted(has - set(given))
        return super().seen(name, shown)
