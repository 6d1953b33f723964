"""``OS::Heat::Delay``: a pause in a stack's operations that occupies no worker."""

import random
from typing import Any, Final

from orchestrator.plugins.constraints import AllowedValues, Range
from orchestrator.plugins.properties import Property
from orchestrator.plugins.steps import Wait
from workers.resources.core.row import RowResource
from workers.resources.schemas import listing, number, text

_YEAR_SECONDS: Final = 365 * 24 * 3600
_ACTIONS: Final = ("CREATE", "DELETE", "SUSPEND", "RESUME")


def _number(description: str, default: float, most: int) -> Property:
    return number(description, default=default, update_allowed=True, constraints=(Range(0, most),))


class Delay(RowResource):
    """Waits in the configured actions: a minimum, plus a random part.

    The random part follows from the row and the action, so that an action that is begun again waits no longer than it
    would have. An update changes the waits of later actions, and does not wait itself.
    """

    description = "Waits, so that its dependents start later."
    example = """\
heat_template_version: 2021-04-16
resources:
  settled:
    type: OS::Heat::Delay
    properties:
      min_wait: 5
      max_jitter: 10
  password:
    type: OS::Heat::RandomString
    depends_on: settled
"""
    properties_schema = {
        "min_wait": _number("Seconds to wait at least.", 0, _YEAR_SECONDS),
        "max_jitter": _number(
            "The largest number of further seconds to wait, chosen at random.", 0, _YEAR_SECONDS
        ),
        "jitter_multiplier": _number("The factor for the random seconds.", 1.0, 1_000_000),
        "actions": listing(
            "The actions that wait.",
            default=["CREATE"],
            update_allowed=True,
            schema=text(constraints=(AllowedValues(_ACTIONS),)),
        ),
    }

    def handle_create(self) -> object:
        """Return the seconds to wait."""
        super().handle_create()
        return self._seconds_of("CREATE")

    def check_create_complete(self, token: Any) -> bool | Wait:
        """Complete when the time is over."""
        left = self.state.started_at + token - self.now
        return Wait(left) if token and left > 0 else True

    check_delete_complete = check_suspend_complete = check_resume_complete = check_create_complete

    def handle_delete(self) -> object:
        """Return the seconds to wait."""
        return self._seconds_of("DELETE")

    def handle_suspend(self) -> object:
        """Return the seconds to wait."""
        return self._seconds_of("SUSPEND")

    def handle_resume(self) -> object:
        """Return the seconds to wait."""
        return self._seconds_of("RESUME")

    def _seconds_of(self, action: str) -> float:
        given = self.properties
        if action not in given["actions"]:
            return 0.0
        drawn = random.Random(f"{self.state.uuid} {action}").random()
        return float(given["min_wait"] + drawn * given["max_jitter"] * given["jitter_multiplier"])
