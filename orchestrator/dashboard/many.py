"""Previews of an action on many stacks: which stacks were chosen, and for each why the action is pointless, if so.

A preview changes nothing. Each stack then gets an order of its own, as :mod:`orchestrator.dashboard.orders` checks it.
"""

from collections.abc import Mapping
from dataclasses import replace
from typing import Any, Final

from orchestrator.dashboard.arguments import stack_query
from orchestrator.dashboard.bodies import kind_of, read_object, unknown, unstorable
from orchestrator.dashboard.fitness import unfit_by_row
from orchestrator.errors import InvalidInput, Problem
from orchestrator.queries.observer import StackQuery
from orchestrator.views.operations import StackPage

#: The actions that make sense for many stacks, of :data:`orchestrator.dashboard.access.ACTIONS`.
FOR_MANY: Final = ("check", "suspend", "resume", "snapshot", "retry", "cancel", "delete")
#: The most stacks that are acted on at once.
MOST_AT_ONCE: Final = 300
_FIELDS: Final = ("stack_ids", "filter")


def read_choice(body: bytes) -> StackQuery:
    """Return the query of the stacks that a request chooses: a JSON object with ``stack_ids``, or with ``filter``.

    ``stack_ids`` is a list of at most :data:`MOST_AT_ONCE` ids; ``filter`` has arguments of the list, as texts.

    Raises:
        InvalidInput: it is something else.
    """
    sent = read_object(body)
    problems = [*unknown(sent, _FIELDS), *unstorable(sent)]
    if problems:
        raise InvalidInput(problems)
    if set(sent) == {"stack_ids"}:
        chosen = StackQuery(ids=_ids(sent["stack_ids"]), nested=True, deleted=True)
    elif set(sent) == {"filter"}:
        chosen = stack_query(_texts(sent["filter"]))
    else:
        raise InvalidInput([Problem(message="expected is either stack_ids or filter")])
    return replace(chosen, sort="name", descending=False, offset=0, limit=MOST_AT_ONCE)


def preview_of(action: str, page: StackPage) -> dict[str, Any]:
    """Return for each stack why an action on it is pointless, empty if it is not, as JSON.

    Raises:
        InvalidInput: there are more stacks than can be acted on at once.
    """
    if page.total > len(page.rows):
        message = f"{page.total:,} stacks match, and at most {MOST_AT_ONCE} can be acted on at once"
        raise InvalidInput([Problem(message=message, hint="narrow the filter")])
    return {
        "action": action,
        "stacks": [
            {
                "stack_id": row.id,
                "stack": row.name,
                "traversal_id": row.traversal_id,
                "action": row.action,
                "status": row.status,
                "is_deleted": row.deleted_at is not None,
                "unfit": unfit_by_row(action, row),
            }
            for row in page.rows
        ],
    }


def _ids(sent: object) -> tuple[str, ...]:
    if not isinstance(sent, list) or not all(isinstance(each, str) for each in sent):
        found = "a list with something else in it" if isinstance(sent, list) else kind_of(sent)
        raise InvalidInput(
            [Problem(path="stack_ids", message=f"expected is a list of ids, and found is {found}")]
        )
    if not 0 < len(sent) <= MOST_AT_ONCE:
        message = f"expected are 1 to {MOST_AT_ONCE} ids, and found are {len(sent):,}"
        raise InvalidInput([Problem(path="stack_ids", message=message)])
    return tuple(sent)


def _texts(sent: object) -> Mapping[str, str]:
    if not isinstance(sent, dict) or not all(isinstance(each, str) for each in sent.values()):
        raise InvalidInput([Problem(path="filter", message="expected is an object of texts")])
    return sent
