"""``OS::Neutron::Net``: a network."""

from collections.abc import Mapping, Sequence
from typing import Any

from orchestrator.plugins.custom import Custom
from orchestrator.plugins.properties import PropertyType
from orchestrator.plugins.translation import Rule
from workers.resources.openstack.lookups import looked_up
from workers.resources.openstack.neutron.agents import Scheduled
from workers.resources.openstack.neutron.neutron_object import (
    TAGS,
    VALUE_SPECS,
    neutron_collection,
    refuse_known_values,
)
from workers.resources.schemas import boolean, listing, live, text


class Net(Scheduled):
    """A network of the network service."""

    description = "A network."
    example = """\
heat_template_version: 2021-04-16
resources:
  network:
    type: OS::Neutron::Net
    properties: {name: inside}
"""
    collection = neutron_collection("network")
    entity = "network"
    agents_property = "dhcp_agent_ids"
    agents_path = "dhcp-agents"
    scheduled_path = "dhcp-networks"
    scheduled_key = "network_id"
    sent_as = {"qos_policy": "qos_policy_id", "dhcp_agent_ids": ""}
    extensions = {
        "dhcp_agent_ids": "dhcp_agent_scheduler",
        "port_security_enabled": "port-security",
        "qos_policy": "qos",
        "dns_domain": "dns-integration",
        "availability_zone_hints": "network_availability_zone",
        "tags": "standard-attr-tag",
    }
    properties_schema = {
        "name": text("Its name.", update_allowed=True),
        "value_specs": VALUE_SPECS,
        "admin_state_up": boolean("Whether it is up.", default=True, update_allowed=True),
        "tenant_id": text("The id of its project; only administrators may name another than their own."),
        "shared": boolean(
            "Whether all projects may use it; usually only administrators may share networks.",
            default=False,
            update_allowed=True,
        ),
        "dhcp_agent_ids": listing(
            "The ids of the DHCP agents that serve it; usually only administrators may choose them.",
            update_allowed=True,
        ),
        "port_security_enabled": boolean("Whether its ports are secured by default.", update_allowed=True),
        "qos_policy": text(
            "The id or name of its policy of the quality of service.",
            constraints=(Custom("neutron.qos_policy"),),
            update_allowed=True,
        ),
        "dns_domain": text(
            "The DNS domain of its ports.", constraints=(Custom("dns_domain"),), update_allowed=True
        ),
        "availability_zone_hints": listing("The availability zones that it should be in."),
        "tags": TAGS,
    }
    attributes_schema = {
        "status": live("Its status.", PropertyType.STRING),
        "name": live("Its name.", PropertyType.STRING),
        "subnets": live("The ids of its subnets.", PropertyType.LIST),
        "admin_state_up": live("Whether it is up."),
        "tenant_id": live("The id of its project.", PropertyType.STRING),
        "port_security_enabled": live("Whether its ports are secured by default.", PropertyType.BOOLEAN),
        "mtu": live("The size of its largest packets, in bytes.", PropertyType.INTEGER),
        "qos_policy_id": live("The id of its policy of the quality of service.", PropertyType.STRING),
        "l2_adjacency": live("Whether all of its ports are on one link.", PropertyType.BOOLEAN),
        "segments": live("Its segments, those without a name first.", PropertyType.LIST),
    }

    @classmethod
    def translation_rules(cls, properties: Mapping[str, Any]) -> Sequence[Rule]:  # noqa: ARG003 (the contract)
        """Return the rule that finds the policy by its name."""
        return (looked_up("QoS policy", "qos_policy"),)

    @classmethod
    def validate(cls, properties: Mapping[str, Any]) -> None:
        """Refuse further values that are properties.

        Raises:
            PropertyError: there are some.
        """
        refuse_known_values(properties)

    def attribute(self, name: str) -> Any:
        """Return an attribute; segments are objects of their own."""
        if name != "segments":
            return super().attribute(name)
        try:
            segments = self.service.listed("/segments", "segments", {"network_id": self.state.physical_id})
        except Exception as error:
            if self.service.is_not_found(error):
                # The service has no segments.
                return []
            raise
        return sorted(segments, key=lambda segment: segment.get("name") is not None)
