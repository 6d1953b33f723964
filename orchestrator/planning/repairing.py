"""Decide what is done about the drift of a resource: pure, for the worker that has observed it."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

from orchestrator.model.drift import Standing
from orchestrator.model.observation_policy import REPORT, ObservationPolicy

_HOUR: Final = 3600.0
#: A resource that was repaired so often within this time, and drifts again, is left alone.
FIGHT_REPAIRS: Final = 3
FIGHT_SECONDS: Final = 24 * _HOUR

#: The repairs of a stack: the name of the resource, with those of the resources it is nested in before it, and when.
Repairs = Sequence[tuple[str, float]]


@dataclass(frozen=True, slots=True, kw_only=True)
class Drifted:
    """A resource with drift, as far as a repair depends on it."""

    #: The name, with those of the resources that it is nested in before it, separated by slashes.
    path: str
    name: str
    type: str
    #: Whether the object is gone.
    is_gone: bool = False
    #: Whether the type can undo the drift in place.
    in_place: bool = True
    #: Why no repair is possible whatever the policy says; empty if one is.
    prevented: str = ""


def repairing(
    it: Drifted, policy: ObservationPolicy, repairs: Repairs, *, now: float, begun: int = 0
) -> tuple[Standing, str]:
    """Return what is done about the drift of a resource, and why, in words; empty where that needs none.

    ``now`` and the times of ``repairs`` are seconds since the epoch; ``begun`` is how many repairs begin together with
    this one, and are not among ``repairs`` yet.
    """
    if policy.only_reports(it.name, it.type):
        return Standing.REPORTED, ""
    if why := it.prevented or _excluded(it, policy):
        return Standing.REPORTED, why
    of_it = sum(path == it.path and at > now - FIGHT_SECONDS for path, at in repairs)
    if of_it >= FIGHT_REPAIRS:
        hours = FIGHT_SECONDS / _HOUR
        return (
            Standing.LEFT_ALONE,
            f"it drifted again after {of_it} repairs within {hours:g} hours: another system changes it",
        )
    if begun + sum(at > now - _HOUR for _, at in repairs) >= policy.repairs_per_hour:
        return Standing.POSTPONED, f"the stack has had {policy.repairs_per_hour} repairs within an hour"
    return Standing.REPAIRING, ""


def _excluded(it: Drifted, policy: ObservationPolicy) -> str:
    """Return why the policy repairs no drift of this kind; empty if it does."""
    if it.is_gone:
        return "the policy makes nothing again that is gone" if policy.gone == REPORT else ""
    if it.in_place or policy.replace:
        return ""
    return "only a replacement could repair it, which the policy does not allow"


def still_counted(repairs: Repairs, *, now: float) -> list[tuple[str, float]]:
    """Return the repairs that still count for a decision."""
    return [(path, at) for path, at in repairs if at > now - FIGHT_SECONDS]
