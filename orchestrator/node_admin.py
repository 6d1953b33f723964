"""Look at nodes, have them asked anew, and take them out of use and back into it."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from functools import partial
from typing import Any, Final, Protocol

from cache.node_state.cache import NodeStateCache
from cache.node_state.errors import NodeError, NodeOffline, StateStoreFailed
from cache.node_state.lease import Lease
from cache.node_state.requests import OK, Snapshot, SnapshotRequest
from orchestrator.errors import Conflict, NotFound, Unavailable
from orchestrator.nearest import Nearest
from orchestrator.node_showing import instance_views, node_view, resident_view, section_views
from orchestrator.node_tally import NodeTally
from orchestrator.node_views import UP, AskedView, InstancesView, NodeDetails, NodeStats, NodeView
from orchestrator.nodes.calls import VERSION_RPC
from orchestrator.nodes.saying import said_of
from orchestrator.store.machines import MachineRow, Machines

#: What a node is asked for to be shown: everything that it has.
EVERYTHING: Final = SnapshotRequest(everything=True, bootid=True)
#: Why nobody is to ask a drained node for its state, where the operator has not said why.
DRAINED: Final = "it is drained"
#: How many nodes are asked at once.
_AT_ONCE: Final = 32

#: By node and kind of amount, how much is promised.
Promised = Mapping[tuple[str, str], int]
#: What a node answers, or why it does not.
Answer = Snapshot | NodeError


class Nodes(Protocol):
    """How nodes are asked: :class:`orchestrator.nodes.client.NodeClient`."""

    @property
    def cache(self) -> NodeStateCache:
        """What they said last."""

    def leases(self) -> Mapping[str, Lease]:
        """Return what agents that are there say of themselves, by node."""

    def ask(self, node: str, rpc: str) -> Any:
        """Ask a node by one of its reads."""

    def fetch(self, node: str, request: SnapshotRequest, timeout_seconds: float, /) -> Snapshot:
        """Ask a node, whatever is remembered, and remember nothing."""


class NodeAdmin:
    """The nodes of an installation.

    Args:
        nodes: How they are asked.
        machines: Where they are written down.
        promised: Returns what is promised of some of them.
        tally: What was counted of remembering their states.
        timeout_seconds: How long a node may take that is asked past what is remembered.
        booted_at: Where nobody looks after nodes, when this machine has booted, which is the only one; None: somebody
            does.
    """

    def __init__(
        self,
        nodes: Nodes,
        machines: Machines,
        promised: Callable[[Sequence[str]], Promised],
        tally: NodeTally,
        *,
        timeout_seconds: float,
        booted_at: float | None = None,
    ) -> None:
        self._nodes, self._machines, self._promised, self._tally = nodes, machines, promised, tally
        self._timeout_seconds, self._booted_at = timeout_seconds, booted_at

    def all(self) -> list[NodeView]:
        """Return all nodes, by name; what is not remembered of one is asked of it.

        Raises:
            Unavailable: the database, or where nodes' states are kept, does not answer.
        """
        rows, leases = self._known()
        return self._views(rows, leases, self._remembered(rows, leases))

    def show(self, name: str) -> NodeDetails:
        """Return one node with all that it says and all that is on it.

        Raises:
            NotFound: there is no such node; the sentence names the nearest.
            Unavailable: the database, or where nodes' states are kept, does not answer.
        """
        rows, leases = self._known([name])
        found = self._remembered(rows, leases)
        [view] = self._views(rows, leases, found)
        answer = found[name]
        agent = self._agent(name) if view.state == UP else {}
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
        forced = _asked(rows, partial(self._nodes.cache.snapshot, force=True))
        found = self._past_the_cache(rows, leases, forced)
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
        with _reached():
            if names:
                for row in rows:
                    self._nodes.cache.bump(row.name, "operator")
            else:
                self._nodes.cache.flush("operator")
        self._tally.tell()
        return [
            AskedView(node=row.name, state="flushed", detail="it is asked when its state is needed next")
            for row in rows
        ]

    def drain(self, name: str, reason: str = "") -> NodeView:
        """Have nothing placed on a node any more; what is there stays. Return the node as it is then.

        Raises:
            NotFound: there is no such node; the sentence names the nearest.
            Unavailable: the database, or where nodes' states are kept, does not answer.
        """
        self._known([name])
        # The row is what counts: should the other write fail, the watcher makes up for it.
        self._machines.drain(name, reason)
        with _reached():
            self._nodes.cache.set_offline(name, reason or DRAINED)
        return self.show(name).node

    def undrain(self, name: str) -> NodeView:
        """Have things placed on a node again; return the node as it is then.

        Raises:
            NotFound: there is no such node; the sentence names the nearest.
            Unavailable: the database, or where nodes' states are kept, does not answer.
        """
        self._known([name])
        with _reached():
            self._nodes.cache.set_offline(name, "")
        self._machines.undrain(name)
        return self.show(name).node

    def forget(self, name: str) -> None:
        """Have a node forgotten that is gone for good; an agent of its name would make it known again.

        Raises:
            NotFound: there is no such node; the sentence names the nearest.
            Conflict: its agent is there, or something is on it.
            Unavailable: the database, or where nodes' states are kept, does not answer.
        """
        _, leases = self._known([name])
        if name in leases:
            raise Conflict(
                f"node {name!r} has an agent: end it first, for it would make the node known again"
            )
        hindrance = self._machines.forget(name)
        if hindrance:
            raise Conflict(f"node {name!r} cannot be forgotten: {hindrance}")
        with _reached():
            self._nodes.cache.forget(name)

    def instances(self, name: str) -> InstancesView:
        """Return the instances of a node; of one that cannot be asked now, what it said last.

        Raises:
            NotFound: there is no such node; the sentence names the nearest.
            Unavailable: it cannot be asked, and nothing is remembered of it; or the database does not answer.
        """
        rows, leases = self._known([name])
        answer = self._remembered(rows, leases)[name]
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

    def _agent(self, name: str) -> Mapping[str, Any]:
        """Return what an agent tells of itself; nothing if it does not answer."""
        try:
            told: Mapping[str, Any] = self._nodes.ask(name, VERSION_RPC)
        except NodeError:
            return {}
        return told

    def _known(self, names: Sequence[str] = ()) -> tuple[list[MachineRow], Mapping[str, Lease]]:
        """Return the machines of these names, or all of them, and the leases of all."""
        with _reached():
            leases = self._nodes.leases()
        self._machines.note(said_of(lease) for lease in leases.values())
        rows = {row.name: row for row in self._machines.all()}
        for name in names:
            if name not in rows:
                there = f"there are: {', '.join(rows)}" if rows else "no agent has been there yet"
                raise NotFound(f"there is no node {name!r}; {Nearest().hint(name, rows, there)}")
        wanted = dict.fromkeys(names) or rows
        return [rows[name] for name in wanted], leases

    def _remembered(self, rows: Sequence[MachineRow], leases: Mapping[str, Lease]) -> Mapping[str, Answer]:
        found = self._nodes.cache.snapshot_many([row.name for row in rows], EVERYTHING, allow_stale=True)
        return self._past_the_cache(rows, leases, found)

    def _past_the_cache(
        self, rows: Sequence[MachineRow], leases: Mapping[str, Lease], found: Mapping[str, Answer]
    ) -> Mapping[str, Answer]:
        """Ask those that nobody else asks any more for their states: who has drained a node wants to see it empty."""
        drained = [
            row for row in rows if row.is_drained and row.name in leases and _is_offline(found[row.name])
        ]
        asked = _asked(drained, lambda name: self._nodes.fetch(name, EVERYTHING, self._timeout_seconds))
        self._tally.tell()

        def better(name: str, answer: Answer) -> Answer:
            now = asked.get(name, answer)
            # What it said once is better than that it says nothing now.
            return answer if isinstance(now, NodeError) and isinstance(answer, Snapshot) else now

        return {name: better(name, answer) for name, answer in found.items()}

    def _views(
        self, rows: Sequence[MachineRow], leases: Mapping[str, Lease], found: Mapping[str, Answer]
    ) -> list[NodeView]:
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


@contextmanager
def _reached() -> Iterator[None]:
    """Say in this program's terms that where nodes' states are kept does not answer."""
    try:
        yield
    except StateStoreFailed as error:
        raise Unavailable(str(error)) from error


def _asked(rows: Sequence[MachineRow], ask: Callable[[str], Snapshot]) -> dict[str, Answer]:
    """Ask nodes at the same time; return what each answers, or why it does not."""

    def answer(name: str) -> Answer:
        try:
            return ask(name)
        except NodeError as error:
            return error

    names = [row.name for row in rows]
    if not names:
        return {}
    with ThreadPoolExecutor(min(len(names), _AT_ONCE)) as pool:
        return dict(zip(names, pool.map(answer, names), strict=True))


def _is_offline(answer: Answer) -> bool:
    return answer.stale if isinstance(answer, Snapshot) else isinstance(answer, NodeOffline)


def _told(answer: Answer, view: NodeView) -> str:
    if isinstance(answer, Snapshot) and answer.unsettled:
        return "it is being changed: its answer is not remembered"
    return "it is drained: its answer is not remembered" if view.drained else "its answer is remembered"
