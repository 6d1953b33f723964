"""The decision of a worker what an update does to a resource; nothing is changed."""

from collections.abc import Callable

from orchestrator.planning.decision import Action, Decision, Subject, decide, is_in_doubt, restrictions_of
from orchestrator.plugins.resource import Resource
from orchestrator.plugins.steps import PropertyChanges
from orchestrator.plugins.validating import typed_properties
from orchestrator.store.nodes.claims import Claim
from orchestrator.template.document import Path
from workers.check.drift import drift_of


class ReplaceResource(Exception):
    """The resource must be replaced; the text is the reason."""


class RefusedChange(Exception):
    """The resource can neither be changed nor be replaced; the text is the reason."""


def changes_of(
    resource: Resource, claim: Claim, is_open: Callable[[Path], bool], *, is_other_inside: bool = False
) -> tuple[PropertyChanges, str]:
    """Return the properties to change in place, and how the object differs from its record, in words.

    After an interrupted update, those are all that may be changed at all. ``is_open``: whether the value at a path of
    the properties may be shown; ``is_other_inside``: whether the definition of its nested stack changes.

    Raises:
        RefusedChange: an immutable property differs.
        ReplaceResource: a change requires a replacement.
    """
    kind, applied = type(resource), claim.properties or {}
    subject = Subject(
        resource=resource,
        was=claim.was,
        applied=lambda: typed_properties(kind, applied, clients=resource.clients),
        replace=str(claim.fragment.get("replace", "")),
        refresh=bool(claim.fragment.get("refresh")),
        at_hand=True,
        restricted=restrictions_of(claim.fragment),
        planned=claim.fragment.get("planned", ()),
        is_other_inside=is_other_inside,
    )
    decided = decide(subject)
    if decided.action is Action.REFUSE:
        raise RefusedChange(decided.reason)
    drift = _drift_of(subject, decided, is_open)
    if decided.changes is None or decided.action is Action.REPLACE:
        raise ReplaceResource(f"{decided.reason}; changed by others: {drift}" if drift else decided.reason)
    return decided.changes, drift


def _drift_of(it: Subject, decided: Decision, is_open: Callable[[Path], bool]) -> str:
    """Return how an observed object differs from its record; empty after an interrupted update, a possible cause."""
    if decided.changes is None or it.was[1] == "IN_PROGRESS" or not is_in_doubt(it.was, refresh=it.refresh):
        return ""
    return drift_of(it.applied() or {}, decided.changes.before, is_open)


def is_doubted(claim: Claim) -> bool:
    """Whether a resource may be other than it was made: a refresh was requested, or a check did not end well."""
    return is_in_doubt(claim.was, refresh=bool(claim.fragment.get("refresh")))
