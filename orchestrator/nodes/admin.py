"""Look at nodes, have them asked anew, and take them out of use and back into it."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from typing import Final

import structlog

from cache.node_state.errors import NodeError, NodeUnreachable, StateStoreFailed
from cache.node_state.lease import Lease
from cache.node_state.requests import OK, Snapshot
from hooks.values.nearest import Nearest
from orchestrator.errors import Conflict, NotFound, Unavailable
from orchestrator.nodes.inquiry import Answer, NodeInquiry, reached
from orchestrator.nodes.presentation import instance_views, node_view, resident_view, section_views
from orchestrator.nodes.rpc.saying import said_of
from orchestrator.nodes.statistics import NodeStatistics
from orchestrator.store.machines.machines import MachineReport, MachineRow, Machines
from orchestrator.views.nodes import FAILING, UP, AskedView, InstancesView, NodeDetails, NodeStats, NodeView

log = structlog.get_logger()

#: Why nobody is to ask a drained node for its state, where the operator has not said why.
DRAINED: Final = "it is drained"

#: By node and kind of amount, how much is promised.
Promised = Mapping[tuple[str, str], int]


class NodeAdmin:
    """The nodes of an installation.

    Args:
        asking: How they are asked.
        machines: Where they are written down.
        promised: Returns what is promised of some of them.
        tally: What was counted of remembering their states.
        booted_at: Where nobody looks after nodes, when this machine has booted, which is the only one; None: somebody
            does.
    """

    def __init__(
        self,
        asking: NodeInquiry,
        machines: Machines,
        promised: Callable[[Sequence[str]], Promised],
        tally: NodeStatistics,
        *,
        booted_at: float | None = None,
    ) -> None:
        self._asking, self._cache = asking, asking.nodes.cache
        self._machines, self._promised, self._tally = machines, promised, tally
        self._booted_at = booted_at

    def all(self) -> list[NodeView]:
        """Return all nodes, by name; what is not remembered of one is asked of it.

        Raises:
            Unavailable: the database, or where nodes' states are kept, does not answer.
        """
        rows, leases = self._known()
        return self._views(rows, leases, self._asking.remembered(rows, leases))

    def show(self, name: str) -> NodeDetails:
        """Return one node with all that it says and all that is on it.

        Raises:
            NotFound: there is no such node; the sentence names the nearest.
            Unavailable: the database, or where nodes' states are kept, does not answer.
        """
        rows, leases = self._known([name])
        found = self._asking.remembered(rows, leases)
        [view] = self._views(rows, leases, found)
        answer = found[name]
        agent = self._asking.agent(name) if view.state == UP else {}
        return NodeDetails(
            node=view,
            sections=tuple(section_views(answer)) if isinstance(answer, Snapshot) else (),
            residents=tuple(resident_view(each) for each in self._machines.residents(name)),
            version=agent.get("version", ""),
            bumps=agent.get("bumps", {}),
            flushes=agent.get("flushes", {}),
        )

    def refresh(self, names: Sequence[str] = ()) -> list[AskedView]:
        """Ask nodes anew, or all of them, whatever is remembered; return what became of each.

        Raises:
            NotFound: there is no such node; nothing was asked.
            Unavailable: the database, or where nodes' states are kept, does not answer.
        """
        rows, leases = self._known(names)
        found = self._asking.anew(rows, leases)
        views = self._views(rows, leases, found)
        return [
            AskedView(node=view.name, state="refreshed", detail=_told(found[view.name], view))
            if view.state == UP
            else AskedView(node=view.name, state=view.state, detail=view.reason)
            for view in views
        ]

    def flush(self, names: Sequence[str] = ()) -> list[AskedView]:
        """Have what is remembered of nodes forgotten, or of all of them; return what became of each.

        Raises:
            NotFound: there is no such node; nothing was forgotten.
            Unavailable: the database, or where nodes' states are kept, does not answer.
        """
        rows, _ = self._known(names)
        with reached():
            if names:
                for row in rows:
                    self._cache.bump(row.name, "operator")
            else:
                self._cache.flush("operator")
        self._tally.tell()
        return [
            AskedView(node=row.name, state="flushed", detail="it is asked when its state is needed next")
            for row in rows
        ]

    def drain(self, name: str, reason: str = "") -> NodeView:
        """Have nothing placed on a node any more; what is there stays. Return the node as it is then.

        It also works where nodes' states are out of reach.

        Raises:
            NotFound: there is no such node; the sentence names the nearest.
            Unavailable: the database does not answer.
        """
        if self._machines.find(name) is None:
            self._known([name])
        self._machines.drain(name, reason)
        self._say_offline(name, reason or DRAINED)
        return self._shown(name)

    def undrain(self, name: str) -> NodeView:
        """Have things placed on a node again; return the node as it is then.

        It also works where nodes' states are out of reach.

        Raises:
            NotFound: there is no such node; the sentence names the nearest.
            Unavailable: the database does not answer.
        """
        if self._machines.find(name) is None:
            self._known([name])
        self._machines.undrain(name)
        self._say_offline(name, "")
        return self._shown(name)

    def forget(self, name: str, *, lost: bool = False) -> None:
        """Have a node forgotten that is gone for good; an agent of its name would make it known again.

        With ``lost``, all that is on it counts as gone with it: the next update of its stack makes it anew elsewhere.

        Raises:
            NotFound: there is no such node; the sentence names the nearest.
            Conflict: its agent is there, or something is on it; of a ``lost`` one, a stack that is on it is busy.
            Unavailable: the database, or where nodes' states are kept, does not answer.
        """
        _, leases = self._known([name])
        if name in leases:
            raise Conflict(
                f"node {name!r} has an agent: end it first, for it would make the node known again"
            )
        hindrance = self._machines.forget(name, lost=lost)
        if hindrance:
            raise Conflict(f"node {name!r} cannot be forgotten: {hindrance}")
        with reached():
            self._cache.forget(name)

    def instances(self, name: str) -> InstancesView:
        """Return the instances of a node; of one that cannot be asked now, what it said last.

        Raises:
            NotFound: there is no such node; the sentence names the nearest.
            Unavailable: it cannot be asked, and nothing is remembered of it; or the database does not answer.
        """
        rows, leases = self._known([name])
        answer = self._asking.remembered(rows, leases)[name]
        self._tally.tell()
        if isinstance(answer, NodeError):
            raise Unavailable(str(answer)) from answer
        residents = {each.id: each for each in self._machines.residents(name)}
        faults = [
            f"hypervisor {section.name!r}: {section.status}"
            + (f": {section.message}" if section.message else "")
            for section in section_views(answer)
            if section.kind == "hypervisor" and section.status != OK
        ]
        return InstancesView(
            node=name,
            instances=tuple(instance_views(answer, residents)),
            age_seconds=answer.age_seconds,
            stale=answer.stale,
            faults=tuple(faults),
        )

    def stats(self, *, reset: bool = False) -> NodeStats:
        """Return what all processes counted; with ``reset`` counting begins again at zero afterwards.

        Raises:
            Unavailable: the database does not answer.
        """
        return self._tally.read(reset=reset)

    def _say_offline(self, name: str, why: str) -> None:
        """Tell those who ask for nodes' states; the row is what counts, and the watcher makes up for what fails."""
        try:
            self._cache.set_offline(name, why)
        except StateStoreFailed as error:
            log.warning("a drain is told of later", node=name, reason=str(error))

    def _shown(self, name: str) -> NodeView:
        try:
            return self.show(name).node
        except Unavailable as error:
            row = self._machines.find(name)
            if row is None:
                raise
            view = node_view(row, None, NodeUnreachable(name, str(error)), {}, booted=False)
            return replace(view, state=FAILING, reason=str(error))

    def _known(self, names: Sequence[str] = ()) -> tuple[list[MachineRow], Mapping[str, Lease]]:
        """Return the machines of these names, or all of them, and the leases of all."""
        leases = self._asking.leases()
        self._machines.note(said_of(lease) for lease in leases.values())
        rows = {row.name: row for row in self._machines.all()}
        if strays := self._strays(rows):
            self._machines.note(strays)
            rows = {row.name: row for row in self._machines.all()}
        for name in names:
            if name not in rows:
                there = f"there are: {', '.join(rows)}" if rows else "no agent has been there yet"
                raise NotFound(f"there is no node {name!r}; {Nearest().hint(name, rows, there)}")
        wanted = dict.fromkeys(names) or rows
        return [rows[name] for name in wanted], leases

    def _strays(self, rows: Mapping[str, MachineRow]) -> list[MachineReport]:
        """Return nodes that nobody has written down: their agents came and went while nobody looked."""
        with reached():
            names = self._cache.store.names()
        return [MachineReport(name=name, incarnation="", boot_id="") for name in sorted(names - rows.keys())]

    def _views(
        self, rows: Sequence[MachineRow], leases: Mapping[str, Lease], found: Mapping[str, Answer]
    ) -> list[NodeView]:
        self._tally.tell()
        promised: dict[str, dict[str, int]] = {row.name: {} for row in rows}
        for (name, kind), amount in self._promised(list(promised)).items():
            promised[name][kind] = amount
        return [
            node_view(
                row,
                leases.get(row.name),
                found[row.name],
                promised[row.name],
                booted=self._has_booted(row, leases.get(row.name)),
            )
            for row in rows
        ]

    def _has_booted(self, row: MachineRow, lease: Lease | None) -> bool:
        """Whether a machine has booted, and what is on it was not looked at since."""
        if self._booted_at is not None:
            return not self._machines.is_looked_at_since(row.name, self._booted_at)
        return lease is not None and lease.boot_id != row.boot_id


def _told(answer: Answer, view: NodeView) -> str:
    if isinstance(answer, Snapshot) and answer.unsettled:
        return "it is being changed: its answer is not remembered"
    return "it is drained: its answer is not remembered" if view.drained else "its answer is remembered"
