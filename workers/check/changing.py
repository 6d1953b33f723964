"""The decision of a worker what an update does to a resource; nothing is changed."""

from orchestrator.planning.decision import Action, Subject, decide, is_in_doubt
from orchestrator.plugins.resource import Resource
from orchestrator.plugins.steps import PropertyChanges
from orchestrator.plugins.validating import typed_properties
from orchestrator.store.nodes.claims import Claim


class ReplaceResource(Exception):
    """The resource must be replaced; the text is the reason."""


class RefusedChange(Exception):
    """The resource can neither be changed nor be replaced; the text is the reason."""


def changes_of(resource: Resource, claim: Claim) -> PropertyChanges:
    """Return the properties to change in place.

    After an interrupted update, those are all that may be changed at all.

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
    )
    decided = decide(subject)
    if decided.action is Action.REFUSE:
        raise RefusedChange(decided.reason)
    if decided.changes is None or decided.action is Action.REPLACE:
        raise ReplaceResource(decided.reason)
    return decided.changes


def is_doubted(claim: Claim) -> bool:
    """Whether a resource may be other than it was made: a refresh was requested, or a check did not end well."""
    return is_in_doubt(claim.was, refresh=bool(claim.fragment.get("refresh")))
