"""``OS::Cinder::Quota``: the limits of a project in the block storage service."""

from collections.abc import Mapping
from functools import partial
from typing import Any, Final

from orchestrator.plugins.constraints import Range
from orchestrator.plugins.custom import Custom
from orchestrator.plugins.properties import PropertyError
from orchestrator.plugins.steps import PropertyChanges, ResourceFailure
from orchestrator.plugins.translation import Rule
from workers.resources.openstack.cinder.cinder_object import CinderObject
from workers.resources.openstack.collection import Collection
from workers.resources.openstack.lookups import looked_up
from workers.resources.openstack.recorded_first import RecordedFirst
from workers.resources.schemas import integer, text

#: The key of the id of the project: a deletion knows it by the name only that a template gives.
_PROJECT: Final = "project"
_limit = partial(integer, update_allowed=True, constraints=(Range(min=-1),))


class Quota(CinderObject, RecordedFirst):
    """Limits of a project: those that are given; the others are left alone. A deletion sets all to the defaults."""

    description = "Limits of a project in the block storage service, set by an administrator."
    example = """\
heat_template_version: 2021-04-16
parameters:
  project: {type: string}
resources:
  limits:
    type: OS::Cinder::Quota
    properties:
      project: {get_param: project}
      volumes: 20
      gigabytes: 1000
"""
    collection = Collection(path="/os-quota-sets", key="quota_set", plural="quota_sets")
    has_description = False
    extensions = {"": "os-quota-sets"}
    properties_schema = {
        "project": text(
            "The id or name of the project.", required=True, constraints=(Custom("keystone.project"),)
        ),
        "gigabytes": _limit("The limit of the size of all volumes and snapshots, in GiB; -1 is no limit."),
        "volumes": _limit("The limit of the number of volumes; -1 is no limit."),
        "backups": _limit("The limit of the number of backups; -1 is no limit."),
        "backup_gigabytes": _limit("The limit of the size of all backups, in GiB; -1 is no limit."),
        "snapshots": _limit("The limit of the number of snapshots; -1 is no limit."),
    }

    @classmethod
    def translation_rules(cls, properties: Mapping[str, Any]) -> list[Rule]:  # noqa: ARG003 (the contract's)
        """Return that the project may be given by its name."""
        return [looked_up("project", "project")]

    @classmethod
    def validate(cls, properties: Mapping[str, Any]) -> None:
        """Check that there is a limit.

        Raises:
            PropertyError: there is none.
        """
        limits = [name for name in cls.properties_schema if name != "project"]
        if all(properties[name] is None for name in limits):
            raise PropertyError(("gigabytes",), f"give at least one of {', '.join(sorted(limits))}")

    @property
    def _project(self) -> str:
        return str(self.state.data.get(_PROJECT) or self.properties["project"])

    def show(self) -> dict[str, Any] | None:
        """Return the limits, which every project has."""
        if self._shown is None:
            self._shown = (self.collection.show(self.service, self._project),)
        return self._shown[0]

    def record(self) -> None:
        """Record its name, and the id of the project."""
        self.state.physical_id = self.unique_name
        self.state.data[_PROJECT] = self.properties["project"]

    def make(self, token: Any) -> bool:  # noqa: ARG002 (the base's signature)
        """Set the limits."""
        self._set(self._given)
        return True

    def check_update_complete(self, token: Any) -> bool:  # noqa: ARG002 (the contract's signature)
        """Return that the limits were set at once."""
        return True

    def handle_update(self, changes: PropertyChanges) -> None:
        """Set the limits; those that are no longer given become the defaults."""
        gone = {name for name in changes.names if self._is_taken_away(name, changes)}
        limits = self._given
        if gone:
            defaults = self.service.ask("GET", f"{self.collection.at(self._project)}/defaults")["quota_set"]
            limits |= {name: defaults[name] for name in sorted(gone)}
        self._set(limits)

    def needs_replace_failed(self) -> bool:
        """Return that an update sets the limits."""
        return self.state.physical_id is None

    def handle_delete(self) -> bool:
        """Set all limits to the defaults; the project may be gone."""
        if self.state.physical_id is not None:
            self.collection.delete(self.service, self._project)
            self.changed()
        return False

    @property
    def _given(self) -> dict[str, int]:
        return {
            name: value for name, value in self.properties.items() if name != "project" and value is not None
        }

    def _set(self, limits: Mapping[str, int]) -> None:
        """Set limits.

        Raises:
            ResourceFailure: one is below what the project uses already.
        """
        path = self.collection.at(self._project)
        used = self.service.ask("GET", path, query={"usage": "True"})["quota_set"]
        for name, limit in limits.items():
            if 0 <= limit < used[name]["in_use"]:
                raise ResourceFailure(
                    f"{name} cannot be limited to {limit}: the project uses {used[name]['in_use']}"
                )
        self.collection.change(self.service, self._project, limits)
        self.changed()

    def seen(self, name: str, shown: Mapping[str, Any]) -> Any:
        """Return a property as the service has it."""
        return self._project if name == "project" else super().seen(name, shown)
