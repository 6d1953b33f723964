"""``OS::Neutron::SecurityGroupRule``: one rule of a security group."""

from collections.abc import Mapping, Sequence
from typing import Any, Final

from orchestrator.definition import UNKNOWN
from orchestrator.plugins.constraints import AllowedValues
from orchestrator.plugins.custom import Custom
from orchestrator.plugins.properties import PropertyError
from orchestrator.plugins.translation import Rule
from workers.resources.openstack.lookups import looked_up
from workers.resources.openstack.neutron.neutron_object import NeutronObject, neutron_collection
from workers.resources.openstack.neutron.security_group import PORT
from workers.resources.openstack.neutron.security_rules import prefix_of, protocol_of, rule_key
from workers.resources.openstack.only_one import OnlyOne
from workers.resources.schemas import integer, text

_PROTOCOLS: Final = (
    *("any", "ah", "dccp", "egp", "esp", "gre", "hopopt", "icmp", "icmpv6", "igmp", "ip", "ipip"),
    *("ipv6-encap", "ipv6-frag", "ipv6-icmp", "ipv6-nonxt", "ipv6-opts", "ipv6-route"),
    *("ospf", "pgm", "rsvp", "sctp", "tcp", "udp", "udplite", "vrrp"),
    *map(str, range(256)),
)
#: Protocols whose "ports" are a type and a code.
_WITHOUT_RANGE: Final = frozenset({"icmp", "ipv6-icmp"})


class SecurityGroupRule(NeutronObject, OnlyOne):
    """A rule of a security group, which never changes. A group has no two rules for the same traffic."""

    description = "A rule of a security group."
    example = """\
heat_template_version: 2021-04-16
resources:
  web:
    type: OS::Neutron::SecurityGroup
  http:
    type: OS::Neutron::SecurityGroupRule
    properties:
      security_group: {get_resource: web}
      protocol: tcp
      port_range_min: 80
      port_range_max: 80
"""
    collection = neutron_collection("security_group_rule")
    extensions = {"": "security-group"}
    sent_as = {"security_group": "security_group_id", "remote_group": "remote_group_id"}
    properties_schema = {
        "security_group": text(
            "The id or name of its group.", required=True, constraints=(Custom("neutron.security_group"),)
        ),
        "description": text("Its description."),
        "direction": text(
            "Whether it is about traffic to a server (`ingress`) or from it (`egress`).",
            default="ingress",
            constraints=(AllowedValues(("ingress", "egress")),),
        ),
        "ethertype": text(
            "The version of the addresses.", default="IPv4", constraints=(AllowedValues(("IPv4", "IPv6")),)
        ),
        "port_range_min": integer("The first port, or the type of ICMP.", constraints=PORT),
        "port_range_max": integer("The last port, or the code of ICMP.", constraints=PORT),
        "protocol": text(
            "The protocol, by its name or number.", default="tcp", constraints=(AllowedValues(_PROTOCOLS),)
        ),
        "remote_group": text(
            "The id or name of the security group of the other side.",
            constraints=(Custom("neutron.security_group"),),
        ),
        "remote_ip_prefix": text("The addresses of the other side.", constraints=(Custom("net_cidr"),)),
    }

    @classmethod
    def translation_rules(cls, properties: Mapping[str, Any]) -> Sequence[Rule]:  # noqa: ARG003
        """Return that groups may be given by their names."""
        return [looked_up("security group", name) for name in ("security_group", "remote_group")]

    @classmethod
    def validate(cls, properties: Mapping[str, Any]) -> None:
        """Refuse two kinds of other sides, and a range whose end comes first.

        Raises:
            PropertyError: it is such.
        """
        if properties["remote_group"] is not None and properties["remote_ip_prefix"] is not None:
            raise PropertyError(("remote_group",), "it cannot be given together with remote_ip_prefix")
        first, last = properties["port_range_min"], properties["port_range_max"]
        if UNKNOWN in (first, last, properties["protocol"]) or None in (first, last):
            return
        if first > last and protocol_of(properties) not in _WITHOUT_RANGE:
            raise PropertyError(("port_range_max",), "the last port comes before the first")

    @property
    def is_in_the_way(self) -> bool:
        """Whether its replacement is for the same traffic in the same group."""
        shown, own = self.show(), self.properties
        if not shown or shown["security_group_id"] != own["security_group"]:
            return False
        return rule_key(shown) == rule_key({**own, "remote_group_id": own["remote_group"]})

    def seen(self, name: str, shown: Mapping[str, Any]) -> Any:
        """Return a property as the service has it; what only is spelled in another way, as given."""
        for spelled, meant in (("protocol", protocol_of), ("remote_ip_prefix", prefix_of)):
            if name == spelled and meant(shown) == meant(self.properties):
                return self.properties[name]
        return super().seen(name, shown)
