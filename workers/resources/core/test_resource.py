"""``OS::Heat::TestResource``: takes time and fails on demand, to try out stacks and the engine itself."""

import time
from functools import partial
from typing import Any, Final

from hooks.values.dataclass import dataclass
from orchestrator.plugins.constraints import Constraint, Range
from orchestrator.plugins.properties import Property, PropertyType
from orchestrator.plugins.steps import PropertyChanges, ResourceFailure, Wait
from workers.resources.core.row import RowResource
from workers.resources.schemas import boolean, live, mapping, number, text

#: The polling interval of ``wait_secs: -1``, which only the stack's time-out ends.
_FOR_EVER_SECONDS: Final = 3600.0


@dataclass(frozen=True)
class TakesTime(Constraint):
    """Accepts every value, after as many seconds as the value."""

    def rule(self) -> str:
        """Return the rule in words."""
        return "must be patient"

    def fault(self, value: Any) -> str | None:
        """Return no fault, slowly: blocks for ``value`` seconds."""
        time.sleep(max(value, 0))
        return None


def _seconds(description: str, default: float | None = 0, *, least: int = 0) -> Property:
    return number(description, default=default, update_allowed=True, constraints=(Range(min=least),))


_text: Final = partial(text, default="", update_allowed=True)
_switch: Final = partial(boolean, default=False, update_allowed=True)


class TestResource(RowResource):
    """Completes or fails after a while; deletion never fails.

    ``client_name`` and ``entity_name`` are accepted for the sake of existing templates; no client is called.
    """

    __test__ = False  # the name looks like a test class to pytest

    description = "Waits, stores a value and fails on demand."
    example = """\
heat_template_version: 2021-04-16
resources:
  slow:
    type: OS::Heat::TestResource
    properties:
      value: ready
      wait_secs: 3
  after_it:
    type: OS::Heat::TestResource
    properties:
      value: {get_attr: [slow, output]}
      action_wait_secs: {delete: 1}
"""
    properties_schema = {
        "value": _text("The value to store.", default="test_string"),
        "fail": _switch("Fail at the end of a create or update, without storing the value."),
        "update_replace": _switch("A change of the value replaces the resource."),
        "wait_secs": _seconds(
            "Seconds that a create, an update or a deletion takes; -1: for ever.", least=-1
        ),
        "action_wait_secs": mapping(
            "Seconds that one action takes, instead of wait_secs.",
            update_allowed=True,
            schema={
                action: _seconds(f"Seconds that {action} takes.", None, least=-1)
                for action in ("create", "update", "delete")
            },
        ),
        "attr_wait_secs": _seconds("Seconds that reading an attribute really takes."),
        "constraint_prop_secs": number(
            "Seconds that validating this very property really takes.",
            default=0,
            update_allowed=True,
            constraints=(TakesTime(),),
        ),
        "update_replace_value": text("Any value; nothing is done with it."),
        "client_name": _text("Accepted, without effect."),
        "entity_name": _text("Accepted, without effect."),
    }
    attributes_schema = {"output": live("The stored value.", PropertyType.STRING)}

    def handle_create(self) -> object:
        """Store the value, or fail if configured; return the seconds to wait."""
        if not self.properties["fail"]:
            super().handle_create()
            self.state.data["value"] = self.properties["value"]
        return self._seconds_of("create")

    def check_create_complete(self, token: Any) -> bool | Wait:
        """Complete or fail when the time is over."""
        return self._finish("create", token)

    def handle_adopt(self) -> None:
        """Take the value from the adopt file, or else the template's."""
        self.state.data.setdefault("value", self.properties["value"])

    def needs_replace(self, changes: PropertyChanges) -> bool:
        """Return whether the value changes while ``update_replace`` is (or now becomes) true."""
        replace = changes.after.get("update_replace", self.properties.get("update_replace"))
        return bool(replace) and "value" in changes.names

    def handle_update(self, changes: PropertyChanges) -> object:
        """Store a changed value, or fail if configured; an unchanged value takes no time."""
        if "value" not in changes.names:
            return 0
        if not self.properties["fail"]:
            self.state.data["value"] = self.properties["value"]
        return self._seconds_of("update")

    def check_update_complete(self, token: Any) -> bool | Wait:
        """Complete or fail when the time is over."""
        return self._finish("update", token)

    def handle_snapshot(self) -> dict[str, Any]:
        """Return the stored value."""
        return {"value": self.state.data.get("value")}

    def handle_restore(self, entry: Any) -> None:
        """Store the value of a snapshot."""
        self.state.data["value"] = entry["value"]

    def handle_delete(self) -> object:
        """Return the seconds to wait."""
        return self._seconds_of("delete")

    def check_delete_complete(self, token: Any) -> bool | Wait:
        """Complete when the time is over."""
        return self._remaining(token) or True

    def attribute(self, name: str) -> Any:
        """Return the stored value; blocks for ``attr_wait_secs``."""
        time.sleep(self.properties["attr_wait_secs"])
        return self.state.data.get("value") if name == "output" else None

    def _seconds_of(self, action: str) -> float:
        seconds = (self.properties["action_wait_secs"] or {}).get(action)
        return float(self.properties["wait_secs"] if seconds is None else seconds)

    def _remaining(self, seconds: float) -> Wait | None:
        if seconds < 0:
            return Wait(_FOR_EVER_SECONDS)
        remaining = self.state.started_at + seconds - self.now
        return Wait(remaining) if seconds and remaining > 0 else None

    def _finish(self, action: str, seconds: float) -> bool | Wait:
        if waiting := self._remaining(seconds):
            return waiting
        if self.properties["fail"]:
            raise ResourceFailure(f"{action} failed, as the property 'fail' asks")
        return True
