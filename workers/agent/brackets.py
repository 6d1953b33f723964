"""What is told to the node state cache around whatever changes a node: at its beginning, and at its end.

The agent does so and not its caller: a caller may die between sending and reply, and the change happens all the same.
"""

from collections.abc import Collection
from contextlib import AbstractContextManager, nullcontext
from typing import Protocol

from cache.node_state.counts import NodeStateCounts
from orchestrator.nodes.rpc.messages import Request
from orchestrator.nodes.rpc.registry import Effect, NodeRpc


class Invalidation(Protocol):
    """What an agent needs of :class:`cache.node_state.cache.NodeStateCache`: to say that something is void."""

    def mutating(
        self,
        node: str,
        operation_id: str,
        *,
        rpc: str = "change",
        affects: Collection[str] = (),
        flush: bool = False,
        deferred: bool = False,
    ) -> AbstractContextManager[None]:
        """Void what is kept before and after the body, whatever happens in it, and keep nothing in between."""

    @property
    def counters(self) -> NodeStateCounts:
        """What was voided in this process, and why."""

    def settle(self, node: str, operation_id: str) -> None:
        """Say that nothing more comes of an operation whose end was not told."""


def bracket(
    cache: Invalidation, node: str, rpc: NodeRpc, request: Request, *, again: bool
) -> AbstractContextManager[None]:
    """Return the bracket around one call of an RPC; around a neutral one there is none.

    One that was done before, and is only told ``again``, has no effect that is still to come.
    """
    if rpc.effect is Effect.NEUTRAL:
        return nullcontext()
    return cache.mutating(
        node,
        request.operation_id,
        rpc=rpc.name,
        affects=rpc.affects(request.arguments) - {node},
        flush=rpc.effect is Effect.FLUSH_ALL,
        deferred=rpc.deferred and not again,
    )
