"""``OS::Nova::Flavor``: a size of servers."""

from collections.abc import Mapping, Sequence
from typing import Any, Final

from orchestrator.plugins.custom import Custom
from orchestrator.plugins.steps import Wait
from orchestrator.plugins.translation import Rule
from workers.resources.openstack.cloud_object import UNSEEN
from workers.resources.openstack.collection import Collection
from workers.resources.openstack.comparing import as_texts
from workers.resources.openstack.lookups import looked_up
from workers.resources.openstack.noted import Noted
from workers.resources.openstack.nova.nova_object import NovaObject
from workers.resources.openstack.only_one import OnlyOne
from workers.resources.schemas import boolean, integer, listing, live, mapping, number, text

_IS_PUBLIC: Final = "os-flavor-access:is_public"


class Flavor(NovaObject, Noted, OnlyOne):
    """A flavor of servers, which an administrator makes; its id is the row's where none is given."""

    description = "A flavor: the size of servers. Only administrators may make one."
    example = """\
heat_template_version: 2021-04-16
resources:
  small:
    type: OS::Nova::Flavor
    properties: {ram: 512, vcpus: 1, disk: 1, extra_specs: {"hw:cpu_policy": shared}}
"""
    collection = Collection(path="/flavors", key="flavor", plural="flavors", details="/flavors/detail")
    entity = "flavor"
    whole_list = {"is_public": "none"}
    sent_as = {
        "flavorid": "id",
        "ephemeral": "OS-FLV-EXT-DATA:ephemeral",
        "is_public": _IS_PUBLIC,
        "tenants": "",
        "extra_specs": "",
    }
    shown_as = {"is_public": _IS_PUBLIC}
    properties_schema = {
        "tenants": listing(
            "The ids or names of the projects that may use it, if it is not public; by default, the one it is made in.",
            default=[],
            update_allowed=True,
            schema=text(constraints=(Custom("keystone.project"),)),
        ),
        "flavorid": text("Its id; by default, a unique one."),
        "name": text("Its name; by default, a unique one."),
        "ram": integer("Its memory, in MiB.", required=True),
        "vcpus": integer("Its number of processors.", required=True),
        "disk": integer("The size of its disk, in GiB; 0 is the size of the image.", default=0),
        "swap": integer("The size of its swap space, in MiB.", default=0),
        "ephemeral": integer("The size of a second disk, in GiB.", default=0),
        "rxtx_factor": number("The factor by which its network is faster or slower.", default=1.0),
        "extra_specs": mapping("Further requirements, as keys and values.", update_allowed=True),
        "is_public": boolean("Whether all projects may use it.", default=True),
    }
    attributes_schema = {
        "is_public": live("Whether all projects may use it."),
        "extra_specs": live("Its further requirements."),
    }

    @classmethod
    def translation_rules(cls, properties: Mapping[str, Any]) -> Sequence[Rule]:  # noqa: ARG003
        """Let projects be given by name."""
        return [looked_up("project", "tenants")]

    @property
    def is_in_the_way(self) -> bool:
        """Whether its replacement has the same given id."""
        return bool(self.properties["flavorid"]) and self.state.physical_id == self.properties["flavorid"]

    def values(self, names: Any) -> dict[str, Any]:
        """Return the body of the request; an update has none, but requests of its own."""
        return {**super().values(names), "id": self._flavor_id} if self.state.physical_id is None else {}

    def alike(self) -> Sequence[dict[str, Any]]:
        """Return the flavor of its id."""
        shown = self.read(self._flavor_id)
        return [shown] if shown else []

    def is_ready(self) -> bool | Wait:
        """Return whether it is there; then it gets its specs and its projects."""
        ready = super().is_ready()
        if ready is True:
            self._set_specs()
            self._set_projects()
        return ready

    def seen(self, name: str, shown: Mapping[str, Any]) -> Any:
        """Return a property as the service has it."""
        if name == "extra_specs":
            return self._specs()
        if name == "tenants":
            found, given = self._projects(), list(self.properties[name])
            if self.properties["is_public"] or not given:
                return UNSEEN
            return given if sorted(given) == found else found
        value = super().seen(name, shown)
        return (value or 0) if name == "swap" else value

    def attribute(self, name: str) -> Any:
        """Return an attribute, read from the service."""
        return self._specs() if name == "extra_specs" and self.whole() else super().attribute(name)

    @property
    def _flavor_id(self) -> str:
        return self.properties["flavorid"] or self.state.uuid

    def _at(self, path: str) -> str:
        return f"{self.collection.at(str(self.state.physical_id))}/{path}"

    def _specs(self) -> dict[str, Any]:
        return dict(self.service.ask("GET", self._at("os-extra_specs"))["extra_specs"])

    def _set_specs(self) -> None:
        wanted = as_texts(self.properties["extra_specs"])
        if not wanted and self.state.action == "CREATE":
            return
        specs = self._specs()
        for name in sorted(specs.keys() - wanted.keys()):
            self.service.ask("DELETE", self._at(f"os-extra_specs/{name}"))
        if changed := {name: value for name, value in wanted.items() if specs.get(name) != value}:
            self.service.ask("POST", self._at("os-extra_specs"), body={"extra_specs": changed})

    def _projects(self) -> list[str]:
        if self.properties["is_public"]:
            return []
        access = self.service.ask("GET", self._at("os-flavor-access"))["flavor_access"]
        return sorted(each["tenant_id"] for each in access)

    def _set_projects(self) -> None:
        if self.properties["is_public"]:
            return
        found = set(self._projects())
        wanted = set(self.properties["tenants"]) or {str(self.service.proxy().get_project_id())}
        actions = [("removeTenantAccess", project) for project in sorted(found - wanted)]
        actions += [("addTenantAccess", project) for project in sorted(wanted - found)]
        for action, project in actions:
            try:
                self.service.ask("POST", self._at("action"), body={action: {"tenant": project}})
            except Exception as error:
                # It was done by a step that died: the list may not tell yet.
                if not (self.service.is_conflict(error) or self.service.is_not_found(error)):
                    raise
