"""A stand-in for the service: a few stacks in memory, and operations that end when their progress is asked for."""

import json
from collections.abc import Collection, Iterator, Mapping
from contextlib import suppress
from dataclasses import dataclass, field, replace
from fnmatch import fnmatchcase
from pathlib import Path
from typing import TYPE_CHECKING, Any, cast

from click.testing import CliRunner, Result

from orchestrator.cli.main import isotherm
from orchestrator.cli.shell import Shell
from orchestrator.config.settings import Settings
from orchestrator.errors import Conflict, NotFound
from orchestrator.model.event_filter import ALL_EVENTS, EventFilter
from orchestrator.model.messages import AdoptJob, StackJob
from orchestrator.model.purge import Removed
from orchestrator.model.tags import has_tags
from orchestrator.views.attention import AttentionView
from orchestrator.views.caches import CacheView, FlushView
from orchestrator.views.operations import FailureView, GraphPicture, Timeline
from orchestrator.views.resource_page import StepLogView
from orchestrator.views.sinks import SinkView
from orchestrator.views.stacks import (
    EventView,
    GraphNode,
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
from tests.numeric_times import numeric_times
from tests.unit.orchestrator.cli.fake_refused import FakeRefused

if TYPE_CHECKING:
    from orchestrator.service import Service

#: 2024-03-01T12:00:00Z.
NOON = 1709294400.0


def stack_view(name: str, action: str = "CREATE", status: str = "COMPLETE", **more: Any) -> StackView:
    return StackView(
        **{
            "id": f"id-of-{name}",
            "name": name,
            "project": "default",
            "action": action,
            "status": status,
            "created_at": NOON,
            "updated_at": NOON,
            "traversal_id": "t1",
            "timeout_minutes": 60.0,
            **more,
        }
    )


def resource_view(name: str, action: str = "CREATE", status: str = "COMPLETE", **more: Any) -> ResourceView:
    return ResourceView(
        **{
            "name": name,
            "type": "OS::Heat::TestResource",
            "uuid": f"uuid-of-{name}",
            "physical_id": f"physical-{name}",
            "action": action,
            "status": status,
            "created_at": NOON,
            "updated_at": NOON,
            **more,
        }
    )


def snapshot_view(name: str, **more: Any) -> SnapshotView:
    given = {"action": "CREATE", "status": "COMPLETE", "reason": "", **more}
    return SnapshotView(id=f"id-of-{name}", name=name, created_at=NOON, **given)


def event_view(number: int, resource: str, action: str, status: str, reason: str = "") -> EventView:
    return EventView(
        id=number,
        at=NOON + number,
        stack="web",
        traversal_id="t1",
        resource=resource,
        resource_uuid=f"uuid-of-{resource}" if resource else None,
        type="OS::Heat::TestResource" if resource else "",
        action=action,
        status=status,
        reason=reason,
        physical_id=None,
    )


def traversal_view(traversal_id: str, **more: Any) -> TraversalView:
    return TraversalView(
        **{
            "id": traversal_id,
            "stack": "web",
            "stack_id": "id-of-web",
            "action": "CREATE",
            "status": "COMPLETE",
            "reason": "",
            "template_id": "0123456789abcdef",
            "begun_at": NOON,
            "ended_at": NOON + 90,
            "duration_seconds": 90.0,
            "made": 2,
            "changed": 0,
            "deleted": 0,
            "failed": 0,
            **more,
        }
    )


class NoPictures:
    """Has no picture of any stack."""

    def graph(self, name: str, /) -> GraphPicture:
        raise NotFound(f"there is no stack {name!r}")

    def timeline(self, name: str, /, *, traversal_id: str | None = None) -> Timeline:
        raise NotFound(f"there is no stack {name!r}")

    def failure(self, name: str, /, *, traversal_id: str | None = None) -> FailureView:
        raise NotFound(f"there is no stack {name!r}")


@dataclass
class FakeService:
    """Holds what a test puts in, and remembers what it was asked."""

    stacks_held: dict[str, StackView] = field(default_factory=dict)
    resources_held: list[ResourceView] = field(default_factory=list)
    #: What the steps of any resource logged, the newest step first.
    logs_held: tuple[StepLogView, ...] = ()
    outputs_held: tuple[OutputView, ...] = ()
    events_held: list[EventView] = field(default_factory=list)
    #: Newest first.
    traversals_held: list[TraversalView] = field(default_factory=list)
    #: What a purge removes, and the purges that were asked for: age, project, whether it was a dry run.
    purged: list[Removed] = field(default_factory=list)
    purges: list[tuple[float, str | None, bool]] = field(default_factory=list)
    #: What events were to be like, each time that they were asked for.
    filters: list[EventFilter] = field(default_factory=list)
    held_definition: StackJob = field(default_factory=lambda: StackJob(name="", template="{}"))
    #: The jobs of dry runs, and what they are told.
    planned: list[StackJob] = field(default_factory=list)
    plan_held: UpdatePlan = field(
        default_factory=lambda: UpdatePlan(name="web", state="CREATE_COMPLETE", parameters={}, resources=())
    )
    #: The status that an operation ends with.
    ending: str = "COMPLETE"
    #: Raised in the midst of watching.
    interrupt: BaseException | None = None
    jobs: list[StackJob] = field(default_factory=list)
    signals: list[tuple[str, str, Mapping[str, Any]]] = field(default_factory=list)
    #: The stack that changes because of signals.
    changed_by_signals: str = ""
    hooks_held: list[HookView] = field(default_factory=list)
    document_held: dict[str, Any] = field(default_factory=dict)
    abandoned: list[str] = field(default_factory=list)
    #: The stacks whose outputs others read.
    read_by_others: set[str] = field(default_factory=set)
    snapshots_held: list[SnapshotView] = field(default_factory=list)
    restored: list[tuple[str, float | None, bool]] = field(default_factory=list)
    caches_held: list[CacheView] = field(default_factory=list)
    #: Of which client counters were reset; None: of all.
    resets: list[str | None] = field(default_factory=list)
    #: What becomes of a flush.
    flushes_held: list[FlushView] = field(default_factory=list)
    refused: FakeRefused = field(default_factory=FakeRefused)
    sinks_held: list[SinkView] = field(default_factory=list)
    attention_held: AttentionView = field(
        default_factory=lambda: AttentionView(project="default", as_of=NOON)
    )
    #: What was asked of it: whether the broker answers, and whether the caller sees the fleet.
    attention_asked: list[tuple[bool, bool]] = field(default_factory=list)
    nodes_held: Any = None
    #: Its pictures; without any, followers see none.
    observer: Any = field(default_factory=NoPictures)
    closed: int = 0

    @property
    def typed(self) -> "Service":
        """Itself, for a type checker."""
        return cast("Service", self)

    def close(self) -> None:
        self.closed += 1

    def create(self, job: StackJob) -> StackView:
        if job.name in self.stacks_held:
            raise Conflict(f"there is already a stack {job.name!r}")
        self.jobs.append(job)
        self.stacks_held[job.name] = stack_view(job.name, "CREATE", "IN_PROGRESS")
        return self.stacks_held[job.name]

    def adopt(self, job: AdoptJob) -> StackView:
        self.create(job)
        self.stacks_held[job.name] = stack_view(job.name, "ADOPT", "IN_PROGRESS")
        return self.stacks_held[job.name]

    def update(self, job: StackJob) -> StackView:
        view = self.stack(job.name)
        self.jobs.append(job)
        self.stacks_held[view.name] = replace(view, action="UPDATE", status="IN_PROGRESS")
        return self.stacks_held[view.name]

    def plan_update(self, job: StackJob, /) -> UpdatePlan:
        self.stack(job.name)
        self.planned.append(job)
        return self.plan_held

    def cancel(self, name: str, *, rollback: bool, unprotect: bool) -> StackView:
        view = self.stack(name)
        if view.status != "IN_PROGRESS":
            raise Conflict(f"stack {name!r} is {view.state}: there is nothing to cancel")
        cancelled = replace(view, action="ROLLBACK") if rollback else replace(view, status="FAILED")
        self.stacks_held[view.name] = cancelled
        return self.stacks_held[view.name]

    def operate(self, action: str, name: str, /) -> StackView:
        view = self.stack(name)
        if view.status == "IN_PROGRESS":
            raise Conflict(f"stack {name!r} is {view.state}")
        self.stacks_held[view.name] = replace(view, action=action, status="IN_PROGRESS")
        return self.stacks_held[view.name]

    def definition(self, name: str, /) -> StackJob:
        return replace(self.held_definition, name=self.stack(name).name)

    def export(self, name: str, /) -> dict[str, Any]:
        return {**self.document_held, "name": self.stack(name).name}

    def take_snapshot(self, name: str, snapshot: str) -> StackView:
        view = self.stack(name)
        self.snapshots_held.append(snapshot_view(snapshot))
        self.stacks_held[view.name] = replace(view, action="SNAPSHOT", status="IN_PROGRESS")
        return self.stacks_held[view.name]

    def restore(
        self, name: str, snapshot: str, *, timeout_minutes: float | None, rollback: bool, unprotect: bool
    ) -> StackView:
        view = self.stack(name)
        self.restored.append((self.snapshot(name, snapshot).name, timeout_minutes, rollback))
        self.stacks_held[view.name] = replace(view, action="RESTORE", status="IN_PROGRESS")
        return self.stacks_held[view.name]

    def delete_snapshot(self, name: str, snapshot: str) -> SnapshotView | None:
        view = self.snapshot(name, snapshot)
        self.snapshots_held.remove(view)
        if self.ending == "FAILED":
            self.snapshots_held.append(replace(view, action="DELETE", status="FAILED", reason="stuck"))
            return replace(view, action="DELETE", status="IN_PROGRESS")
        return None

    def snapshots(self, name: str) -> list[SnapshotView]:
        self.stack(name)
        return self.snapshots_held

    def snapshot(self, name: str, snapshot: str) -> SnapshotView:
        for view in self.snapshots(name):
            if snapshot in {view.name, view.id}:
                return view
        raise NotFound(f"the stack has no snapshot {snapshot!r}")

    def abandon(self, name: str, *, unprotect: bool, force: bool) -> StackView | None:
        self.abandoned.append(name)
        return self.delete(name, unprotect=unprotect, force=force)

    def delete(self, name: str, *, unprotect: bool, force: bool) -> StackView | None:
        view = self.stack(name)
        if view.protected and not unprotect:
            raise Conflict(f"stack {name!r} is protected")
        if view.name in self.read_by_others and not force:
            raise Conflict("nothing was deleted: its outputs are read by stack 'shop'")
        if view.action == "DELETE" and view.status == "COMPLETE":
            return None
        self.stacks_held[view.name] = replace(view, action="DELETE", status="IN_PROGRESS")
        return self.stacks_held[view.name]

    def watch(self, stack_id: str, *, interval_seconds: float = 0.25) -> Iterator[Progress]:
        view = self.stack(stack_id)
        yield self._progress(view, finished=False)
        if self.interrupt:
            raise self.interrupt
        for resource in ("disk", "server"):
            self._record(resource, view.action, "COMPLETE")
            yield self._progress(view, finished=False)
        reason = "no room for server" if self.ending == "FAILED" else ""
        self._record("", view.action, self.ending, reason)
        view = replace(view, status=self.ending, reason=reason)
        self.stacks_held[view.name] = view
        yield self._progress(view, finished=True)

    def stacks(
        self,
        *,
        nested: bool = False,
        tags: Collection[str] = (),
        tags_any: Collection[str] = (),
        **_: Any,
    ) -> list[StackView]:
        return [view for view in self.stacks_held.values() if has_tags(view.tags, every=tags, some=tags_any)]

    def stack(self, name: str, /) -> StackView:
        for view in self.stacks_held.values():
            if name in {view.name, view.id}:
                return view
        raise NotFound(f"there is no stack {name!r}")

    def resources(self, name: str, /, *, depth: int = 0) -> list[ResourceView]:
        self.stack(name)
        return self.resources_held

    def resource(self, name: str, resource: str, /) -> ResourceView:
        for view in self.resources(name):
            if view.name == resource:
                return view
        raise NotFound(f"stack {name!r} has no resource {resource!r}")

    def resource_logs(self, name: str, resource: str, /) -> tuple[StepLogView, ...]:
        self.resource(name, resource)
        return self.logs_held

    def mark_unhealthy(self, name: str, resource: str, /, *, reason: str, reset: bool) -> ResourceView:
        view = self.resource(name, resource)
        marked = replace(
            view, action="CHECK", status="COMPLETE" if reset else "FAILED", reason=reason, unhealthy=not reset
        )
        self.resources_held[self.resources_held.index(view)] = marked
        return marked

    def signal(self, name: str, resource: str, details: Mapping[str, Any], /) -> StackView | None:
        self.resource(name, resource)
        self.signals.append((name, resource, details))
        return self.stacks_held.get(self.changed_by_signals)

    def hooks(self, name: str, /) -> list[HookView]:
        self.stack(name)
        return self.hooks_held

    def clear_hooks(self, name: str, resource: str, kind: str | None, /) -> list[HookView]:
        self.stack(name)
        cleared = [
            each
            for each in self.hooks_held
            if fnmatchcase(each.resource, resource) and kind in (None, each.kind)
        ]
        self.hooks_held = [each for each in self.hooks_held if each not in cleared]
        return cleared

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
        self.stack(name)
        self.filters.append(wanted)
        found = [
            view for view in self.events_held if view.id > after and (before is None or view.id < before)
        ]
        return (found[::-1] if newest_first else found)[:limit]

    def event(self, name: str, event_id: int, /) -> EventView:
        for view in self.events(name):
            if view.id == event_id:
                return view
        raise NotFound(f"the stack has no event {event_id}")

    def history(self, name: str, /, *, after: str = "", limit: int = 1000) -> list[TraversalView]:
        view = self.stack(name)
        # The latest, if a test held none.
        held = self.traversals_held or [traversal_view("t1", action=view.action, status=view.status)]
        ids = [each.id for each in held]
        return held[ids.index(after) + 1 if after else 0 :][:limit]

    def traversal(self, name: str, traversal_id: str, /) -> TraversalView:
        for view in self.history(name):
            if view.id == traversal_id:
                return view
        raise NotFound(f"the stack has no traversal {traversal_id!r}")

    def attention(self, *, broker_answers: bool, sees_fleet: bool) -> AttentionView:
        self.attention_asked.append((broker_answers, sees_fleet))
        return self.attention_held

    def event_sinks(self) -> list[SinkView]:
        return self.sinks_held

    def forget_event_sink(self, name: str, /) -> None:
        if name not in [view.name for view in self.sinks_held]:
            raise NotFound(f"no event sink {name!r} is known")
        self.sinks_held = [view for view in self.sinks_held if view.name != name]

    @property
    def nodes(self) -> Any:
        assert self.nodes_held is not None
        return self.nodes_held

    def purge(
        self, *, older_than_seconds: float, project: str | None = None, dry_run: bool = False
    ) -> Iterator[Removed]:
        self.purges.append((older_than_seconds, project, dry_run))
        yield from self.purged
        if self.interrupt and not dry_run:
            raise self.interrupt

    def cache_stats(self, client: str | None = None, *, reset: bool = False) -> list[CacheView]:
        self.resets += [client] if reset else []
        return [view for view in self.caches_held if client in (None, view.client)]

    def flush_caches(self, client: str | None = None) -> list[FlushView]:
        return [view for view in self.flushes_held if client in (None, view.client)]

    def outputs(self, name: str, /) -> tuple[OutputView, ...]:
        self.stack(name)
        return self.outputs_held

    def output(self, name: str, key: str, /) -> OutputView:
        for view in self.outputs(name):
            if view.key == key:
                return view
        raise NotFound(f"stack {name!r} has no output {key!r}")

    def graph(self, name: str, /) -> GraphView:
        self.stack(name)
        nodes = tuple(
            GraphNode(name=view.name, type=view.type, state=view.state) for view in self.resources_held
        )
        edges = tuple((view.name, required) for view in self.resources_held for required in view.requires)
        return GraphView(nodes=nodes, edges=edges)

    def _record(self, resource: str, action: str, status: str, reason: str = "") -> None:
        self.events_held.append(event_view(len(self.events_held) + 1, resource, action, status, reason))

    def _progress(self, view: StackView, *, finished: bool) -> Progress:
        counts = {"done": 2 if finished else 1, "running": 0 if finished else 1}
        running = () if finished else ("server",)
        return Progress(
            stack=view, counts=counts, running=running, total=2, done=counts["done"], finished=finished
        )


@dataclass
class Terminal:
    """Runs commands as a person would type them, against a fake service; nothing is a terminal."""

    service: FakeService
    state_directory: Path
    broker_url: str = ""
    shell: Shell = field(init=False)

    def __post_init__(self) -> None:
        self.shell = Shell(load=self.settings, connect=lambda _: self.service.typed)

    def settings(self) -> Settings:
        return Settings(state_directory=self.state_directory, broker_url=self.broker_url)

    def run(self, *words: str, answer: str | None = None) -> Result:
        """Run a command; no command writes a time as a number."""
        result = CliRunner().invoke(isotherm, list(words), obj=self.shell, prog_name="isotherm", input=answer)
        with suppress(ValueError):
            assert list(numeric_times(json.loads(result.stdout))) == [], words
        return result
