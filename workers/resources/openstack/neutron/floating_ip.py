"""``OS::Neutron::FloatingIP``: an address of an external network for a port of an internal one."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any, Final

from orchestrator.plugins.custom import Custom
from orchestrator.plugins.properties import PropertyError, PropertyType
from orchestrator.plugins.siblings import Sibling, Siblings, reference_of
from orchestrator.plugins.steps import PropertyChanges
from orchestrator.plugins.translation import Rule
from workers.resources.openstack.lookups import looked_up
from workers.resources.openstack.neutron.neutron_object import (
    NeutronObject,
    neutron_collection,
    old_name,
    renamed,
)
from workers.resources.openstack.neutron.order import same
from workers.resources.openstack.neutron.port import Port
from workers.resources.openstack.neutron.router import Router
from workers.resources.openstack.neutron.router_gateway import RouterGateway
from workers.resources.openstack.neutron.router_interface import RouterInterface
from workers.resources.openstack.neutron.subnet import Subnet
from workers.resources.schemas import live, mapping, text

_NETWORK: Final = (Custom("neutron.network"),)
_ADDRESS: Final = (Custom("ip_addr"),)
#: What one request changes together: an address of the port belongs to the port.
_ASSOCIATION: Final = ("port_id", "fixed_ip_address")
PORT: Final = text(
    "The id of the port that it leads to, which must have an address.",
    update_allowed=True,
    constraints=(Custom("neutron.port"),),
)
FIXED_IP_ADDRESS: Final = text(
    "The address of the port that it leads to; by default, its only one.",
    update_allowed=True,
    constraints=_ADDRESS,
)
FLOATING_IPS: Final = neutron_collection("floatingip")


class FloatingIP(NeutronObject):
    """A floating IP of the network service."""

    description = "An address of an external network, which may lead to a port of an internal one."
    example = """\
heat_template_version: 2021-04-16
parameters:
  outside: {type: string, default: public}
resources:
  address:
    type: OS::Neutron::FloatingIP
    properties:
      floating_network: {get_param: outside}
outputs:
  address: {value: {get_attr: [address, floating_ip_address]}}
"""
    collection = FLOATING_IPS
    sent_as = {"floating_network": "floating_network_id", "floating_subnet": "subnet_id"}
    extensions = {"": "router", "dns_name": "dns-integration", "dns_domain": "dns-integration"}
    properties_schema = {
        "floating_network_id": old_name("floating_network", constraints=_NETWORK),
        "floating_network": text(
            "The id or name of the external network.", required=True, constraints=_NETWORK
        ),
        "floating_subnet": text(
            "The id or name of the subnet of the external network that it is of.",
            constraints=(Custom("neutron.subnet"),),
        ),
        "value_specs": mapping("Further values of the request, sent as they are.", default={}),
        "port_id": PORT,
        "fixed_ip_address": FIXED_IP_ADDRESS,
        "floating_ip_address": text(
            "The address; usually only administrators may choose it.", constraints=_ADDRESS
        ),
        "dns_name": text(
            "Its DNS name. A change has no effect.",
            update_allowed=True,
            constraints=(Custom("rel_dns_name"),),
        ),
        "dns_domain": text(
            "Its DNS domain. A change has no effect.",
            update_allowed=True,
            constraints=(Custom("dns_domain"),),
        ),
    }
    attributes_schema = {
        "router_id": live("The id of the router, while it leads to a port.", PropertyType.STRING),
        "tenant_id": live("The id of its project.", PropertyType.STRING),
        "floating_network_id": live("The id of the external network.", PropertyType.STRING),
        "fixed_ip_address": live("The address that it leads to.", PropertyType.STRING),
        "floating_ip_address": live("The address itself.", PropertyType.STRING),
        "port_id": live("The id of the port that it leads to.", PropertyType.STRING),
    }

    @classmethod
    def translation_rules(cls, properties: Mapping[str, Any]) -> Sequence[Rule]:  # noqa: ARG003 (the contract)
        """Return the rules of the old name of the network, and of names."""
        return (
            renamed("floating_network_id", "floating_network"),
            looked_up("network", "floating_network"),
            looked_up("subnet", "floating_subnet"),
        )

    @classmethod
    def validate(cls, properties: Mapping[str, Any]) -> None:
        """Check that an address of a port comes with the port.

        Raises:
            PropertyError: it does not.
        """
        if properties["port_id"] is None and properties["fixed_ip_address"] is not None:
            raise PropertyError(("fixed_ip_address",), "it needs port_id, too")

    @classmethod
    def implied_requirements(cls, own: Sibling, siblings: Siblings) -> Iterable[str]:
        """Return the routers that lead to its network, and the interfaces that lead to its port."""
        network = own.properties.get("floating_network")
        for gateway in siblings.of(RouterGateway):
            if same(network, gateway.properties.get("network")):
                yield gateway.name
        for router in siblings.of(Router):
            if same(network, (router.properties.get("external_gateway_info") or {}).get("network")):
                yield router.name
        yield from interfaces_to(own.properties.get("port_id"), siblings)

    def changed_values(self, changes: PropertyChanges) -> dict[str, Any]:
        """Return the body of an update, which is all of the association; the service changes nothing else."""
        body = super().changed_values(changes)
        if not body.keys() & {*_ASSOCIATION}:
            return {}
        return {name: self.properties[name] or None for name in _ASSOCIATION}

    def prepare_for_replace(self) -> bool:
        """Give up the port that its replacement is to lead to; an update in place leads to it again."""
        shown, port = self.show(), self.properties["port_id"]
        if shown and port and shown["port_id"] == port:
            self.change({"port_id": None})
        return True


def interfaces_to(port: object, siblings: Siblings) -> Iterator[str]:
    """Yield the names of router interfaces that may lead to a port of the stack, given as in properties."""
    found = siblings.get(reference_of(port) or "")
    if found is None or found.kind is None or not issubclass(found.kind, Port):
        return
    for interface in siblings.of(RouterInterface):
        if _may_lead_to(found, interface.properties.get("subnet"), siblings):
            yield interface.name


def _may_lead_to(port: Sibling, subnet: object, siblings: Siblings) -> bool:
    """Whether a port may have an address of a subnet; ``subnet`` is None if it is not known."""
    if addresses := port.properties.get("fixed_ips"):
        given = addresses if isinstance(addresses, list) else ()
        return any(isinstance(each, Mapping) and same(subnet, each.get("subnet")) for each in given)
    made_here = siblings.get(reference_of(subnet) or "")
    if made_here is None or made_here.kind is None or not issubclass(made_here.kind, Subnet):
        return True
    return same(port.properties.get("network"), made_here.properties.get("network"))
