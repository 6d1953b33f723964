"""``OS::Neutron::Trunk``: a port that carries the networks of other ports."""

from collections.abc import Mapping, Sequence
from typing import Any

from orchestrator.plugins.constraints import AllowedValues, Range
from orchestrator.plugins.custom import Custom
from orchestrator.plugins.properties import PropertyType
from orchestrator.plugins.steps import PropertyChanges
from orchestrator.plugins.translation import Rule
from workers.resources.openstack.lookups import looked_up
from workers.resources.openstack.neutron.neutron_object import NeutronObject, neutron_collection
from workers.resources.schemas import boolean, integer, listing, live, mapping, text


class Trunk(NeutronObject):
    """A trunk; a port is taken out of it before it is put in again with another number."""

    description = "A trunk: a port that also carries the networks of other ports."
    example = """\
heat_template_version: 2021-04-16
parameters:
  parent: {type: string}
  child: {type: string}
resources:
  trunk:
    type: OS::Neutron::Trunk
    properties:
      port: {get_param: parent}
      sub_ports:
      - {port: {get_param: child}, segmentation_type: vlan, segmentation_id: 101}
"""
    collection = neutron_collection("trunk")
    extensions = {"": "trunk"}
    failed_statuses = frozenset({"error", "degraded"})
    sent_as = {"port": "port_id"}
    properties_schema = {
        "name": text("Its name.", update_allowed=True),
        "port": text(
            "The id or name of the port that carries the others.",
            required=True,
            immutable=True,
            constraints=(Custom("neutron.port"),),
        ),
        "sub_ports": listing(
            "The ports whose networks it carries.",
            schema=mapping(
                "A port.",
                schema={
                    "port": text(
                        "The id or name of the port.", required=True, constraints=(Custom("neutron.port"),)
                    ),
                    "segmentation_type": text(
                        "How its packets are marked.", required=True, constraints=(AllowedValues(("vlan",)),)
                    ),
                    "segmentation_id": integer(
                        "The number that its packets are marked with.",
                        required=True,
                        constraints=(Range(min=1, max=4094),),
                    ),
                },
            ),
            update_allowed=True,
        ),
        "description": text("Its description.", update_allowed=True),
        "admin_state_up": boolean(
            "Whether it is up; if not, it cannot be deleted, nor its ports changed.", update_allowed=True
        ),
    }
    attributes_schema = {"port_id": live("The id of the port that carries the others.", PropertyType.STRING)}

    @classmethod
    def translation_rules(cls, properties: Mapping[str, Any]) -> Sequence[Rule]:  # noqa: ARG003
        """Return that ports may be given by their names."""
        return [looked_up("port", *path) for path in (("port",), ("sub_ports", "port"))]

    def values(self, names: Any) -> dict[str, Any]:
        """Return the properties as a body, with the ports as the service calls them."""
        body = super().values(names)
        if "sub_ports" in body:
            body["sub_ports"] = self._wanted()
        return body

    def handle_update(self, changes: PropertyChanges) -> None:
        """Change the trunk, and then take ports out and put others in."""
        body = self.changed_values(changes)
        body.pop("sub_ports", None)
        self.change(body)
        if "sub_ports" not in changes.names:
            return
        there, wanted = self.whole()["sub_ports"], self._wanted()
        self._put("remove_subports", [{"port_id": each["port_id"]} for each in there if each not in wanted])
        self._put("add_subports", [each for each in wanted if each not in there])

    def seen(self, name: str, shown: Mapping[str, Any]) -> Any:
        """Return a property as the service has it."""
        if name != "sub_ports":
            return super().seen(name, shown)
        return [
            {"port" if key == "port_id" else key: value for key, value in each.items()}
            for each in shown[name]
        ]

    def _wanted(self) -> list[dict[str, Any]]:
        return [
            {"port_id" if key == "port" else key: value for key, value in each.items()}
            for each in self.properties["sub_ports"] or ()
        ]

    def _put(self, how: str, ports: Sequence[Mapping[str, Any]]) -> None:
        if ports:
            path = f"{self.collection.at(str(self.state.physical_id))}/{how}"
            self.service.ask("PUT", path, body={"sub_ports": list(ports)})
            self.changed()
