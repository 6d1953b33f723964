"""Queries of stacks for faces: stacks, resources, events, operations, outputs, graphs, snapshots and hooks."""

from collections import defaultdict
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from hooks.values.nearest import did_you_mean
from orchestrator.config.limits import Limits
from orchestrator.errors import NotFound, Problem
from orchestrator.model.breakpoints import paused_until
from orchestrator.model.event_filter import ALL_EVENTS, EventFilter
from orchestrator.model.operation_filter import ALL_OPERATIONS, OperationFilter
from orchestrator.queries.breakpoints import hook_view, hooks_by_row, waits_for
from orchestrator.queries.history import event_view, traversal_view
from orchestrator.views.stacks import (
    EventView,
    GraphNode,
    GraphView,
    HookView,
    OutputView,
    ResourceView,
    SnapshotView,
    StackView,
    TraversalView,
)

if TYPE_CHECKING:
    from orchestrator.config.settings import Settings
    from orchestrator.model.messages import StackJob
    from orchestrator.model.stack_filter import StackFilter, StackOrder
    from orchestrator.store.stacks.annotations import PluginAnnotations
    from orchestrator.store.stacks.stacks import ResourceRow, StackRow
    from orchestrator.store.store import Store
    from orchestrator.template.template import Template
    from orchestrator.views.resource_page import StepLogView


class StackQueries:
    """Queries of stacks, by names in the settings' project.

    A query imports itself what it alone needs: most commands make one.

    A stack, or a part of one, that does not exist raises NotFound, with the nearest name.
    """

    def __init__(self, settings: "Settings", store: "Store") -> None:
        self.settings = settings
        self._store = store

    def stacks(
        self,
        *,
        nested: bool = False,
        tags: Collection[str] = (),
        tags_any: Collection[str] = (),
        drifted: bool = False,
        partial: bool = False,
        states: Collection[str] = (),
        names: Collection[str] = (),
        older_than_seconds: float | None = None,
        newer_than_seconds: float | None = None,
        sort: Collection[str] = ("created_at", "name"),
        descending: bool = False,
        limit: int | None = None,
    ) -> list[StackView]:
        """Return the stacks that are not deleted, at most ``limit``, oldest first unless ``sort`` says otherwise.

        They have all of ``tags``, at least one of ``tags_any``, one of ``states`` and one of ``names``, if given; with
        ``drifted``, a resource in the outermost stack or within differs from its object; with ``partial``, an update
        with targets has left resources otherwise than defined. A state may also be a status or an action alone; in a
        name, ``*`` and ``?`` match any characters. Ages count from the creation. Nested stacks
        are listed only if ``nested``.

        Raises:
            InvalidInput: a state, or a key to sort by, is none.
        """
        from orchestrator.model.stack_filter import StackFilter, StackOrder, check_sort, states_of

        wanted = StackFilter(
            nested=nested,
            tags=tuple(tags),
            tags_any=tuple(tags_any),
            partial=partial,
            states=states_of(states),
            name_patterns=tuple(names),
            older_than_seconds=older_than_seconds,
            newer_than_seconds=newer_than_seconds,
        )
        # What has drifted is found out afterwards.
        of_rows = None if drifted else limit
        order = StackOrder(keys=check_sort(sort), descending=descending, limit=of_rows)
        rows = self._store.stack_lists.page(wanted, order, project=self.settings.project)
        if drifted:
            found = self._store.drifts.drifted(sorted({row.root_id for row in rows}))
            rows = [row for row in rows if row.root_id in found][:limit]
        outdated = self._store.output_readers.stale_roots(sorted({row.root_id for row in rows}))
        return [replace(stack_view(row), stale=row.root_id in outdated) for row in rows]

    def listed(
        self, wanted: "StackFilter", order: "StackOrder", *, everywhere: bool = False
    ) -> list[StackView]:
        """Return a part of the list of the project's stacks, or with ``everywhere`` of all projects.

        Raises:
            NotFound: there is no stack after which the part could begin.
        """
        rows = self._store.stack_lists.page(
            wanted, order, project=None if everywhere else self.settings.project
        )
        return [stack_view(row) for row in rows]

    def count(self, wanted: "StackFilter", *, everywhere: bool = False) -> int:
        """Return how many stacks :meth:`listed` would return without a limit."""
        return self._store.stack_lists.count(wanted, project=None if everywhere else self.settings.project)

    def head(self, name: str) -> StackView:
        """Return one stack without what its definition would be read for: parameters and outputs."""
        return stack_view(self._find(name))

    def stack(self, name: str, *, outputs: bool = True) -> StackView:
        """Return one stack with its parameters and, unless they are not wanted, its outputs."""
        row = self._find(name)
        context = self._store.traversals.context(row.traversal_id)
        view = replace(
            begun_view(row, context),
            outputs=self._outputs(row, context) if outputs else (),
            in_service=self._store.stacks.in_service(row),
            annotations=self._store.annotations.of(row.id),
            rolled_back=self._rolled_back(row),
            stale=bool(self._store.output_readers.stale_roots([row.root_id])),
            stale_readers=self._stale_readers(row),
        )
        standing = self.hooks(row.id) if row.status == "IN_PROGRESS" else ()
        return replace(view, reason=waits_for(standing)) if standing else view

    def _stale_readers(self, stack: "StackRow") -> tuple[str, ...]:
        readers = self._store.output_readers.of_source(stack.id)
        return tuple(
            dict.fromkeys(each.root for each in readers if each.stale and each.project == stack.project)
        )

    def _rolled_back(self, stack: "StackRow") -> str:
        """Return what a rollback of a stack takes back, and why; empty for another operation, or if it is purged."""
        if stack.action != "ROLLBACK":
            return ""
        past = self._store.past
        before = past.rolled_back(stack.id, past.traversal(stack.id, stack.traversal_id))
        if before is None:
            return ""
        return (
            f"{before.action} failed: {before.reason}" if before.reason else f"{before.action} was cancelled"
        )

    def definition(self, name: str) -> "StackJob":
        """Return the job that would give a stack its present definition, secrets included."""
        from orchestrator.planning.stored_templates import job_of_template

        stack = self._find(name)
        return replace(job_of_template(self._store, stack, stack.template_id), rollback=stack.rollback)

    def export(self, name: str) -> dict[str, object]:
        """Return a stack as one document (:mod:`orchestrator.queries.stack_document`), secrets included."""
        from orchestrator.planning.stored_templates import job_of_template
        from orchestrator.queries.stack_document import document_of

        stack = self._find(name)
        definition = job_of_template(self._store, stack, stack.template_id)
        # Stacks without resources are included.
        rows: dict[str, list[ResourceRow]] = {
            each.id: [] for each in self._store.families.in_tree(stack.root_id)
        }
        for row in self._store.stacks.resources_in_tree(stack.root_id):
            rows[row.stack_id].append(row)
        return document_of(stack, definition, rows, Limits.of(self.settings))

    def resources(self, name: str, *, depth: int = 0) -> list[ResourceView]:
        """Return a stack's resources, sorted by age and name.

        Each is followed by those of its nested stack, down to ``depth`` levels of nesting.
        """
        stack = self._find(name)
        if not depth:
            rows = self._store.stacks.resources(stack.id)
        else:
            rows = self._store.stacks.resources_in_tree(stack.root_id, depth=stack.depth + depth)
        names = {row.id: row.name for row in rows}
        by_stack: defaultdict[str, list[ResourceRow]] = defaultdict(list)
        for row in rows:
            by_stack[row.stack_id].append(row)
        found = _in_tree_order(stack.id, by_stack, depth)
        hooks = hooks_by_row(self._store, stack.id)
        annotations = self._store.annotations.all(list(by_stack))
        return [
            resource_view(row, names, hooks.get(row.id), within, annotations.get((row.stack_id, row.name)))
            for within, row in found
        ]

    def resource(self, name: str, resource: str) -> ResourceView:
        """Return one resource."""
        from orchestrator.planning.applied import AppliedDefinitions

        stack = self._find(name)
        rows = self._store.stacks.resources(stack.id)
        names = {row.id: row.name for row in rows}
        row = self._store.stacks.resource(stack.id, resource)
        context = self._store.traversals.context(stack.traversal_id)
        applied = AppliedDefinitions(
            rows=rows,
            context=context,
            hidden=context.get("hidden", ()),
            limits=Limits.of(self.settings),
            content=self._store.templates.file,
        )
        annotations = self._store.annotations.of(stack.id, row.name)
        hook = hooks_by_row(self._store, stack.id).get(row.id)
        return replace(
            resource_view(row, names, hook, annotations=annotations),
            properties=applied.shown(row, self._store.histories.applied(row.id)),
        )

    def resource_logs(self, name: str, resource: str) -> "tuple[StepLogView, ...]":
        """Return what the last steps of a resource logged, the newest step first.

        Raises:
            NotFound: the stack has no such resource, and none of its steps logged anything.
        """
        from orchestrator.queries.step_logs import logs_of

        stack = self._find(name)
        logs = logs_of(self._store, self.settings, stack.id, resource)
        if not logs:
            self._store.stacks.resource(stack.id, resource)
        return logs

    def events(
        self,
        name: str,
        *,
        after: int = 0,
        before: int | None = None,
        newest_first: bool = False,
        limit: int = 1000,
        wanted: EventFilter = ALL_EVENTS,
    ) -> list[EventView]:
        """Return a stack's events with an id above ``after`` and below ``before``, oldest first, at most ``limit``.

        The stack may be deleted, until it is purged: by its id, or by its name unless another stack has it.
        """
        stack = self._past(name)
        rows = self._store.events.read(
            stack.id, after=after, before=before, newest_first=newest_first, limit=limit, wanted=wanted
        )
        return [event_view(row, stack) for row in rows]

    def event(self, name: str, event_id: int) -> EventView:
        """Return one event of a stack, which may be deleted, as in :meth:`events`."""
        stack = self._past(name)
        return event_view(self._store.events.find(stack.id, event_id), stack)

    def history(
        self,
        name: str,
        *,
        after: str = "",
        wanted: OperationFilter = ALL_OPERATIONS,
        limit: int = 1000,
    ) -> list[TraversalView]:
        """Return a stack's operations, newest first, at most ``limit``; with ``after``, those older than that one.

        The stack may be deleted, as in :meth:`events`.
        """
        stack = self._past(name)
        before = self._store.past.traversal(stack.id, after) if after else None
        rows = self._store.past.traversals(stack.id, before=before, wanted=wanted, limit=limit)
        return [traversal_view(row, stack) for row in rows]

    def traversal(self, name: str, traversal_id: str) -> TraversalView:
        """Return one operation on a stack, which may be deleted, with its nodes' counts."""
        stack = self._past(name)
        row = self._store.past.traversal(stack.id, traversal_id)
        return traversal_view(
            row, stack, self._store.families.counts(row.id), self._store.ledger.calls(row.id)
        )

    def outputs(self, name: str) -> tuple[OutputView, ...]:
        """Return a stack's outputs; one that cannot be resolved yet has an error in place of a value."""
        row = self._find(name)
        return self._outputs(row, self._store.traversals.context(row.traversal_id))

    def output(self, name: str, key: str) -> OutputView:
        """Return one output.

        Raises:
            NotFound: there is no such stack or output; the nearest name is given.
        """
        outputs = {output.key: output for output in self.outputs(name)}
        if key in outputs:
            return outputs[key]
        hint = did_you_mean(key, outputs, f"outputs: {', '.join(outputs) or 'none'}")
        raise NotFound(f"stack {name!r} has no output {key!r}{hint}")

    def graph(self, name: str) -> GraphView:
        """Return a stack's dependency graph with the state of every resource."""
        from orchestrator.model.graph import Graph

        stack = self._find(name)
        template = self._template(stack, self._store.traversals.context(stack.traversal_id))
        rows = self._store.stacks.resources(stack.id)
        states = {row.name: f"{row.action}_{row.status}" for row in rows}
        implied = self._implied(stack.id, rows) if rows else {}
        graph = Graph(
            {
                key: each.requirements | implied.get(key, frozenset())
                for key, each in template.resources.items()
            }
        )
        added = (
            (key, other) for key, others in implied.items() for other in others if key in template.resources
        )
        nodes = tuple(
            GraphNode(name=key, type=each.type, state=states.get(key, "INIT_COMPLETE"))
            for key, each in template.resources.items()
        )
        return GraphView(nodes=nodes, edges=tuple(graph.edges()), implied=tuple(sorted(added)))

    def _implied(self, stack_id: str, rows: "Sequence[ResourceRow]") -> dict[str, frozenset[str]]:
        """Return the requirements that types added when the resources were planned, by the resource's name."""
        planned = self._store.histories.planned(stack_id)
        definitions = {row.name: planned.get(row.id, {}).get("definition", {}) for row in rows}
        return {name: frozenset(each["i"]) for name, each in definitions.items() if each.get("i")}

    def snapshots(self, name: str) -> list[SnapshotView]:
        """Return a stack's snapshots, oldest first."""
        return [SnapshotView.of(row) for row in self._store.snapshots.all(self._find(name).id)]

    def snapshot(self, name: str, snapshot: str) -> SnapshotView:
        """Return one snapshot of a stack, with its resources."""
        row = self._store.snapshots.find(self._find(name).id, snapshot)
        entries = self._store.snapshots.entries(row)
        return SnapshotView.of(row, resources=tuple((entry.name, entry.type) for entry in entries))

    def hooks(self, name: str) -> list[HookView]:
        """Return the hooks at which a stack's resources stand, longest first."""
        return [hook_view(standing) for standing in self._store.breakpoints.standing(self._find(name).id)]

    def _find(self, name: str) -> "StackRow":
        return self._store.stacks.find(name, project=self.settings.project)

    def _past(self, name: str) -> "StackRow":
        return self._store.past.stack(name, project=self.settings.project)

    def _template(self, stack: "StackRow", context: Mapping[str, Any]) -> "Template":
        from orchestrator.planning.stored_templates import load_template

        return load_template(self._store, stack.template_id, context, self.settings)

    def _outputs(self, stack: "StackRow", context: Mapping[str, Any]) -> tuple[OutputView, ...]:
        # Contexts of earlier versions do not tell.
        if not context.get("has_outputs", True):
            # Without the template language, which takes long to import, and the template, which may be large.
            return ()
        from orchestrator.planning.stored_templates import load_draft
        from orchestrator.queries.outputs import outputs_of

        draft = load_draft(self._store, stack.template_id, self.settings)
        if not draft.output_names:
            # Without the definitions of its resources, which may be many.
            return ()
        template = draft.valid_under(context["parameters"], context.get("hidden", ()))
        return outputs_of(self._store, stack, template, context, self.settings)


def _in_tree_order(
    stack_id: str, rows: Mapping[str, Sequence["ResourceRow"]], depth: int, within: tuple[str, ...] = ()
) -> Iterator[tuple[tuple[str, ...], "ResourceRow"]]:
    """Yield each row of a stack, followed by those of its nested stack, down to ``depth`` levels of nesting.

    Each comes with the names of the resources that it is nested in, outermost first. The id of a nested stack is that
    of its row in the parent stack.
    """
    for row in rows.get(stack_id, ()):
        yield within, row
        if depth > 0:
            yield from _in_tree_order(row.id, rows, depth - 1, (*within, row.name))


def warnings_in(context: Mapping[str, Any]) -> tuple[Problem, ...]:
    """Return the warnings about a traversal's definition, which are in its context."""
    return tuple(map(Problem.from_wire, context.get("warnings", ())))


def stack_view(
    row: "StackRow",
    description: str = "",
    parameters: Mapping[str, Any] | None = None,
    outputs: tuple[OutputView, ...] = (),
) -> StackView:
    """Return the view of a stack's row."""
    return StackView.of(row, description=description, parameters=parameters or {}, outputs=outputs)


def begun_view(row: "StackRow", context: Mapping[str, Any]) -> StackView:
    """Return the view of a stack without values for which its template must be parsed: its outputs.

    ``context`` is that of the operation's traversal.
    """
    from orchestrator.queries.definitions import shown_parameters

    view = stack_view(row, context.get("description", ""), shown_parameters(context))
    return replace(view, warnings=warnings_in(context))


def resource_view(
    row: "ResourceRow",
    names: Mapping[str, str],
    hook: str | None,
    within: tuple[str, ...] = (),
    annotations: "PluginAnnotations | None" = None,
) -> ResourceView:
    """Return the view of a resource's row.

    ``names`` are the names of rows by id, ``hook`` is the hook at which it stands, and ``within`` has the resources
    that it is nested in.
    """
    return ResourceView.of(
        row,
        within=within,
        uuid=row.id,
        reason=row.reason if hook is None else paused_until(hook),
        hook=hook,
        requires=tuple(sorted(names[each] for each in row.requires if each in names)),
        # What is applied may be secret: see StackQueries.resource.
        properties={},
        attributes={".".join(map(str, path)): value for path, value in row.attributes},
        annotations=annotations or {},
    )
