"""Protocols of the service as the command line uses it: the part of ``orchestrator.service.Service`` it calls."""

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
    """Administration of nodes: the part of :class:`orchestrator.nodes.admin.NodeAdmin` that commands use."""

    def all(self) -> list[NodeView]:
        """Return all nodes."""

    def show(self, name: str, /) -> NodeDetails:
        """Return one node with its backends and resources."""

    def refresh(self, names: Sequence[str], /) -> list[AskedView]:
        """Query nodes, bypassing their cached states; all nodes if none is named."""

    def flush(self, names: Sequence[str], /) -> list[AskedView]:
        """Remove the cached states of nodes; of all nodes if none is named."""

    def drain(self, name: str, reason: str, /) -> NodeView:
        """Exclude a node from placement."""

    def undrain(self, name: str, /) -> NodeView:
        """Include a node in placement again."""

    def forget(self, name: str, /, *, lost: bool = False) -> None:
        """Remove the record of a node that no longer exists, or raise."""

    def instances(self, name: str, /) -> InstancesView:
        """Return the instances of a node."""

    def stats(self, *, reset: bool = False) -> NodeStats:
        """Return the machine-state cache counters of all processes; ``reset`` sets them to zero afterwards."""


class Pictures(Protocol):
    """Pictures of operations: the part of :class:`orchestrator.queries.observer.Observer` that commands use."""

    def graph(self, name: str, /) -> GraphPicture:
        """Return the graph of the operation in force, or raise ``NotFound``."""

    def timeline(self, name: str, /, *, traversal_id: str | None = None) -> Timeline:
        """Return when each resource of an operation was worked on, or raise ``NotFound``."""

    def failure(self, name: str, /, *, traversal_id: str | None = None) -> FailureView:
        """Return why an operation failed, or raise ``NotFound``."""


class StackService(Protocol):
    """Operations and queries of the service; ``name`` is a stack's name or id.

    An unknown name raises ``NotFound``; see ``orchestrator.errors`` for the other errors.
    """

    def close(self) -> None:
        """Stop the threads of embedded mode and close every connection."""

    def create(self, job: StackJob) -> StackView:
        """Accept the job, or raise; the stack is IN_PROGRESS afterwards."""

    def adopt(self, job: AdoptJob) -> StackView:
        """Accept a stack of existing objects, or raise; it is IN_PROGRESS afterwards."""

    def update(self, job: StackJob) -> StackView:
        """Accept the new definition of a stack, or raise; the stack is IN_PROGRESS, or complete already, afterwards."""

    def plan_update(self, job: StackJob, /) -> UpdatePlan:
        """Return the plan of an update, without executing it."""

    def cancel(self, name: str, *, rollback: bool) -> StackView:
        """End the running operation, or raise; with ``rollback`` a rollback to the last complete definition begins."""

    def operate(self, action: str, name: str, /) -> StackView:
        """Begin to ``CHECK``, ``SUSPEND`` or ``RESUME`` a stack as it is, or raise."""

    def delete(self, name: str) -> StackView | None:
        """Begin to delete a stack; None if it is deleted already."""

    def abandon(self, name: str) -> StackView | None:
        """Begin to abandon a stack; None if it is deleted already."""

    def take_snapshot(self, name: str, snapshot: str) -> StackView:
        """Begin to take a snapshot, or raise; the stack is IN_PROGRESS afterwards."""

    def restore(
        self, name: str, snapshot: str, *, timeout_minutes: float | None, rollback: bool
    ) -> StackView:
        """Begin to restore a stack from a snapshot, or raise; the stack is IN_PROGRESS afterwards."""

    def delete_snapshot(self, name: str, snapshot: str) -> SnapshotView | None:
        """Delete a snapshot; None if that is done, else the deletion is in progress or failed."""

    def snapshots(self, name: str) -> list[SnapshotView]:
        """Return a stack's snapshots."""

    def snapshot(self, name: str, snapshot: str) -> SnapshotView:
        """Return one snapshot."""

    def watch(self, stack_id: str, *, interval_seconds: float = 0.25) -> Iterator[Progress]:
        """Yield progress until the operation ends; in embedded mode the work is done meanwhile."""

    def stacks(
        self, *, nested: bool = False, tags: Collection[str] = (), tags_any: Collection[str] = ()
    ) -> list[StackView]:
        """Return the stacks of the project that have all of ``tags`` and any of ``tags_any``.

        Nested stacks are included only if ``nested``.
        """

    def stack(self, name: str, /) -> StackView:
        """Return one stack with its outputs."""

    def export(self, name: str, /) -> dict[str, Any]:
        """Return a stack as one document, secrets included."""

    def definition(self, name: str, /) -> StackJob:
        """Return the job that would give a stack its present definition again."""

    def resources(self, name: str, /, *, depth: int = 0) -> list[ResourceView]:
        """Return the resources of a stack, and those of nested stacks down to ``depth``."""

    def resource(self, name: str, resource: str, /) -> ResourceView:
        """Return one resource."""

    def mark_unhealthy(self, name: str, resource: str, /, *, reason: str, reset: bool) -> ResourceView:
        """Mark a resource for replacement by the next update, or ``reset`` the mark; return the resource."""

    def signal(self, name: str, resource: str, details: Mapping[str, Any], /) -> StackView | None:
        """Send a signal to a resource; return the stack that changes because of it, if any."""

    def hooks(self, name: str, /) -> list[HookView]:
        """Return the resources that are held at hooks, longest first."""

    def clear_hooks(self, name: str, resource: str, kind: str | None, /) -> list[HookView]:
        """Clear the hooks of the matching resources; return those that were cleared."""

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
        """Return at most ``limit`` events with ids above ``after`` and below ``before``, also of deleted stacks."""

    def event(self, name: str, event_id: int, /) -> EventView:
        """Return one event."""

    def history(self, name: str, /, *, after: str = "", limit: int = 1000) -> list[TraversalView]:
        """Return at most ``limit`` operations on a stack, newest first; only those older than ``after``, if given."""

    def traversal(self, name: str, traversal_id: str, /) -> TraversalView:
        """Return one operation, with the number of its resources by state."""

    def outputs(self, name: str, /) -> tuple[OutputView, ...]:
        """Return the outputs of a stack."""

    def output(self, name: str, key: str, /) -> OutputView:
        """Return one output."""

    def graph(self, name: str, /) -> GraphView:
        """Return the dependency graph."""

    def purge(
        self, *, older_than_seconds: float, project: str | None = None, dry_run: bool = False
    ) -> Iterator[Removed]:
        """Remove old history permanently; yield after each step what was removed, or would be."""

    def cache_stats(self, client: str | None = None, *, reset: bool = False) -> list[CacheView]:
        """Return the constraint caches and their counters; ``reset`` sets these to zero afterwards."""

    def flush_caches(self, client: str | None = None) -> list[FlushView]:
        """Empty the constraint caches; return the result for each."""

    def event_sinks(self) -> list[SinkView]:
        """Return the position and backlog of each event sink."""

    def forget_event_sink(self, name: str, /) -> None:
        """Remove the position and backlog of a sink, or raise."""

    @property
    def nodes(self) -> NodeService:
        """Administration of the installation's nodes."""

    @property
    def observer(self) -> Pictures:
        """Pictures of operations."""
