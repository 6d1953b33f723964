"""What becomes of an operation's claims once it is over; pure."""

from collections import Counter
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final

#: What tells one row of a stack in the ledger from the others.
KEY: Final = ("resource", "node", "kind", "operation_id")

#: By resource and node, how much of what.
Places = dict[tuple[str, str], dict[str, int]]


@dataclass(frozen=True, slots=True, kw_only=True)
class There:
    """A row of a resource that is not gone."""

    name: str
    #: Empty for what is on no node, or not yet.
    on_node: str
    status: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Settled:
    """What changes in the ledger, of one stack."""

    #: The rows that go, by :data:`KEY`.
    deleted: tuple[Mapping[str, str], ...] = ()
    #: The rows that come in their place: the same, and the amount.
    promised: tuple[Mapping[str, Any], ...] = ()


def settled(
    reservations: Sequence[Mapping[str, Any]],
    rows: Iterable[There],
    *,
    operation_id: str,
    wanted: Mapping[str, Mapping[str, int]] | None,
    began: bool,
    under_way: Collection[str] = (),
) -> Settled:
    """Return what becomes of a stack's reservations; those of other operations under way stay as they are.

    What is there on its node is promised the most that it was promised or claimed, or just what it is wanted to take if
    it is alone of its name. What is not there is promised nothing; but what is being made just now, on a node that is
    not on record yet, keeps its claim until that expires.

    Args:
        reservations: The stack's, as they are on record.
        rows: Those of its resources.
        operation_id: That of the operation that is over.
        wanted: What each resource takes from now on, by name; None where nobody knows.
        began: Whether the operation ever began.
        under_way: The other operations whose claims may still come about.
    """
    rows = list(rows)
    there = Counter((row.name, row.on_node) for row in rows if row.on_node)
    names = Counter(row.name for row in rows)
    beginning = {row.name for row in rows if row.status == "IN_PROGRESS" and not row.on_node}
    before: Places = {}
    after: Places = {}
    deleted: list[dict[str, str]] = []
    for each in reservations:
        place = (each["resource"], each["node"])
        owner = each["operation_id"]
        came_about = began if owner == operation_id else True
        if not owner:
            before.setdefault(place, {})[each["kind"]] = each["amount"]
        elif owner in under_way or (came_about and each["resource"] in beginning and place not in there):
            continue
        else:
            deleted.append({name: each[name] for name in KEY})
        if came_about and place in there:
            amounts = after.setdefault(place, {})
            amounts[each["kind"]] = max(each["amount"], amounts.get(each["kind"], 0))
    for name, node in there:
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
    """Yield the key of each promise at some places, with its amount."""
    for name, node in places:
        for kind, amount in amounts.get((name, node), {}).items():
            yield {"resource": name, "node": node, "kind": kind, "operation_id": ""}, amount
