"""Drift: a property of an object that differs from its record, or an object that is gone."""

from collections.abc import Mapping
from enum import StrEnum
from typing import Any, Final

from hooks.values.dataclass import dataclass

#: The key of the finding that the whole object is gone.
GONE_KEY: Final = ""
#: The action of events about drift, and their statuses: ``DRIFT_DETECTED``, ``DRIFT_RESOLVED``.
DRIFT, DETECTED, RESOLVED = "DRIFT", "DETECTED", "RESOLVED"


class Standing(StrEnum):
    """What is done about the drift of a resource."""

    #: It is reported, by the policy.
    REPORTED = "reported"
    #: A repair begins, or is under way.
    REPAIRING = "repairing"
    #: It is repaired later: the limit of repairs an hour is reached, or the stack is not in a state for it.
    POSTPONED = "postponed"
    #: It was repaired and drifted again, several times: another system changes it as well.
    LEFT_ALONE = "left alone"


@dataclass(frozen=True, slots=True, kw_only=True)
class Finding:
    """One difference of a resource; values are plain types."""

    #: The path of the property, joined with dots; empty: the object is gone.
    key: str
    recorded: Any = None
    observed: Any = None
    #: Whether the values are secrets: then both are None, here and on record.
    hidden: bool = False

    @property
    def is_gone(self) -> bool:
        """Whether the whole object is gone."""
        return self.key == GONE_KEY

    def to_wire(self) -> dict[str, Any]:
        """Return plain types: what is recorded of it besides its key."""
        return {"recorded": self.recorded, "observed": self.observed, "hidden": self.hidden}

    @classmethod
    def of_wire(cls, key: str, wire: Mapping[str, Any]) -> "Finding":
        """Rebuild a finding, the inverse of :meth:`to_wire`."""
        return cls(key=key, **wire)
