"""``OS::Neutron::FloatingIPAssociation``: the port that a floating IP leads to, apart from it."""

from collections.abc import Iterable, Mapping
from dataclasses import replace
from typing import Any, Final

from orchestrator.plugins.siblings import Sibling, Siblings
from orchestrator.plugins.steps import PropertyChanges, ResourceFailure
from workers.resources.openstack.neutron.floating_ip import (
    FIXED_IP_ADDRESS,
    FLOATING_IPS,
    PORT,
    interfaces_to,
)
from workers.resources.openstack.neutron.relation import Relation
from workers.resources.schemas import text

#: Private data: every floating IP with the port that it may lead to by this row.
_PAIRS: Final = "pairs"


class FloatingIPAssociation(Relation):
    """The association of a floating IP, which the network service shows with the floating IP."""

    description = "The association of a floating IP with the port that it leads to."
    example = """\
heat_template_version: 2021-04-16
parameters:
  outside: {type: string, default: public}
  port: {type: string}
resources:
  address:
    type: OS::Neutron::FloatingIP
    properties:
      floating_network: {get_param: outside}
  association:
    type: OS::Neutron::FloatingIPAssociation
    properties:
      floatingip_id: {get_resource: address}
      port_id: {get_param: port}
"""
    collection = FLOATING_IPS
    extensions = {"": "router"}
    properties_schema = {
        "floatingip_id": text("The id of the floating IP.", required=True, update_allowed=True),
        "port_id": replace(PORT, required=True),
        "fixed_ip_address": FIXED_IP_ADDRESS,
    }

    @classmethod
    def implied_requirements(cls, own: Sibling, siblings: Siblings) -> Iterable[str]:
        """Return the router interfaces that lead to its port."""
        return interfaces_to(own.properties.get("port_id"), siblings)

    @property
    def relation_id(self) -> str:
        """The id of the row: there is no other."""
        return self.state.uuid

    @property
    def _wanted(self) -> list[str]:
        return [self.properties["floatingip_id"], self.properties["port_id"]]

    @property
    def object_id(self) -> str:
        """The floating IP."""
        return str(self.properties["floatingip_id"])

    def show(self) -> dict[str, Any] | None:
        """Return the floating IP, if it leads anywhere, read once per step; else None."""
        if self._shown is None:
            shown = self.read(self.object_id)
            self._shown = (shown if shown and shown["port_id"] else None,)
        return self._shown[0]

    def refuse_what_is_there(self) -> None:
        """Refuse nothing: as in Heat, the last association counts."""
        self.state.data[_PAIRS] = [self._wanted]

    def handle_update(self, changes: PropertyChanges) -> Any:  # noqa: ARG002 (the contract's signature)
        """Keep the old pair and the new one, until the new one is established."""
        pairs = self.state.data.get(_PAIRS, [])
        self.state.data[_PAIRS] = [*(pair for pair in pairs if pair != self._wanted), self._wanted]

    def establish(self) -> None:
        """Take away former associations of this row, and make the one that is wanted."""
        *former, _ = self.state.data.get(_PAIRS) or [self._wanted]
        for floating_ip, port in former:
            self._disassociate(floating_ip, port)
        if not self._is_established():
            floating_ip, port = self._wanted
            body = {"port_id": port, "fixed_ip_address": self.properties["fixed_ip_address"] or None}
            self.collection.change(self.service, floating_ip, body)
        self.state.data[_PAIRS] = [self._wanted]

    def _is_established(self) -> bool:
        shown = self.collection.show(self.service, self.properties["floatingip_id"])
        if shown is None:
            raise ResourceFailure(f"the floating IP {self.properties['floatingip_id']} does not exist")
        address = self.properties["fixed_ip_address"]
        return shown["port_id"] == self.properties["port_id"] and address in (
            None,
            "",
            shown["fixed_ip_address"],
        )

    def dissolve(self) -> bool:
        """Take away the associations of this row; those that lead elsewhere by now are left alone."""
        pairs = self.state.data.get(_PAIRS) or [self._wanted]
        return any([self._disassociate(*pair) for pair in pairs])  # noqa: C419 (all of them)

    def _disassociate(self, floating_ip: str, port: str) -> bool:
        shown = self.collection.show(self.service, floating_ip)
        if not shown or shown["port_id"] != port:
            return False
        self.collection.change(self.service, floating_ip, {"port_id": None})
        return True

    def seen(self, name: str, shown: Mapping[str, Any]) -> Any:
        """Return a property as the service has it."""
        return shown["id"] if name == "floatingip_id" else super().seen(name, shown)
