"""``OS::Neutron::ProviderNet``: a network of which an administrator says what it is made of."""

from collections.abc import Mapping, Sequence
from typing import Any, Final

from orchestrator.plugins.constraints import AllowedValues
from orchestrator.plugins.custom import Custom
from orchestrator.plugins.properties import PropertyError, PropertyType
from orchestrator.plugins.translation import Rule
from workers.resources.openstack.lookups import looked_up
from workers.resources.openstack.neutron.net import Net
from workers.resources.openstack.neutron.neutron_object import NeutronObject
from workers.resources.schemas import boolean, listing, live, text

_WITHOUT_SEGMENTS: Final = frozenset({"flat", "local"})


class ProviderNet(Net):
    """A network of which an administrator says what it is made of."""

    description = "A network of a given type on a given physical one, made by an administrator."
    example = """\
heat_template_version: 2021-04-16
resources:
  office:
    type: OS::Neutron::ProviderNet
    properties: {network_type: vlan, physical_network: physnet1, segmentation_id: "101"}
"""
    sent_as = {
        "network_type": "provider:network_type",
        "physical_network": "provider:physical_network",
        "segmentation_id": "provider:segmentation_id",
        "router_external": "router:external",
        "qos_policy": "qos_policy_id",
    }
    shown_as = {"segmentation_id": "provider:segmentation_id"}
    extensions = {
        "": "provider",
        "availability_zone_hints": "network_availability_zone",
        "dns_domain": "dns-integration",
        "port_security_enabled": "port-security",
        "qos_policy": "qos",
        "router_external": "external-net",
        "tags": "standard-attr-tag",
    }
    properties_schema = {
        "name": text("Its name.", update_allowed=True),
        "network_type": text(
            "Its type.",
            required=True,
            update_allowed=True,
            constraints=(AllowedValues(("local", "vlan", "vxlan", "gre", "geneve", "flat")),),
        ),
        "physical_network": text("The physical network that it is on.", update_allowed=True),
        "segmentation_id": text("Its number on the physical network.", update_allowed=True),
        "admin_state_up": boolean("Whether it is up.", default=True, update_allowed=True),
        "shared": boolean("Whether all projects may use it.", default=True, update_allowed=True),
        "port_security_enabled": boolean("Whether its ports are secured by default.", update_allowed=True),
        "router_external": boolean(
            "Whether routers may use it as their way out.", default=False, update_allowed=True
        ),
        "tags": listing("Its tags.", schema=text(), update_allowed=True),
        "dns_domain": text(
            "The DNS domain of its ports.", update_allowed=True, constraints=(Custom("dns_domain"),)
        ),
        "availability_zone_hints": listing("The availability zones that it should be in."),
        "qos_policy": text(
            "The id or name of its policy of the quality of service.",
            update_allowed=True,
            constraints=(Custom("neutron.qos_policy"),),
        ),
    }
    attributes_schema = {
        "status": live("Its status.", PropertyType.STRING),
        "subnets": live("The ids of its subnets.", PropertyType.LIST),
        "segmentation_id": live("Its number on the physical network."),
    }

    @classmethod
    def translation_rules(cls, properties: Mapping[str, Any]) -> Sequence[Rule]:  # noqa: ARG003
        """Return that a policy may be given by its name."""
        return [looked_up("QoS policy", "qos_policy")]

    @classmethod
    def validate(cls, properties: Mapping[str, Any]) -> None:
        """Refuse a number where the type has none.

        Raises:
            PropertyError: it is given.
        """
        kind = properties["network_type"]
        if properties["segmentation_id"] and isinstance(kind, str) and kind in _WITHOUT_SEGMENTS:
            raise PropertyError(("segmentation_id",), f"a {kind} network has none")

    def is_ready(self) -> Any:
        """Return whether it is ready; unlike other networks, it has no property for its agents."""
        return NeutronObject.is_ready(self)

    def seen(self, name: str, shown: Mapping[str, Any]) -> Any:
        """Return a property as the service has it; the number is a text here."""
        found = super().seen(name, shown)
        return str(found) if name == "segmentation_id" and isinstance(found, int) else found
