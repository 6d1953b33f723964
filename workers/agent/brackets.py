"""Invalidation of the machine-state cache around changes: at their beginning, and at their end.

The agent announces changes and not its caller, which may die between sending and reply while the change happens.
"""

from collections.abc import Collection
from contextlib import AbstractContextManager, nullcontext
from typing import Protocol

from cache.node_state.counts import NodeStateCounts
from orchestrator.nodes.rpc.messages import Request
from orchestrator.nodes.rpc.registry import Effect, NodeRpc


class Invalidation(Protocol):
    """The part of :class:`cache.node_state.cache.NodeStateCache` that agents need to invalidate entries."""

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
        """Invalidate entries before and after the body, whatever happens in it, and store none in between."""

    @property
    def counters(self) -> NodeStateCounts:
        """The invalidations in this process, and their reasons."""

    def settle(self, node: str, operation_id: str) -> None:
        """Announce that an operation without an announced end has no further effect."""


def bracket(
    cache: Invalidation, node: str, rpc: NodeRpc, request: Request, *, again: bool
) -> AbstractContextManager[None]:
    """Return the bracket of one call of an RPC; of a neutral one, an empty bracket.

    A call that was carried out before and is only repeated (``again``) has no effect to come.
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
