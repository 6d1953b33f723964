"""The names of a resource group's members, and those that are never reused.

Pure: members are identified by name; a removal may also name any of a member's ids.
"""

from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from itertools import count, islice
from typing import Any

from orchestrator.plugins.stack_resource import Member


def numbers(removed: Collection[str]) -> Iterator[str]:
    """Yield the names of members, in order, without end: numbers without those ``removed``."""
    return (name for name in map(str, count()) if name not in removed)


def first_names(size: int, removed: Collection[str]) -> tuple[str, ...]:
    """Return the names of the first members."""
    return tuple(islice(numbers(removed), size))


def removed_names(
    entries: Iterable[Any],
    members: Sequence[Member],
    remembered: Mapping[str, Sequence[str]],
    *,
    forget: bool = False,
) -> dict[str, list[str]]:
    """Return the names that are not reused, each with the ids by which the member was known.

    An entry is the name or any id of a member, existing or ``remembered`` from its removal; a number that is neither
    is a name too. Anything else is ignored. With ``forget``, names without an entry may
    be reused.
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


def indexed(value: object, variable: str, name: str) -> object:
    """Return ``value`` with ``variable`` replaced by the member's ``name`` in every text; keys of maps stay."""
    if isinstance(value, str):
        return value.replace(variable, name)
    if isinstance(value, Mapping):
        return {key: indexed(item, variable, name) for key, item in value.items()}
    if isinstance(value, (list, tuple)):
        return [indexed(item, variable, name) for item in value]
    return value
