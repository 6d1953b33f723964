"""Solver: assigns a machine to each resource of a stack; pure and deterministic.

Hard rules are kept, or nothing is placed. Resources that must share a machine are one *part*. Parts in the largest hard
groups come first, then the largest parts; each goes to the machine that suits soft rules best and keeps the most
capacity free, with backtracking. Ties are broken by a hash of stack, resource and machine, so that parallel stacks
do not all begin with the same machine.
"""

import hashlib
import itertools
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Final

from hooks.values.nearest import Nearest
from orchestrator.placement.host import Host, demand_of, in_words, shortage
from orchestrator.placement.rules import Group, Policy, Standing
from orchestrator.plugins.machine_requirements import MachineRequirements

#: How often a part is compared with a machine before the search is given up.
MOST_COMPARISONS: Final = 1_000_000
#: Machines whose free shares differ by less than this are equivalent.
_ALIKE: Final = 0.05
#: How many machines, and how many earlier parts, the message of a refusal lists.
_MOST_REASONS: Final = 20
_MOST_BEFORE: Final = 5


@dataclass(frozen=True, slots=True, kw_only=True)
class Item:
    """A resource to place, or one that stays on its machine."""

    name: str
    requirements: MachineRequirements = field(default_factory=MachineRequirements)
    #: The machine that it stays on; empty if it is to be placed.
    stays: str = ""
    #: The reservation of one that stays; it needs only what it requires beyond that.
    promised: Mapping[str, int] = field(default_factory=dict)


@dataclass(frozen=True, slots=True, kw_only=True)
class Question:
    """The input of one decision."""

    stack: str
    items: Sequence[Item]
    hosts: Mapping[str, Host]
    #: Pairs of items that must share a machine, at least one of them to be placed.
    ties: Sequence[tuple[str, str]] = ()
    groups: Sequence[Group] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class Answer:
    """The result of a decision."""

    #: The machine of each item, also of those that stay.
    nodes: Mapping[str, str]
    #: The soft rules that are broken, and hard ones that resources that stay break.
    warnings: tuple[str, ...] = ()


class Unplaceable(Exception):
    """There is no placement by the rules, or none was found; ``reasons`` are by machine."""

    def __init__(self, sentence: str, reasons: Mapping[str, str] | None = None) -> None:
        super().__init__(sentence)
        self.reasons = dict(reasons or {})

    def __str__(self) -> str:
        sentence = str(self.args[0])
        if not self.reasons:
            return sentence
        listed = [f"{node}: {reason}" for node, reason in sorted(self.reasons.items())[:_MOST_REASONS]]
        more = len(self.reasons) - len(listed)
        return f"{sentence}: {'; '.join(listed)}{f'; and {more} more nodes' if more else ''}"


@dataclass(slots=True, kw_only=True)
class _Part:
    """Items that must share a machine, to be placed together."""

    names: tuple[str, ...]
    items: tuple[Item, ...]
    demand: dict[str, int]
    #: By machine, why the part can never be there.
    objections: dict[str, str]
    candidates: tuple[str, ...]
    #: The groups of its items, with the number of items in each.
    groups: tuple[tuple[Standing, int], ...] = ()

    @property
    def words(self) -> str:
        *first, last = self.names
        return f"{', '.join(first)} and {last}" if first else last

    @property
    def fits(self) -> str:
        return "fits" if len(self.names) == 1 else "fit"


def place(question: Question) -> Answer:
    """Return a placement of all items.

    Raises:
        Unplaceable: there is none, or none was found within :data:`MOST_COMPARISONS`.
    """
    return _Search(question).answer()


class _Search:
    """One depth-first search with backtracking."""

    def __init__(self, question: Question) -> None:
        self._question = question
        self._items = {item.name: item for item in question.items}
        self._hosts = question.hosts
        self._free = {name: dict(host.free) for name, host in question.hosts.items()}
        self._staying = {item.name: item.stays for item in question.items if item.stays}
        self._comparisons = 0
        self._dead_ends: set[object] = set()
        #: The greatest depth that was reached, and the refusal there.
        self._furthest = -1
        self._refusal = Unplaceable("there is nothing to place")

    def answer(self) -> Answer:
        self._grow()
        parts = [self._part(names) for names in self._clusters()]
        standings = self._join_groups(parts)
        self._refuse_too_much(parts)
        parts.sort(key=self._order)
        found = self._found(parts, [each for each in standings if each.group.hard])
        nodes = dict(self._staying)
        for part, node in zip(parts, found, strict=True):
            nodes |= dict.fromkeys(part.names, node)
        warnings = tuple(filter(None, (standing.fault() for standing in standings)))
        return Answer(nodes={item.name: nodes[item.name] for item in self._question.items}, warnings=warnings)

    # -- items that stay ---------------------------------------------------------------------------------------

    def _grow(self) -> None:
        """Take the capacity by which items that stay grow.

        Capacity that cannot be measured now, because the agent or the storage unit is away, refuses nothing: the change
        waits for the machine, which makes the final check.
        """
        for item in self._question.items:
            free = self._free.get(item.stays)
            if free is None:
                continue
            known = self._hosts[item.stays].size
            wanted = demand_of(item.requirements)
            more = {
                kind: amount - item.promised.get(kind, 0)
                for kind, amount in wanted.items()
                if kind in known and amount > item.promised.get(kind, 0)
            }
            lack = shortage(free, more)
            if lack:
                raise Unplaceable(f"{item.name} cannot grow where it is", {item.stays: lack})
            _take(free, more)

    # -- parts -------------------------------------------------------------------------------------------------

    def _clusters(self) -> Iterator[list[str]]:
        """Yield the names of the items to place, grouped by those that must share a machine."""
        parent = {name: name for name in self._items}

        def root(name: str) -> str:
            while parent[name] != name:
                parent[name] = parent[parent[name]]
                name = parent[name]
            return name

        for first, second in self._bonds():
            parent[root(first)] = root(second)
        clusters: dict[str, list[str]] = {}
        for name, item in self._items.items():
            if not item.stays:
                clusters.setdefault(root(name), []).append(name)
        yield from clusters.values()

    def _bonds(self) -> Iterator[tuple[str, str]]:
        moving = [name for name, item in self._items.items() if not item.stays]
        wanted = set(moving)
        yield from ((a, b) for a, b in self._question.ties if a in wanted and b in wanted)
        # Two that are tied to the same item that stays share its machine anyway.
        for group in self._question.groups:
            if group.hard and group.policy is Policy.SAME_HOST:
                members = [name for name in group.members if name in wanted]
                yield from itertools.pairwise(members)

    def _part(self, names: list[str]) -> _Part:
        items = tuple(self._items[name] for name in names)
        demand: dict[str, int] = {}
        for item in items:
            for kind, amount in demand_of(item.requirements).items():
                demand[kind] = demand.get(kind, 0) + amount
        part = _Part(names=tuple(names), items=items, demand=demand, objections={}, candidates=())
        self._refuse_unknown_nodes(items)
        for name, host in self._hosts.items():
            objection = next(filter(None, (host.objection(item.requirements) for item in items)), "")
            objection = objection or self._tie_objection(names, name)
            objection = objection or shortage(self._free[name], demand)
            if objection:
                part.objections[name] = objection
        part.candidates = tuple(name for name in self._hosts if name not in part.objections)
        return part

    def _refuse_unknown_nodes(self, items: Iterable[Item]) -> None:
        for item in items:
            if item.requirements.node and item.requirements.node not in self._hosts:
                known = f"there are {', '.join(sorted(self._hosts)) or 'none'}"
                hint = Nearest().hint(item.requirements.node, self._hosts, otherwise=known)
                raise Unplaceable(
                    f"{item.name} is to be on node {item.requirements.node!r}, which nobody knows; {hint}"
                )

    def _tie_objection(self, names: Sequence[str], node: str) -> str:
        """Return why a machine is not that of an item that stays and is tied to the part; "" if it may be."""
        for first, second in self._question.ties:
            for one, other in ((first, second), (second, first)):
                if one in names and self._staying.get(other, node) != node:
                    return f"{one} must be with {other}, on {self._staying[other]}"
        return ""

    def _join_groups(self, parts: Sequence[_Part]) -> list[Standing]:
        """Return the standing of each group, begun with the members that stay; set the groups of each part."""
        standings = []
        for group in self._question.groups:
            racks = {name: host.labels.get(group.label) for name, host in self._hosts.items()}
            placed = [*group.elsewhere, *(self._staying[m] for m in group.members if m in self._staying)]
            counts = [sum(name in part.names for name in group.members) for part in parts]
            total = len(placed) + sum(counts)
            standing = Standing(group, racks, placed, total=total, waiting=sum(map(bool, counts)))
            standings.append(standing)
            for part, count in zip(parts, counts, strict=True):
                if count:
                    part.groups = (*part.groups, (standing, count))
        return standings

    def _refuse_too_much(self, parts: Sequence[_Part]) -> None:
        """Refuse, before the search, parts that fit nowhere, and totals that exceed all machines."""
        for part in parts:
            if not part.candidates:
                words = ", ".join(in_words(kind, amount) for kind, amount in sorted(part.demand.items()))
                demand = f" ({words})" if words else ""
                where = f"{part.fits} on no node" if self._hosts else "cannot be placed: there is no node"
                raise Unplaceable(f"{part.words}{demand} {where}", part.objections)
        usable = {name for part in parts for name in part.candidates}
        for kind in sorted({kind for part in parts for kind in part.demand}):
            demanded = sum(part.demand.get(kind, 0) for part in parts)
            free = {name: max(0, self._free[name].get(kind, 0)) for name in usable}
            if demanded > sum(free.values()):
                others = {
                    name: reason
                    for part in parts
                    for name, reason in part.objections.items()
                    if name not in usable
                }
                raise Unplaceable(
                    f"together they ask for {in_words(kind, demanded)}, and there are {sum(free.values())} free",
                    {**{name: f"{amount} free" for name, amount in free.items()}, **others},
                )

    def _order(self, part: _Part) -> tuple[object, ...]:
        """Return the sort key of the search: the most constrained parts come first."""
        hard = [standing.group for standing, _ in part.groups if standing.group.hard]
        largest = max(hard, key=lambda group: (len(group.members), group.name), default=None)
        share = max(
            (
                amount / (max(host.size.get(kind, 0) for host in self._hosts.values()) or 1)
                for kind, amount in part.demand.items()
            ),
            default=0.0,
        )
        size, name = (-len(largest.members), largest.name) if largest else (0, "")
        return (size, name, -share, len(part.candidates), part.names)

    # -- the search --------------------------------------------------------------------------------------------

    def _found(self, parts: Sequence[_Part], hard: Sequence[Standing]) -> list[str]:
        """Return a machine for each part, depth first."""
        chosen: list[str] = []
        untried = [self._choices(parts, 0, chosen)] if parts else []
        while untried:
            depth = len(untried) - 1
            if len(chosen) > depth:
                self._undo(parts[depth], chosen.pop())
            node = next(untried[depth], None)
            if node is None:
                self._dead_ends.add(self._state(depth, hard))
                untried.pop()
                continue
            self._do(parts[depth], node)
            chosen.append(node)
            if len(chosen) == len(parts):
                return chosen
            if self._dead_ends and self._state(depth + 1, hard) in self._dead_ends:
                continue
            untried.append(self._choices(parts, depth + 1, chosen))
        if parts:
            raise self._refusal
        return chosen

    def _choices(self, parts: Sequence[_Part], depth: int, chosen: Sequence[str]) -> Iterator[str]:
        """Return the machines that a part may be on in the present state, the best first."""
        part = parts[depth]
        reasons: dict[str, str] = {}
        fit: list[tuple[float, int, str, str]] = []
        self._comparisons += len(part.candidates)
        for node in part.candidates:
            reason = shortage(self._free[node], part.demand) or self._rule_objection(part, node)
            if reason:
                reasons[node] = reason
            else:
                fit.append(
                    (self._cost(part, node), -self._room(part, node), self._tie_break(part, node), node)
                )
        if not fit and depth > self._furthest:
            self._furthest = depth
            before = [f"{each.words} on {node}" for each, node in zip(parts, chosen, strict=False)]
            dots = ["..."] if len(before) > _MOST_BEFORE else []
            given = f", with {', '.join([*dots, *before[-_MOST_BEFORE:]])}" if before else ""
            self._refusal = Unplaceable(
                f"{part.words} {part.fits} on no node{given}", {**part.objections, **reasons}
            )
        if self._comparisons > MOST_COMPARISONS:
            raise Unplaceable(
                f"no way was found to place everything, and not all were tried: {self._refusal.args[0]}",
                self._refusal.reasons,
            )
        return iter([node for *_, node in sorted(fit)])

    @staticmethod
    def _rule_objection(part: _Part, node: str) -> str:
        for standing, count in part.groups:
            if standing.group.hard and (objection := standing.objection(node, count)):
                return objection
        return ""

    @staticmethod
    def _cost(part: _Part, node: str) -> float:
        return sum(standing.cost(node, count) for standing, count in part.groups if not standing.group.hard)

    def _room(self, part: _Part, node: str) -> int:
        """Return the free share of a machine's scarcest capacity after placing the part, in coarse steps."""
        size, free = self._hosts[node].size, self._free[node]
        kinds = part.demand or size
        shares = [
            (free.get(kind, 0) - part.demand.get(kind, 0)) / size[kind] for kind in kinds if size.get(kind)
        ]
        return int(min(shares, default=1.0) / _ALIKE)

    def _tie_break(self, part: _Part, node: str) -> str:
        key = "\0".join((self._question.stack, part.names[0], node))
        return hashlib.blake2b(key.encode(errors="surrogatepass"), digest_size=8).hexdigest()

    def _do(self, part: _Part, node: str) -> None:
        _take(self._free[node], part.demand)
        for standing, count in part.groups:
            standing.put(node, count)

    def _undo(self, part: _Part, node: str) -> None:
        _take(self._free[node], {kind: -amount for kind, amount in part.demand.items()})
        for standing, count in part.groups:
            standing.take(node, count)

    def _state(self, depth: int, hard: Sequence[Standing]) -> object:
        """Return the state that decides whether the parts from ``depth`` on can be placed."""
        free = tuple(tuple(sorted(free.items())) for free in self._free.values())
        return depth, free, tuple(standing.key() for standing in hard)


def _take(free: dict[str, int], demand: Mapping[str, int]) -> None:
    for kind, amount in demand.items():
        free[kind] = free.get(kind, 0) - amount
