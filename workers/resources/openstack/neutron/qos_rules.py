"""The rules of policies of the quality of service: ``OS::Neutron::QoSBandwidthLimitRule`` and others."""

from collections.abc import Mapping, Sequence
from typing import Any, ClassVar, Final
from urllib.parse import quote

from orchestrator.plugins.constraints import AllowedValues, Range
from orchestrator.plugins.custom import Custom
from orchestrator.plugins.translation import Rule
from workers.resources.openstack.collection import Collection
from workers.resources.openstack.lookups import looked_up
from workers.resources.openstack.neutron.neutron_object import NeutronObject
from workers.resources.openstack.only_of_its_kind import OnlyOfItsKind
from workers.resources.schemas import integer, text

_EXAMPLE: Final = """\
heat_template_version: 2021-04-16
resources:
  policy:
    type: OS::Neutron::QoSPolicy
  rule:
    type: OS::Neutron::{}
    properties:
      policy: {{get_resource: policy}}
      {}
"""
_AT_LEAST_0: Final = (Range(min=0),)
_OWNED: Final = {
    "policy": text(
        "The id or name of its policy.", required=True, constraints=(Custom("neutron.qos_policy"),)
    ),
    "tenant_id": text("The id of its project; only administrators may name another than their own."),
}


def _direction(*allowed: str, default: str) -> Any:
    return text(
        "The direction of the traffic, as the port sees it.",
        default=default,
        update_allowed=True,
        constraints=(AllowedValues(allowed),),
    )


class _QoSRule(NeutronObject, OnlyOfItsKind):
    """A rule. A policy has at most one of each kind and direction, by which it is found."""

    #: What the service calls such rules: ``bandwidth_limit_rule``.
    kind: ClassVar[str]
    has_description = False
    sent_as = {"policy": ""}

    @property
    def collection(self) -> Collection:  # type: ignore[override]  # each policy has one
        """The rules of this kind in the policy."""
        policy = quote(str(self.properties["policy"]), safe="")
        return Collection(path=f"/qos/policies/{policy}/{self.kind}s", key=self.kind, plural=f"{self.kind}s")

    @classmethod
    def translation_rules(cls, properties: Mapping[str, Any]) -> Sequence[Rule]:  # noqa: ARG003
        """Return that the policy may be given by its name."""
        if "policy" not in cls.properties_schema:
            return []
        return [looked_up("QoS policy", "policy")]

    def alike(self) -> list[dict[str, Any]]:
        """Return the rule of this kind and direction in the policy."""
        direction = self.properties.get("direction")
        listed = self.collection.listed(self.service)
        return [each for each in listed if direction in (None, each.get("direction"))]


class QoSBandwidthLimitRule(_QoSRule):
    """A limit of the traffic."""

    description = "A limit of the traffic, as a rule of a policy of the quality of service."
    example = _EXAMPLE.format("QoSBandwidthLimitRule", "max_kbps: 1000")
    kind = "bandwidth_limit_rule"
    extensions = {"": "qos", "direction": "qos-bw-limit-direction"}
    properties_schema = {
        **_OWNED,
        "max_kbps": integer(
            "The most traffic, in kbit/s.", required=True, update_allowed=True, constraints=_AT_LEAST_0
        ),
        "max_burst_kbps": integer(
            "The most traffic in a burst, in kbit.", default=0, update_allowed=True, constraints=_AT_LEAST_0
        ),
        "direction": _direction("egress", "ingress", default="egress"),
    }


class QoSDscpMarkingRule(_QoSRule):
    """A mark on the traffic."""

    description = "A mark on packets, as a rule of a policy of the quality of service."
    example = _EXAMPLE.format("QoSDscpMarkingRule", "dscp_mark: 16")
    kind = "dscp_marking_rule"
    extensions = {"": "qos"}
    properties_schema = {
        **_OWNED,
        "dscp_mark": integer(
            "The mark in the field DSCP.",
            required=True,
            update_allowed=True,
            constraints=(AllowedValues((0, *range(8, 42, 2), 46, 48, 56)),),
        ),
    }


class QoSMinimumBandwidthRule(_QoSRule):
    """A guarantee of traffic."""

    description = "The least traffic that is guaranteed, as a rule of a policy of the quality of service."
    example = _EXAMPLE.format("QoSMinimumBandwidthRule", "min_kbps: 1000")
    kind = "minimum_bandwidth_rule"
    extensions = {"": "qos"}
    properties_schema = {
        **_OWNED,
        "min_kbps": integer(
            "The least traffic, in kbit/s.", required=True, update_allowed=True, constraints=_AT_LEAST_0
        ),
        "direction": _direction("egress", "ingress", default="egress"),
    }


class QoSMinimumPacketRateRule(_QoSRule):
    """A guarantee of packets."""

    description = "The least packets that are guaranteed, as a rule of a policy of the quality of service."
    example = _EXAMPLE.format("QoSMinimumPacketRateRule", "min_kpps: 10")
    kind = "minimum_packet_rate_rule"
    extensions = {"": "qos-pps-minimum"}
    properties_schema = {
        **_OWNED,
        "min_kpps": integer(
            "The least packets, in thousands a second.",
            required=True,
            update_allowed=True,
            constraints=_AT_LEAST_0,
        ),
        "direction": _direction("any", "egress", "ingress", default="any"),
    }
