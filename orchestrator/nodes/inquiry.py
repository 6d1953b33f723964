"""Queries of machine states for commands and pages: from the cache, refreshed, or bypassing the cache."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from functools import partial
from typing import Any, Final, Protocol

from cache.node_state.cache import NodeStateCache
from cache.node_state.errors import NodeError, NodeOffline, StateStoreFailed
from cache.node_state.lease import Lease
from cache.node_state.requests import MachineState, MachineStateRequest
from orchestrator.errors import Unavailable
from orchestrator.nodes.rpc.calls import VERSION_RPC
from orchestrator.store.machines.machines import MachineRow

#: The request for the whole state of a machine.
EVERYTHING: Final = MachineStateRequest(everything=True, bootid=True)
#: How many machines are queried in parallel.
_AT_ONCE: Final = 32

#: A machine's state, or why it cannot be read.
Answer = MachineState | NodeError


class Nodes(Protocol):
    """The part of :class:`orchestrator.nodes.rpc.client.NodeClient` that queries and the watcher use."""

    @property
    def cache(self) -> NodeStateCache:
        """The cache of machine states."""

    def leases(self) -> Mapping[str, Lease]:
        """Return the leases of running agents, by machine."""

    def ask(self, node: str, rpc: str) -> Any:
        """Call a read RPC of a machine."""

    def fetch(self, node: str, request: MachineStateRequest, timeout_seconds: float, /) -> MachineState:
        """Query a machine, bypassing the cache."""


class NodeInquiry:
    """Queries machines; ``timeout_seconds`` is that of queries that bypass the cache."""

    def __init__(self, nodes: Nodes, *, timeout_seconds: float) -> None:
        self.nodes, self._timeout_seconds = nodes, timeout_seconds

    def leases(self) -> Mapping[str, Lease]:
        """Return the leases of running agents, by machine.

        Raises:
            Unavailable: the machine-state store does not answer.
        """
        with reached():
            return self.nodes.leases()

    def remembered(self, rows: Sequence[MachineRow], leases: Mapping[str, Lease]) -> Mapping[str, Answer]:
        """Return the states of machines, from the cache where they are fresh; stale ones where a machine is silent."""
        found = self.nodes.cache.machine_states([row.name for row in rows], EVERYTHING, allow_stale=True)
        return self._past_the_cache(rows, leases, found)

    def _past_the_cache(
        self, rows: Sequence[MachineRow], leases: Mapping[str, Lease], found: Mapping[str, Answer]
    ) -> Mapping[str, Answer]:
        """Query drained machines directly: the cache refuses to, and operators want to see them empty."""
        drained = [
            row for row in rows if row.is_drained and row.name in leases and _is_offline(found[row.name])
        ]
        direct = _in_parallel(drained, lambda name: self.nodes.fetch(name, EVERYTHING, self._timeout_seconds))

        def better(name: str, answer: Answer) -> Answer:
            now = direct.get(name, answer)
            # A stale state is better than an error.
            return answer if isinstance(now, NodeError) and isinstance(answer, MachineState) else now

        return {name: better(name, answer) for name, answer in found.items()}

    def anew(self, rows: Sequence[MachineRow], leases: Mapping[str, Lease]) -> Mapping[str, Answer]:
        """Return the states of machines, queried past the cache, which stores them."""
        forced = _in_parallel(rows, partial(self.nodes.cache.machine_state, force=True))
        return self._past_the_cache(rows, leases, forced)

    def agent(self, name: str) -> Mapping[str, Any]:
        """Return an agent's version and counters; empty if it does not answer."""
        try:
            answer: Mapping[str, Any] = self.nodes.ask(name, VERSION_RPC)
        except NodeError:
            return {}
        return answer


@contextmanager
def reached() -> Iterator[None]:
    """Raise errors of the machine-state store as :class:`Unavailable`.

    Raises:
        Unavailable: the machine-state store does not answer.
    """
    try:
        yield
    except StateStoreFailed as error:
        raise Unavailable(str(error)) from error


def _in_parallel(rows: Sequence[MachineRow], ask: Callable[[str], MachineState]) -> dict[str, Answer]:
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
    return answer.stale if isinstance(answer, MachineState) else isinstance(answer, NodeOffline)
