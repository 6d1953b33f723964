"""The filter and the order of a list of stacks."""

from collections.abc import Iterable
from typing import Final

from hooks.values.dataclass import dataclass
from hooks.values.nearest import nearest
from hooks.values.states import ACTIONS, OF_ACTIONS
from orchestrator.errors import InvalidInput, Problem

#: What a list of stacks can be sorted by.
SORT_KEYS: Final = ("name", "action", "status", "created_at", "updated_at")


@dataclass(frozen=True, slots=True, kw_only=True)
class StackFilter:
    """Conditions on stacks: of each field that is not empty, one of the values must match; all of the tags must."""

    ids: tuple[str, ...] = ()
    #: Of the projects that are listed, these.
    projects: tuple[str, ...] = ()
    names: tuple[str, ...] = ()
    #: Patterns of names, in which ``*`` and ``?`` match any characters.
    name_patterns: tuple[str, ...] = ()
    actions: tuple[str, ...] = ()
    statuses: tuple[str, ...] = ()
    #: Action and status together, such as ``("CREATE", "FAILED")``.
    states: tuple[tuple[str, str], ...] = ()
    #: The ids of the stacks that they are nested in.
    parents: tuple[str, ...] = ()
    #: Stacks that have all of these tags, or one; and those that have not all of these, or none.
    tags: tuple[str, ...] = ()
    tags_any: tuple[str, ...] = ()
    not_tags: tuple[str, ...] = ()
    not_tags_any: tuple[str, ...] = ()
    #: The least and the greatest age in seconds, since the creation; None for any.
    older_than_seconds: float | None = None
    newer_than_seconds: float | None = None
    #: Whether only those that an update with targets has converged in part.
    partial: bool = False
    #: Whether stacks in other stacks, and deleted ones, are included.
    nested: bool = False
    deleted: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class StackOrder:
    """The order of a list, of :data:`SORT_KEYS`, and the part of it that is wanted."""

    keys: tuple[str, ...] = ("created_at",)
    descending: bool = True
    #: The id of the last stack of the part before; empty for the first part.
    after: str = ""
    #: The most stacks; None for all.
    limit: int | None = None


def split_state(state: str) -> tuple[str, str] | None:
    """Return the action and the status of a state such as ``CREATE_COMPLETE``; None if it is no such."""
    for status in OF_ACTIONS:
        if state.endswith(f"_{status}"):
            return state.removesuffix(f"_{status}"), status
    return None


def states_of(words: Iterable[str]) -> tuple[tuple[str, str], ...]:
    """Return the states that words mean, in any case: a state, a status or an action of any.

    Raises:
        InvalidInput: a word is none of these; the nearest one is given.
    """
    states: dict[tuple[str, str], None] = {}
    problems = []
    known: dict[str, tuple[tuple[str, str], ...]] = {
        f"{action}_{status}": ((action, status),) for action in ACTIONS for status in OF_ACTIONS
    }
    known |= {action: tuple((action, status) for status in OF_ACTIONS) for action in ACTIONS}
    known |= {status: tuple((action, status) for action in ACTIONS) for status in OF_ACTIONS}
    for word in words:
        found = known.get(word.strip().upper())
        if found is None:
            message = f"expected a state such as CREATE_FAILED, a status such as FAILED or an action, found {word!r}"
            problems.append(Problem(path="state", message=message, hint=nearest(word.strip().upper(), known)))
        states |= dict.fromkeys(found or ())
    if problems:
        raise InvalidInput(problems)
    return tuple(states)


def check_sort(keys: Iterable[str]) -> tuple[str, ...]:
    """Return keys to sort by, each once.

    Raises:
        InvalidInput: one is none of :data:`SORT_KEYS`; the nearest one is given.
    """
    given = tuple(dict.fromkeys(keys))
    problems = [
        Problem(
            path="sort",
            message=f"expected one of {', '.join(SORT_KEYS)}, found {key!r}",
            hint=nearest(key, SORT_KEYS),
        )
        for key in given
        if key not in SORT_KEYS
    ]
    if problems:
        raise InvalidInput(problems)
    return given
