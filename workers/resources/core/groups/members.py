"""What the members of a resource group are called, and which of their names are never used again.

Pure: members are told apart by name; a member may be pointed at by any of its ids too.
"""

from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from itertools import count, islice
from typing import Any

from orchestrator.plugins.stack_resource import Member


def numbers(removed: Collection[str]) -> Iterator[str]:
    """Yield the names that members are given, in order, without end: numbers, but for those ``removed``."""
    return (name for name in map(str, count()) if name not in removed)


def first_names(size: int, removed: Collection[str]) -> tuple[str, ...]:
    """Return the names of so many members."""
    return tuple(islice(numbers(removed), size))


def removed_names(
    entries: Iterable[Any],
    members: Sequence[Member],
    remembered: Mapping[str, Sequence[str]],
    *,
    forget: bool = False,
) -> dict[str, list[str]]:
    """Return the names not to be used any more, each with the ids by which the member was known.

    An entry is the name or any id of a member, be it there or ``remembered`` from its removal; a number that is neither
    is a name too. What is none of these points at nobody. With ``forget``, names that no entry points at any more may
    be used again.
    """
    known = {name: list(ids) for name, ids in remembered.items()}
    known.update((member.name, _ids(member)) for member in members if member.name not in remembered)
    by_id = {each: name for name, ids in known.items() for each in ids}
    removed = {} if forget else {name: list(ids) for name, ids in remembered.items()}
    for text in map(str, entries):
        name = text if text in known else by_id.get(text)
        if name is not None:
            removed[name] = known[name]
        elif text.isascii() and text.isdecimal():
            removed[str(int(text))] = known.get(str(int(text)), [])
    return removed


def _ids(member: Member) -> list[str]:
    return [each for each in (member.uuid, member.physical_id, member.reference_id) if each]


def indexed(value: Any, variable: str, name: str) -> Any:
    """Return ``value`` with ``variable`` replaced by the member's ``name`` in every text; keys of maps stay."""
    if isinstance(value, str):
        return value.replace(variable, name)
    if isinstance(value, Mapping):
        return {key: indexed(item, variable, name) for key, item in value.items()}
    if isinstance(value, (list, tuple)):
        return [indexed(item, variable, name) for item in value]
    return value
