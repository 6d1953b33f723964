"""The deletion policy ``Snapshot``: a snapshot is complete, and on record, before the deletion begins.

While it is taken, the action's token is the snapshot's, marked as such. Once it is complete, it is recorded with the
resource's private facts, and the next step begins the deletion; a deletion that fails after that is tried again without
another snapshot.
"""

from collections.abc import Mapping
from typing import Any, Final

from orchestrator.plugins.resource import Resource
from orchestrator.plugins.steps import ResourceFailure, Wait
from orchestrator.store.nodes.claims import Claim
from orchestrator.template.definitions import SNAPSHOT
from workers.check.contract import refuse_mistakes_of

#: Marks the token of a snapshot that is being taken; alone, it says that the deletion is due.
_MARK: Final = "isotherm:snapshot-before-deletion"
#: A private fact of a resource: the id of the snapshot that was taken before its deletion.
_TAKEN: Final = "isotherm:snapshot-taken"


def is_begun(claim: Claim) -> bool:
    """Return whether the deletion itself has begun."""
    return claim.started and not _is_marked(claim.token)


def snapshot_first(resource: Resource, claim: Claim, *, poll_seconds: float) -> Wait | None:
    """Take a step towards the snapshot that the policy asks for; return None when the deletion is due.

    Raises:
        ResourceFailure: the snapshot failed, or the type takes none any more.
    """
    if claim.started:
        if not _is_marked(claim.token) or len(claim.token) == 1:
            return None
        token = claim.token[1]
    elif (
        claim.fragment.get("policy") != SNAPSHOT or _TAKEN in claim.data or resource.state.physical_id is None
    ):
        return None
    elif not resource.implements("handle_snapshot_delete"):
        raise ResourceFailure(
            "its type takes no snapshots where the check ran: its deletion policy is Snapshot"
        )
    else:
        token = resource.handle_snapshot_delete()
    if token is None:
        return None
    answer = resource.check_snapshot_delete_complete(token)
    refuse_mistakes_of(resource, "SNAPSHOT_DELETE", answer)
    if isinstance(answer, Wait):
        return Wait(answer.seconds, token=[_MARK, answer.next_token(token)])
    if not answer:
        return Wait(poll_seconds, token=[_MARK, token])
    resource.state.data[_TAKEN] = token
    return Wait(0, token=[_MARK])


def without_old_snapshot(data: Mapping[str, Any], action: str) -> dict[str, Any]:
    """Return the private facts after a step of an action: what goes on living needs another snapshot at its end."""
    return {name: value for name, value in data.items() if name != _TAKEN or action == "DELETE"}


def what_is_kept(data: Any, action: str) -> str:
    """Return a sentence about the snapshot of what was deleted; empty if there is none."""
    taken = data.get(_TAKEN) if action == "DELETE" and isinstance(data, Mapping) else None
    return "" if taken is None else f"snapshot {taken} taken before the deletion"


def _is_marked(token: object) -> bool:
    return isinstance(token, (list, tuple)) and bool(token) and token[0] == _MARK
