"""Ask nodes for those who look at them: out of what is remembered, anew, or past what is remembered."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from functools import partial
from typing import Any, Final, Protocol

from cache.node_state.cache import NodeStateCache
from cache.node_state.errors import NodeError, NodeOffline, StateStoreFailed
from cache.node_state.lease import Lease
from cache.node_state.requests import Snapshot, SnapshotRequest
from orchestrator.errors import Unavailable
from orchestrator.nodes.rpc.calls import VERSION_RPC
from orchestrator.store.machines.machines import MachineRow

#: What a node is asked for to be shown: everything that it has.
EVERYTHING: Final = SnapshotRequest(everything=True, bootid=True)
#: How many nodes are asked at once.
_AT_ONCE: Final = 32

#: What a node answers, or why it does not.
Answer = Snapshot | NodeError


class Nodes(Protocol):
    """How nodes are asked: :class:`orchestrator.nodes.rpc.client.NodeClient`."""

    @property
    def cache(self) -> NodeStateCache:
        """What they said last."""

    def leases(self) -> Mapping[str, Lease]:
        """Return what agents that are there say of themselves, by node."""

    def ask(self, node: str, rpc: str) -> Any:
        """Ask a node by one of its reads."""

    def fetch(self, node: str, request: SnapshotRequest, timeout_seconds: float, /) -> Snapshot:
        """Ask a node, whatever is remembered, and remember nothing."""


class NodeInquiry:
    """Asks nodes.

    Args:
        nodes: How they are asked.
        timeout_seconds: How long a node may take that is asked past what is remembered.
    """

    def __init__(self, nodes: Nodes, *, timeout_seconds: float) -> None:
        self.nodes, self._timeout_seconds = nodes, timeout_seconds

    def leases(self) -> Mapping[str, Lease]:
        """Return what agents that are there say of themselves.

        Raises:
            Unavailable: nobody can tell.
        """
        with reached():
            return self.nodes.leases()

    def remembered(self, rows: Sequence[MachineRow], leases: Mapping[str, Lease]) -> Mapping[str, Answer]:
        """Return what machines say, or said, or why nobody can tell; what is remembered is not asked for again."""
        found = self.nodes.cache.snapshot_many([row.name for row in rows], EVERYTHING, allow_stale=True)
        return self._past_the_cache(rows, leases, found)

    def _past_the_cache(
        self, rows: Sequence[MachineRow], leases: Mapping[str, Lease], found: Mapping[str, Answer]
    ) -> Mapping[str, Answer]:
        """Ask those that nobody else asks any more for their states: who has drained a node wants to see it empty."""
        drained = [
            row for row in rows if row.is_drained and row.name in leases and _is_offline(found[row.name])
        ]
        asked = _asked(drained, lambda name: self.nodes.fetch(name, EVERYTHING, self._timeout_seconds))

        def better(name: str, answer: Answer) -> Answer:
            now = asked.get(name, answer)
            # What it said once is better than that it says nothing now.
            return answer if isinstance(now, NodeError) and isinstance(answer, Snapshot) else now

        return {name: better(name, answer) for name, answer in found.items()}

    def anew(self, rows: Sequence[MachineRow], leases: Mapping[str, Lease]) -> Mapping[str, Answer]:
        """Ask machines whatever is remembered of them."""
        forced = _asked(rows, partial(self.nodes.cache.snapshot, force=True))
        return self._past_the_cache(rows, leases, forced)

    def agent(self, name: str) -> Mapping[str, Any]:
        """Return what an agent tells of itself; nothing if it does not answer."""
        try:
            told: Mapping[str, Any] = self.nodes.ask(name, VERSION_RPC)
        except NodeError:
            return {}
        return told


@contextmanager
def reached() -> Iterator[None]:
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
