"""``OS::Heat::ScalingPolicy``: changes the size of a group with each signal."""

from collections.abc import Mapping
from typing import Any, Final

from orchestrator.definition import UNKNOWN
from orchestrator.plugins.constraints import AllowedValues, Length, Range, shown
from orchestrator.plugins.properties import Attribute, PropertyError, PropertyType
from orchestrator.plugins.scaling import ScalableResource, Scaling, ScalingResource
from orchestrator.plugins.steps import ResourceFailure
from workers.resources.core.signalled import ADDRESS, COMMAND, SignalledResource
from workers.resources.schemas import integer, number, text

CHANGE: Final = "change_in_capacity"
EXACT: Final = "exact_capacity"
PERCENT: Final = "percent_change_in_capacity"

#: The metadata key with the time of the policy's last change of its group.
LAST_SCALING: Final = "last_scaling"
#: Monitoring's word for the state that requires an adjustment.
_ALARM: Final = "alarm"


def adjusted_size(current: int, kind: str, adjustment: float, min_step: int | None = None) -> int:
    """Return the size after an adjustment, without bounds.

    Fractions of a member are dropped; but a change by percent changes at least one member, and at least ``min_step``.
    """
    if kind == EXACT:
        return int(adjustment)
    if kind == CHANGE:
        return current + int(adjustment)
    exactly = current * adjustment / 100
    step = max(abs(int(exactly)), min_step or 1)
    if exactly == 0:
        return current
    return current + step if exactly > 0 else current - step


class ScalingPolicy(SignalledResource, ScalingResource):
    """Changes the size of a group with each signal."""

    description = "Makes a group larger or smaller, once for each signal."
    example = """\
heat_template_version: 2021-04-16
resources:
  servers:
    type: OS::Heat::AutoScalingGroup
    properties:
      min_size: 1
      max_size: 4
      resource:
        type: OS::Heat::TestResource
  one_more:
    type: OS::Heat::ScalingPolicy
    properties:
      auto_scaling_group_id: {get_resource: servers}
      adjustment_type: change_in_capacity
      scaling_adjustment: 1
      cooldown: 60
outputs:
  signal:
    value: {get_attr: [one_more, curl_cli]}
"""
    scales = "auto_scaling_group_id"
    properties_schema = {
        "auto_scaling_group_id": text(
            "The group: get_resource of it.", required=True, constraints=(Length(min=1),)
        ),
        "scaling_adjustment": number(
            "The adjustment, or the new number of members.", required=True, update_allowed=True
        ),
        "adjustment_type": text(
            "Whether scaling_adjustment is a difference in members, the new number of members, or a "
            "difference in percent.",
            required=True,
            update_allowed=True,
            constraints=(AllowedValues((CHANGE, EXACT, PERCENT)),),
        ),
        "cooldown": number(
            "Seconds after a change of the size by this policy during which signals to it are ignored.",
            update_allowed=True,
            constraints=(Range(min=0),),
        ),
        "min_adjustment_step": integer(
            f"With {PERCENT}, how many members are added or taken away, at least.",
            update_allowed=True,
            constraints=(Range(min=0),),
        ),
    }
    attributes_schema = {
        "curl_cli": Attribute(COMMAND, PropertyType.STRING, sensitive=True),
        "signal_url": Attribute(ADDRESS, PropertyType.STRING, sensitive=True),
        "alarm_url": Attribute(ADDRESS, PropertyType.STRING, sensitive=True),
    }

    @classmethod
    def validate(cls, properties: Mapping[str, Any]) -> None:
        """Check that the smallest step is one of percent.

        Raises:
            PropertyError: it is given with another kind of adjustment.
        """
        kind, step = properties["adjustment_type"], properties["min_adjustment_step"]
        if step is not None and kind not in (PERCENT, UNKNOWN):
            raise PropertyError(("min_adjustment_step",), f"it goes with {PERCENT} only")

    def attribute(self, name: str) -> Any:
        """Return the command that signals, or the address."""
        return self.signal_command() if name == "curl_cli" else self.signal_address()

    def scaling(self, group: ScalableResource, details: Mapping[str, Any]) -> Scaling:
        """Return the adjusted size; None during either cooldown, or if monitoring reports no alarm.

        Raises:
            ResourceFailure: the signal has an unknown form.
        """
        state = details.get("state", details.get("current", _ALARM))
        if not isinstance(state, str):
            raise ResourceFailure(f"the state of a signal is a text, not {shown(state)}")
        if state.lower() != _ALARM:
            return Scaling(sentence=f"the signal's state is no {_ALARM}: nothing was done")
        left = max(self._cooldown_left(), group.cooldown_left())
        if left > 0:
            return Scaling(sentence=f"it cools down for {left:.0f} more seconds: nothing was done")
        before = group.current_size()
        after = group.within_bounds(
            adjusted_size(
                before,
                self.properties["adjustment_type"],
                self.properties["scaling_adjustment"],
                self.properties["min_adjustment_step"],
            )
        )
        if after == before:
            return Scaling(sentence=f"the size stays {before}: nothing was done")
        self.state.metadata = {
            **self.state.metadata,
            LAST_SCALING: {"at": self.now, "from": before, "to": after},
        }
        return Scaling(sentence=f"the size goes from {before} to {after}", size=after)

    def _cooldown_left(self) -> float:
        last = self.state.metadata.get(LAST_SCALING)
        at = last.get("at") if isinstance(last, Mapping) else None
        if not isinstance(at, (int, float)):
            return 0.0
        return float(max(0.0, at + (self.properties["cooldown"] or 0) - self.now))
