"""Planner: solves the placement of one operation, and reserves the capacity for it."""

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import Final

from hooks.stack import FrozenStack
from orchestrator.lifecycle.engine_plugin import Engine
from orchestrator.model.names import membership
from orchestrator.nodes.rpc.reports import report_of
from orchestrator.placement.host import Host, demand_of
from orchestrator.placement.inventory import Inventory, survey
from orchestrator.placement.requests import (
    Fate,
    PlacementRequests,
    UnknownRequirements,
    group_of,
    requests_of,
)
from orchestrator.placement.rules import GROUP_TYPE, Group
from orchestrator.placement.solver import Answer, Item, Question, Unplaceable, place
from orchestrator.store.machines.reservations import GroupRow, NewReservation, Promised

#: How often a placement is solved again while concurrent operations reserve the capacity first.
TRIES: Final = 10

Amounts = dict[tuple[str, str], dict[str, int]]


@dataclass(frozen=True, slots=True, kw_only=True)
class Found:
    """A solved placement, and the capacity it takes."""

    answer: Answer
    #: The amounts to reserve, by resource and machine.
    amounts: Amounts
    #: The reservations under which it was solved.
    promised: Promised


class Planner:
    """Places the resources of one operation on one stack."""

    def __init__(
        self,
        engine: Engine,
        stack: FrozenStack,
        current: FrozenStack | None,
        action: str,
        *,
        operation_id: str = "",
        moved: Mapping[str, str] | None = None,
        max_age_seconds: float,
    ) -> None:
        """Read the stack's placement requests; ``moved`` are the names that resources have until the operation begins.

        Raises:
            UnknownRequirements: a request cannot be evaluated.
        """
        self._engine, self._stack, self._operation_id = engine, stack, operation_id
        self._moved = moved or {}
        self._ledger = engine.store().reservations
        #: The reservations of resources that come out of nested stacks, by the names that they will have.
        self._arriving = self._reserved_inside()
        claimed: dict[str, str] = {}
        if current is not None:
            promised = self._ledger.promised([], stack_id=stack.id, operation_id=operation_id)
            own = self._as_moved(promised).own
            claimed = {name: node for name, node in own if sum(name == other for other, _ in own) == 1}
        present = {} if current is None else current.resources
        #: Resources with a reservation of an older operation that has not made them yet: that reservation is released
        #: if the operation fails, so they are reserved again.
        self._begun = {name for name in claimed if (row := present.get(name)) is not None and not row.on_node}
        types = engine.types()
        self.requests: PlacementRequests = requests_of(
            stack, current, types, settings=engine.settings, claimed=claimed, action=action
        )
        self._rows = group_rows(engine, stack, self.requests)
        self._kinds = {each.id: each.kind for each in self._rows.values()}
        self._inventory: Inventory | None = None
        self._max_age_seconds = max_age_seconds

    def decide(self) -> Found:
        """Solve the placement under the present reservations; reserve nothing.

        Raises:
            Unplaceable: there is no placement.
            UnknownRequirements: a group's rule cannot be evaluated.
            Unavailable: the machine-state store, or the database, does not answer.
        """
        inventory = self._read_inventory()
        promised = self._ledger.promised(
            inventory.nodes,
            stack_id=self._stack.id,
            operation_id=self._operation_id,
            kinds=self._all_kinds(),
        )
        promised = self._as_moved(promised)
        hosts = inventory.hosts(promised)
        groups = self._groups(promised)
        try:
            answer = place(self._question(promised, hosts, groups, either=Fate.MADE))
            made = {request.name for request in self.requests.requests if request.fate is not Fate.STAYS}
        except Unplaceable:
            if all(request.fate is not Fate.EITHER for request in self.requests.requests):
                raise
            # No capacity for replacements: try with those that may be updated in place staying.
            answer = place(self._question(promised, hosts, groups, either=Fate.STAYS))
            made = {request.name for request in self.requests.requests if request.fate is Fate.MADE}
        return Found(answer=answer, amounts=self._amounts(answer, made, promised), promised=promised)

    def claim(self, seconds: float) -> Found:
        """Solve the placement, and reserve its capacity for ``seconds``.

        Raises:
            Unplaceable: there is no placement, or concurrent operations reserved the capacity :data:`TRIES` times.
            UnknownRequirements: as of :meth:`decide`.
            Unavailable: as of :meth:`decide`.
        """
        for _ in range(TRIES):
            found = self.decide()
            new = NewReservation(
                operation_id=self._operation_id,
                stack_id=self._stack.id,
                amounts=found.amounts,
                seconds=seconds,
                groups=tuple(self._rows),
            )
            self._know_machines(found)
            if self._ledger.reserve(new, fits=partial(self._still_fits, found), kinds=self._all_kinds()):
                return found
        raise Unplaceable(f"others were faster {TRIES} times to take the room that was found; try again")

    def _read_inventory(self) -> Inventory:
        # Read once for all tries.
        if self._inventory is None:
            store = self._engine.store()
            measured = any(
                demand_of(request.requirements) or request.requirements.hypervisor
                for request in self.requests.requests
            )
            nodes = survey(
                self._engine.nodes(),
                store.machines.all(),
                measured=measured,
                max_age_seconds=self._max_age_seconds,
            )
            ours = self._ledger.names_on(list(nodes)) if measured else frozenset[str]()
            self._inventory = Inventory(nodes=nodes, ours=ours)
        return self._inventory

    def _know_machines(self, found: Found) -> None:
        """Make rows of machines that have none: a reservation locks them."""
        leases = {name: node.lease for name, node in self._read_inventory().nodes.items()}
        known = {row.name for row in self._engine.store().machines.all()}
        new = {node for _, node in found.amounts} - known
        self._engine.store().machines.note(
            report_of(lease) for node in sorted(new) if (lease := leases.get(node))
        )

    def _all_kinds(self) -> list[str]:
        """Return the group memberships whose members in other stacks must be read."""
        own = {
            kind
            for request in self.requests.requests
            for kind in request.amounts(self._stack.id, {})
            if ":" in kind
        }
        moved = (membership(self._stack.id, name) for name in self._moved.values())
        return sorted({*own, *self._kinds.values(), *moved})

    def _as_moved(self, promised: Promised) -> Promised:
        """Return reservations by the places that resources have once the operation has begun."""
        if not self._moved:
            return promised
        promised = replace(promised, own={**promised.own, **self._arriving})
        stack_id = self._stack.id
        now = {was: name for name, was in self._moved.items()}
        kinds = {membership(stack_id, was): membership(stack_id, name) for was, name in now.items()}
        own = {
            (now.get(name, name), node): {kinds.get(kind, kind): amount for kind, amount in amounts.items()}
            for (name, node), amounts in promised.own.items()
        }
        members = {kinds.get(kind, kind): nodes for kind, nodes in promised.members.items()}
        return replace(promised, own=own, members=members)

    def _reserved_inside(self) -> Amounts:
        store = self._engine.store()
        found: Amounts = {}
        for name, path in self._moved.items():
            *outer, was = path.split("/")
            stack_id = self._stack.id
            for each in outer:
                stack_id = store.stacks.resource(stack_id, each).id
            if outer:
                own = self._ledger.promised((), stack_id=stack_id, operation_id=self._operation_id).own
                found |= {(name, node): dict(each) for (whose, node), each in own.items() if whose == was}
        return found

    def _groups(self, promised: Promised) -> list[Group]:
        members = promised.members
        own = [
            replace(group, elsewhere=members.get(membership(self._stack.id, name), ()))
            for name, group in self.requests.groups.items()
        ]
        others = [
            group_of(
                row.name,
                row.properties,
                self._engine.types(),
                members=[
                    request.name for request in self.requests.requests if each in request.requirements.groups
                ],
                elsewhere=members.get(row.kind, ()),
            )
            for each, row in self._rows.items()
        ]
        return [*own, *others]

    def _question(
        self, promised: Promised, hosts: Mapping[str, Host], groups: Sequence[Group], *, either: Fate
    ) -> Question:
        """Return the solver's question; ``either`` is the fate assumed for resources of :attr:`Fate.EITHER`."""
        items, staying = [], set()
        for request in self.requests.requests:
            fate = either if request.fate is Fate.EITHER else request.fate
            stays = request.node if fate is Fate.STAYS else ""
            # A row without a reservation takes its capacity all the same.
            had = (
                promised.own.get((request.name, request.node), demand_of(request.requirements))
                if stays
                else {}
            )
            items.append(
                Item(name=request.name, requirements=request.requirements, stays=stays, promised=had)
            )
            staying |= {request.name} if stays else set()
        ties = [tie for tie in self.requests.ties if not staying.issuperset(tie)]
        return Question(stack=self._stack.id, items=items, hosts=hosts, ties=ties, groups=groups)

    def _amounts(self, answer: Answer, made: Collection[str], promised: Promised) -> Amounts:
        """Return the amounts to reserve, without those that are reserved already."""
        amounts: Amounts = {}
        for request in self.requests.requests:
            place_of = (request.name, answer.nodes[request.name])
            wanted, had = request.amounts(self._stack.id, self._kinds), promised.own.get(place_of)
            if had is None:
                amounts[place_of] = wanted
            elif request.name in made:
                # A replacement exists beside the old one for a while.
                amounts[place_of] = {
                    kind: wanted.get(kind, 0) + had.get(kind, 0) for kind in {**had, **wanted}
                }
            elif request.name in self._begun or any(had.get(kind) != each for kind, each in wanted.items()):
                amounts[place_of] = wanted
        return amounts

    def _still_fits(self, found: Found, now: Promised) -> bool:
        now = self._as_moved(now)
        if now.members != found.promised.members:
            return False
        needed: dict[str, dict[str, int]] = {}
        for (name, node), amounts in found.amounts.items():
            had = now.own.get((name, node))
            if had is None and node in now.drained:
                return False
            of_node = needed.setdefault(node, {})
            for kind, amount in amounts.items():
                of_node[kind] = of_node.get(kind, 0) + max(0, amount - (had or {}).get(kind, 0))
        whole = self._read_inventory()
        some = Inventory(
            nodes={node: whole.nodes[node] for node in needed if node in whole.nodes}, ours=whole.ours
        )
        hosts = some.hosts(now)
        return all(
            not amount or kind not in hosts[node].size or amount <= hosts[node].free.get(kind, 0)
            for node, amounts in needed.items()
            if node in hosts
            for kind, amount in amounts.items()
        )


def group_rows(engine: Engine, stack: FrozenStack, requests: PlacementRequests) -> dict[str, GroupRow]:
    """Return the groups of other stacks that resources name, by id.

    Raises:
        UnknownRequirements: the project has no such group.
    """
    ids = requests.group_ids
    if not ids:
        return {}
    rows = engine.store().reservations.groups(ids, project=stack.project, kind=GROUP_TYPE)
    missing = [each for each in ids if each not in rows]
    if missing:
        request = next(request for request in requests.requests if missing[0] in request.requirements.groups)
        raise UnknownRequirements(
            f"{request.name} is to be in placement group {missing[0]!r}, which project {stack.project!r} does not have"
        )
    return rows
