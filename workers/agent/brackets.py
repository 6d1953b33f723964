"""What is told to the node state cache around whatever changes a node: at its beginning, and at its end.

The agent does so and not its caller: a caller may die between sending and reply, and the change happens all the same.
"""

from collections.abc import Iterator
from contextlib import AbstractContextManager, ExitStack, contextmanager
from typing import Protocol

from orchestrator.nodes.messages import Request
from orchestrator.nodes.registry import Effect, NodeRpc


class Invalidation(Protocol):
    """What an agent needs of :class:`cache.node_state.cache.NodeStateCache`: to say that something is void.

    None of these returns before it is written where all who share the cache see it.
    """

    def bump(self, node: str, why: str) -> None:
        """Void what is remembered of a node."""

    def flush(self, why: str) -> None:
        """Void what is remembered of all nodes."""

    def mutating(self, node: str, operation_id: str, deferred: bool = False) -> AbstractContextManager[None]:
        """Bump a node before and after the body, and remember nothing of it in between."""


@contextmanager
def bracket(cache: Invalidation, node: str, rpc: NodeRpc, request: Request, *, again: bool) -> Iterator[None]:
    """Void what the body changes, before and after; after it whatever happens, for each node that it affects.

    Done before and only told ``again``, it has no effect that is still to come.
    """
    if rpc.effect is Effect.NEUTRAL:
        yield
        return
    with ExitStack() as ends:
        if rpc.effect is Effect.FLUSH_ALL:
            cache.flush(rpc.name)
            ends.callback(cache.flush, rpc.name)
        for other in sorted(rpc.affects(request.arguments) - {node}):
            cache.bump(other, rpc.name)
            ends.callback(cache.bump, other, rpc.name)
        ends.enter_context(cache.mutating(node, request.operation_id, deferred=rpc.deferred and not again))
        yield
