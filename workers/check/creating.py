"""Whether earlier attempts at a create may have made anything, so that it must be looked for.

An attempt that ended in order says so in what it leaves behind; one that died cannot. Certain is only an unbroken row
of attempts that ended before they began, or said that nothing came of them. Each traversal counts its own attempts: of
what those of another one came to, nothing is certain.
"""

from collections.abc import Mapping
from typing import Any, Final

from orchestrator.store.nodes.claims import Claim, Ending

#: In the private facts of a resource that is not there yet: the last attempt up to which nothing was made.
_NOTHING_UNTIL: Final = "isotherm:nothing-made-until"


def may_have_made(claim: Claim) -> bool:
    """Tell whether an attempt before this one may have made the object."""
    if claim.was[0] == "INIT":
        # No attempt has begun: a hook was waited for.
        return False
    return claim.data.get(_NOTHING_UNTIL) != _mark(claim, claim.attempt - 1)


def with_mark(data: Mapping[str, Any], claim: Claim, ending: Ending, *, made_nothing: bool) -> dict[str, Any]:
    """Return the private facts that an attempt leaves behind: marked if it made nothing, nor did those before it."""
    unmarked = {name: value for name, value in data.items() if name != _NOTHING_UNTIL}
    if claim.action == "CREATE" and ending is Ending.RETRY and made_nothing and not may_have_made(claim):
        return {**unmarked, _NOTHING_UNTIL: _mark(claim, claim.attempt)}
    return unmarked


def _mark(claim: Claim, attempt: int) -> str:
    return f"{claim.order.traversal_id} {attempt}"
