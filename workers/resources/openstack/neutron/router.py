"""``OS::Neutron::Router``: connects networks, and leads to an external one."""

from collections.abc import Collection as Names
from collections.abc import Iterable, Mapping, Sequence
from typing import Any, Final

from orchestrator.definition import UNKNOWN
from orchestrator.plugins.custom import Custom
from orchestrator.plugins.properties import PropertyError, PropertyType
from orchestrator.plugins.siblings import Sibling, Siblings
from orchestrator.plugins.steps import PropertyChanges
from orchestrator.plugins.support import Support, SupportStatus
from orchestrator.plugins.translation import Add, Rule
from workers.resources.openstack.comparing import spelled_as_given
from workers.resources.openstack.lookups import looked_up
from workers.resources.openstack.neutron.agents import Scheduled
from workers.resources.openstack.neutron.fixed_ips import fixed_ips_seen, fixed_ips_sent, without_null
from workers.resources.openstack.neutron.neutron_object import (
    TAGS,
    VALUE_SPECS,
    neutron_collection,
)
from workers.resources.openstack.neutron.order import subnets_of
from workers.resources.schemas import boolean, listing, live, mapping, text

_GATEWAY: Final = "external_gateway_info"
_BY_ADMINISTRATORS: Final = "usually only administrators may choose"
_OLD_AGENT: Final = SupportStatus(
    status=Support.HIDDEN,
    version="6.0.0",
    message="use l3_agent_ids",
    previous=SupportStatus(status=Support.DEPRECATED, version="2015.1", message="use l3_agent_ids"),
)
_GATEWAY_SCHEMA: Final = {
    "network": text("The id or name of the external network.", required=True, update_allowed=True),
    "enable_snat": boolean(
        f"Whether addresses are translated on the way out; {_BY_ADMINISTRATORS} that.", update_allowed=True
    ),
    "external_fixed_ips": listing(
        "The addresses of the router in that network; by default, the service chooses one.",
        schema=mapping(
            "An address.",
            schema={
                "ip_address": text("The address.", constraints=(Custom("ip_addr"),)),
                "subnet": text(
                    "The id or name of the subnet that it is of.", constraints=(Custom("neutron.subnet"),)
                ),
            },
        ),
        update_allowed=True,
    ),
}


class Router(Scheduled):
    """A router of the network service."""

    description = "A router between networks, which may have an external network as its gateway."
    example = """\
heat_template_version: 2021-04-16
parameters:
  outside: {type: string, default: public}
resources:
  router:
    type: OS::Neutron::Router
    properties:
      external_gateway_info: {network: {get_param: outside}}
"""
    collection = neutron_collection("router")
    entity = "router"
    agents_property = "l3_agent_ids"
    agents_path = "l3-agents"
    scheduled_path = "l3-routers"
    scheduled_key = "router_id"
    sent_as = {"l3_agent_ids": "", "l3_agent_id": ""}
    extensions = {
        "": "router",
        "l3_agent_ids": "l3_agent_scheduler",
        "distributed": "dvr",
        "ha": "l3-ha",
        "availability_zone_hints": "router_availability_zone",
        "tags": "standard-attr-tag",
    }
    properties_schema = {
        "name": text("Its name.", update_allowed=True),
        _GATEWAY: mapping("Its gateway to an external network.", schema=_GATEWAY_SCHEMA, update_allowed=True),
        "value_specs": VALUE_SPECS,
        "admin_state_up": boolean("Whether it is up.", default=True, update_allowed=True),
        "l3_agent_id": text(
            "The old name of l3_agent_ids, with one id.", update_allowed=True, support_status=_OLD_AGENT
        ),
        "l3_agent_ids": listing(
            f"The ids of the L3 agents that run it; {_BY_ADMINISTRATORS} them.",
            schema=text(),
            update_allowed=True,
        ),
        "distributed": boolean(f"Whether it runs on the servers' hosts; {_BY_ADMINISTRATORS} that."),
        "ha": boolean(f"Whether several agents run it, so that one may fail; {_BY_ADMINISTRATORS} that."),
        "availability_zone_hints": listing(
            "The availability zones that it should be in.", update_allowed=True
        ),
        "tags": TAGS,
        "tenant_id": text("The id of its project; only administrators may name another than their own."),
    }
    attributes_schema = {
        "status": live("Its status.", PropertyType.STRING),
        _GATEWAY: live("Its gateway: the network, and its addresses there.", PropertyType.MAP),
        "name": live("Its name.", PropertyType.STRING),
        "admin_state_up": live("Whether it is up."),
        "tenant_id": live("The id of its project.", PropertyType.STRING),
    }

    @classmethod
    def translation_rules(cls, properties: Mapping[str, Any]) -> Sequence[Rule]:  # noqa: ARG003 (the contract)
        """Return the rules of the old name of agents, and of the names of networks and subnets."""
        return (
            Add(path=("l3_agent_ids",), source=("l3_agent_id",)),
            looked_up("network", _GATEWAY, "network"),
            looked_up("subnet", _GATEWAY, "external_fixed_ips", "subnet"),
        )

    @classmethod
    def validate(cls, properties: Mapping[str, Any]) -> None:
        """Check what agents and kinds of routers go together.

        Raises:
            PropertyError: some do not.
        """
        known = {name: value for name, value in properties.items() if value is not UNKNOWN}
        agents = known.get("l3_agent_ids")
        if known.get("distributed") and agents:
            raise PropertyError(("distributed",), "a distributed router runs on no agents of one's choice")
        if known.get("distributed") and known.get("ha"):
            raise PropertyError(("ha",), "it cannot be given together with distributed")
        if "ha" in known and not known["ha"] and len(agents or ()) > 1:
            raise PropertyError(("l3_agent_ids",), "only a router with ha runs on several agents")

    @classmethod
    def implied_requirements(cls, own: Sibling, siblings: Siblings) -> Iterable[str]:
        """Return the subnets of its external network, of which it has its addresses there."""
        return subnets_of((own.properties.get(_GATEWAY) or {}).get("network"), siblings)

    def values(self, names: Names[str]) -> dict[str, Any]:
        """Return the body of a request."""
        body = super().values(names)
        if gateway := body.get(_GATEWAY):
            addresses = gateway["external_fixed_ips"]
            body[_GATEWAY] = without_null(
                {
                    "network_id": gateway["network"],
                    "enable_snat": gateway["enable_snat"],
                    "external_fixed_ips": None if addresses is None else fixed_ips_sent(addresses),
                }
            )
        return body

    def changed_values(self, changes: PropertyChanges) -> dict[str, Any]:
        """Return the body of an update, where an empty map means no gateway."""
        body = super().changed_values(changes)
        if _GATEWAY in body:
            body[_GATEWAY] = body[_GATEWAY] or {}
        return body

    def seen(self, name: str, shown: Mapping[str, Any]) -> Any:
        """Return a property as the service has it."""
        if name != _GATEWAY:
            return super().seen(name, shown)
        gateway = shown[name] or {}
        found = {
            "network": gateway.get("network_id"),
            "enable_snat": gateway.get("enable_snat"),
            "external_fixed_ips": fixed_ips_seen(gateway.get("external_fixed_ips") or ()),
        }
        return spelled_as_given(self.properties[name], found)
