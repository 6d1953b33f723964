"""The question whether earlier attempts at a create may have made an object, which must then be searched for.

An attempt that ended in order records whether it made anything; one that died cannot. Certain is only an unbroken row
of attempts that ended before they began, or recorded that they made nothing. Each traversal counts its own attempts:
the attempts of another one prove nothing.
"""

from collections.abc import Mapping
from typing import Any, Final

from orchestrator.store.nodes.claims import Claim, Ending

#: A private fact of a resource that does not exist yet: the last attempt up to which nothing was made.
_NOTHING_UNTIL: Final = "isotherm:nothing-made-until"
#: A private fact of a resource whose create failed: nothing was made.
_NOTHING_AT_ALL: Final = "isotherm:nothing-made"


def may_have_made(claim: Claim) -> bool:
    """Return whether an attempt before this one may have made the object."""
    if claim.was[0] == "INIT":
        # No attempt has begun: it stood at a breakpoint.
        return False
    return claim.data.get(_NOTHING_UNTIL) != _mark(claim, claim.attempt - 1)


def has_made_nothing(claim: Claim) -> bool:
    """Return whether the create of a resource failed, and certainly made nothing."""
    return claim.was == ("CREATE", "FAILED") and claim.physical_id is None and _NOTHING_AT_ALL in claim.data


def with_mark(data: Mapping[str, Any], claim: Claim, ending: Ending, *, made_nothing: bool) -> dict[str, Any]:
    """Return the private facts after an attempt, marked if neither it nor those before it made anything."""
    unmarked = {name: value for name, value in data.items() if name not in (_NOTHING_UNTIL, _NOTHING_AT_ALL)}
    if claim.action != "CREATE" or not made_nothing or may_have_made(claim):
        return unmarked
    if ending is Ending.RETRY:
        return {**unmarked, _NOTHING_UNTIL: _mark(claim, claim.attempt)}
    return {**unmarked, _NOTHING_AT_ALL: True} if ending is Ending.FAILED else unmarked


def _mark(claim: Claim, attempt: int) -> str:
    return f"{claim.order.traversal_id} {attempt}"
