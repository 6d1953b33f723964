"""Settlement of reservations after an operation: which are confirmed and which released. Pure functions."""

from collections import Counter
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from typing import Any, Final

from hooks.values.dataclass import dataclass

#: The columns that identify a reservation of a stack.
KEY: Final = ("resource", "node", "kind", "operation_id")

#: Amounts by kind, by resource and machine.
Places = dict[tuple[str, str], dict[str, int]]


@dataclass(frozen=True, slots=True, kw_only=True)
class Existing:
    """A resource that is not deleted."""

    name: str
    #: The machine that it is on; empty for none, or none yet.
    on_node: str
    status: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Settled:
    """The changes of one stack's reservations."""

    #: The rows to delete, by :data:`KEY`.
    deleted: tuple[Mapping[str, str], ...] = ()
    #: The confirmed rows to insert: the same columns, and the amount.
    promised: tuple[Mapping[str, Any], ...] = ()


def settled(
    reservations: Sequence[Mapping[str, Any]],
    rows: Iterable[Existing],
    *,
    operation_id: str,
    wanted: Mapping[str, Mapping[str, int]] | None,
    began: bool,
    under_way: Collection[str] = (),
) -> Settled:
    """Return the changes of a stack's reservations; pending ones of other operations under way stay as they are.

    A resource on its machine gets the largest of its reservations confirmed, or exactly what it takes by ``wanted`` if
    it is the only one of its name. The reservations of other resources are released; but a resource that is being
    made, on a machine that is not stored yet, keeps its pending one until it expires.

    Args:
        reservations: The stack's stored reservations.
        rows: The stack's resources.
        operation_id: The id of the operation that is over.
        wanted: The amounts that each resource takes from now on, by name; None if they are not known.
        began: Whether the operation ever began.
        under_way: The ids of other operations that may still use their reservations.
    """
    rows = list(rows)
    placed = Counter((row.name, row.on_node) for row in rows if row.on_node)
    names = Counter(row.name for row in rows)
    beginning = {row.name for row in rows if row.status == "IN_PROGRESS" and not row.on_node}
    before: Places = {}
    after: Places = {}
    deleted: list[dict[str, str]] = []
    for each in reservations:
        place = (each["resource"], each["node"])
        owner = each["operation_id"]
        was_used = began if owner == operation_id else True
        if not owner:
            before.setdefault(place, {})[each["kind"]] = each["amount"]
        elif owner in under_way or (was_used and each["resource"] in beginning and place not in placed):
            continue
        else:
            deleted.append({name: each[name] for name in KEY})
        if was_used and place in placed:
            amounts = after.setdefault(place, {})
            amounts[each["kind"]] = max(each["amount"], amounts.get(each["kind"], 0))
    for name, node in placed:
        if wanted is not None and name in wanted and (names[name] == 1 or (name, node) not in after):
            after[name, node] = dict(wanted[name])
    changed = [place for place in {**before, **after} if before.get(place) != after.get(place)]
    return Settled(
        deleted=(*deleted, *(key for key, _ in _promises(changed, before))),
        promised=tuple({**key, "amount": amount} for key, amount in _promises(changed, after)),
    )


def _promises(
    places: Iterable[tuple[str, str]], amounts: Mapping[tuple[str, str], Mapping[str, int]]
) -> Iterator[tuple[dict[str, str], int]]:
    """Yield the key of each confirmed reservation at some places, with its amount."""
    for name, node in places:
        for kind, amount in amounts.get((name, node), {}).items():
            yield {"resource": name, "node": node, "kind": kind, "operation_id": ""}, amount
