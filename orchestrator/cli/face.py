"""The part of ``orchestrator.service.Service`` that the command line uses."""

from collections.abc import Collection, Iterator, Mapping, Sequence
from typing import Any, Protocol

from orchestrator.model.event_filter import ALL_EVENTS, EventFilter
from orchestrator.model.messages import AdoptJob, StackJob
from orchestrator.model.purge import Removed
from orchestrator.views.caches import CacheView, FlushView
from orchestrator.views.nodes import AskedView, InstancesView, NodeDetails, NodeStats, NodeView
from orchestrator.views.operations import FailureView, GraphPicture, Timeline
from orchestrator.views.sinks import SinkView
from orchestrator.views.stacks import (
    EventView,
    GraphView,
    HookView,
    OutputView,
    Progress,
    ResourceView,
    SnapshotView,
    StackView,
    TraversalView,
    UpdatePlan,
)


class NodeService(Protocol):
    """What a command asks of :class:`orchestrator.nodes.admin.NodeAdmin`."""

    def all(self) -> list[NodeView]:
        """Return all nodes."""

    def show(self, name: str, /) -> NodeDetails:
        """Return one node with all that is on it."""

    def refresh(self, names: Sequence[str], /) -> list[AskedView]:
        """Ask nodes anew, or all of them if none is named."""

    def flush(self, names: Sequence[str], /) -> list[AskedView]:
        """Have what is remembered of nodes forgotten, or of all of them if none is named."""

    def drain(self, name: str, reason: str, /) -> NodeView:
        """Have nothing placed on a node any more."""

    def undrain(self, name: str, /) -> NodeView:
        """Have things placed on a node again."""

    def forget(self, name: str, /, *, lost: bool = False) -> None:
        """Have a node forgotten that is gone for good, or raise."""

    def instances(self, name: str, /) -> InstancesView:
        """Return the instances of a node."""

    def stats(self, *, reset: bool = False) -> NodeStats:
        """Return what all processes counted; with ``reset`` counting begins again at zero."""


class Pictures(Protocol):
    """What a command asks of :class:`orchestrator.queries.observer.Observer`."""

    def graph(self, name: str, /) -> GraphPicture:
        """Return the graph of the operation in force, or raise ``NotFound``."""

    def timeline(self, name: str, /, *, traversal_id: str | None = None) -> Timeline:
        """Return when what was done in an operation, or raise ``NotFound``."""

    def failure(self, name: str, /, *, traversal_id: str | None = None) -> FailureView:
        """Return why an operation failed, or raise ``NotFound``."""


class StackService(Protocol):
    """What a command asks of the service; ``name`` is a stack's name or id.

    What a person named and does not exist raises ``NotFound``; see ``orchestrator.errors`` for the others.
    """

    def close(self) -> None:
        """Stop the threads of embedded mode and let go of every connection."""

    def create(self, job: StackJob) -> StackView:
        """Accept the job, or raise; the stack is IN_PROGRESS afterwards."""

    def adopt(self, job: AdoptJob) -> StackView:
        """Accept a stack of what is there already, or raise; it is IN_PROGRESS afterwards."""

    def update(self, job: StackJob) -> StackView:
        """Accept the new definition of a stack, or raise; the stack is IN_PROGRESS, or complete already, afterwards."""

    def plan_update(self, job: StackJob, /) -> UpdatePlan:
        """Return what an update would do, and do nothing."""

    def cancel(self, name: str, *, rollback: bool) -> StackView:
        """End what is under way, or raise; with ``rollback`` what was complete last is on its way back afterwards."""

    def operate(self, action: str, name: str, /) -> StackView:
        """Begin to ``CHECK``, ``SUSPEND`` or ``RESUME`` a stack as it is, or raise."""

    def delete(self, name: str) -> StackView | None:
        """Begin to delete; None if there was nothing left to do."""

    def abandon(self, name: str) -> StackView | None:
        """Begin to give a stack up; None if there was nothing left to do."""

    def take_snapshot(self, name: str, snapshot: str) -> StackView:
        """Begin to take a snapshot, or raise; the stack is IN_PROGRESS afterwards."""

    def restore(
        self, name: str, snapshot: str, *, timeout_minutes: float | None, rollback: bool
    ) -> StackView:
        """Begin to bring a stack back to a snapshot, or raise; the stack is IN_PROGRESS afterwards."""

    def delete_snapshot(self, name: str, snapshot: str) -> SnapshotView | None:
        """Delete a snapshot; None if it is gone, else it is on its way, or failed."""

    def snapshots(self, name: str) -> list[SnapshotView]:
        """Return a stack's snapshots."""

    def snapshot(self, name: str, snapshot: str) -> SnapshotView:
        """Return one snapshot."""

    def watch(self, stack_id: str, *, interval_seconds: float = 0.25) -> Iterator[Progress]:
        """Yield progress until the operation is finished; embedded mode does the work meanwhile."""

    def stacks(
        self, *, nested: bool = False, tags: Collection[str] = (), tags_any: Collection[str] = ()
    ) -> list[StackView]:
        """Return the stacks of the project that have all of ``tags`` and any of ``tags_any``.

        Those in other stacks only if ``nested``.
        """

    def stack(self, name: str, /) -> StackView:
        """Return one stack with its outputs."""

    def export(self, name: str, /) -> dict[str, Any]:
        """Return a stack as one document."""

    def definition(self, name: str, /) -> StackJob:
        """Return the job that would give a stack the definition that it has."""

    def resources(self, name: str, /, *, depth: int = 0) -> list[ResourceView]:
        """Return the resources of a stack, and of those in it, down to ``depth``."""

    def resource(self, name: str, resource: str, /) -> ResourceView:
        """Return one resource."""

    def mark_unhealthy(self, name: str, resource: str, /, *, reason: str, reset: bool) -> ResourceView:
        """Have a resource replaced by the next update, or with ``reset`` not; return it as it is then."""

    def signal(self, name: str, resource: str, details: Mapping[str, Any], /) -> StackView | None:
        """Hand details to a resource."""

    def hooks(self, name: str, /) -> list[HookView]:
        """Return where resources stand at hooks, longest first."""

    def clear_hooks(self, name: str, resource: str, kind: str | None, /) -> list[HookView]:
        """Let on what stands at hooks and matches; return what that was."""

    def events(
        self,
        name: str,
        /,
        *,
        after: int = 0,
        before: int | None = None,
        newest_first: bool = False,
        limit: int = 1000,
        wanted: EventFilter = ALL_EVENTS,
    ) -> list[EventView]:
        """Return at most ``limit`` events with an id above ``after`` and below ``before``; deleted stacks' too."""

    def event(self, name: str, event_id: int, /) -> EventView:
        """Return one event."""

    def history(self, name: str, /, *, after: str = "", limit: int = 1000) -> list[TraversalView]:
        """Return at most ``limit`` operations on a stack, newest first; ``after``: those older than that one."""

    def traversal(self, name: str, traversal_id: str, /) -> TraversalView:
        """Return one operation, with its nodes' counts."""

    def outputs(self, name: str, /) -> tuple[OutputView, ...]:
        """Return the outputs of a stack."""

    def output(self, name: str, key: str, /) -> OutputView:
        """Return one output."""

    def graph(self, name: str, /) -> GraphView:
        """Return the dependency graph."""

    def purge(
        self, *, older_than_seconds: float, project: str | None = None, dry_run: bool = False
    ) -> Iterator[Removed]:
        """Remove for good what nobody needs any more; yield after each step what went, or would go."""

    def cache_stats(self, client: str | None = None, *, reset: bool = False) -> list[CacheView]:
        """Return what the constraint caches are and counted; with ``reset`` counting begins again at zero."""

    def flush_caches(self, client: str | None = None) -> list[FlushView]:
        """Have what the constraint caches hold forgotten; return what became of it."""

    def event_sinks(self) -> list[SinkView]:
        """Return how far each event sink has been told."""

    def forget_event_sink(self, name: str, /) -> None:
        """Have no events kept any more for a sink, or raise."""

    @property
    def nodes(self) -> NodeService:
        """The nodes of the installation."""

    @property
    def observer(self) -> Pictures:
        """Pictures of operations."""
