"""Plans of nested stacks: what an update does to the resources in them, as far as their definitions are known before.

Nothing is made or changed. The definition of a nested stack is that which a worker would give it
(:mod:`orchestrator.engine.nested_stacks`), with ``UNKNOWN`` where a value does not exist yet.
"""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from typing import Final

from orchestrator.config.limits import Limits
from orchestrator.definition import LazyFiles
from orchestrator.engine.nested_stacks import nested_job
from orchestrator.engine.planned_deletions import PlannedDeletions, under
from orchestrator.engine.planned_resources import made, planned
from orchestrator.engine.update_preview import DELETE, DryRun
from orchestrator.errors import IsothermError
from orchestrator.model.nested_stack import NestedJob
from orchestrator.planning.comparing import compare
from orchestrator.planning.comparison import Comparison
from orchestrator.planning.decision import Action
from orchestrator.planning.moves import Moved
from orchestrator.plugins.asking import NamedClients
from orchestrator.plugins.resource import Resource
from orchestrator.plugins.stack_resource import StackResource
from orchestrator.plugins.steps import ResourceFailure
from orchestrator.store.stacks.stacks import ResourceRow, StackRow
from orchestrator.store.store import Store
from orchestrator.template.template_resource import kind_of_type
from orchestrator.validation.rules import Types
from orchestrator.views.plans import PlannedResource
from orchestrator.views.stacks import ResourcePlan

#: Why it is not known what is done to a resource in a nested stack.
NOT_KNOWN: Final = "the definition of its stack is known only once that is changed"


class NestedPlans:
    """The plans of the stacks nested in one stack, by the plan of that one, which is made before."""

    def __init__(
        self,
        store: Store,
        stack: StackRow,
        run: DryRun,
        compared: Comparison,
        *,
        types: Types,
        clients: NamedClients | None = None,
        content: Callable[[str], str] | None = None,
        moved: Moved | None = None,
        deletions: PlannedDeletions | None = None,
    ) -> None:
        """Keep the arguments; ``run`` is that of ``compared``, and ``content`` reads a file of it by its digest.

        ``moved`` is what the update moves in the whole tree of stacks; None: ``compared`` is of the outermost one.

        Without ``content``, files are those of ``compared``, or are stored.
        """
        self._store, self._parent, self._run, self._compared = store, stack, run, compared
        self._types, self._clients = types, clients
        self._paths = compared.moved.paths if moved is None else {}
        self._moved = compared.moved if moved is None else moved
        transfers = self._moved.transfers
        self._new = {each.stack.id: each for each in transfers.made} if transfers else {}
        self._content = content or self._file
        self._deletions = deletions or PlannedDeletions(store, stack.root_id, rows=self._inside)
        self._desired = {each.name: each for each in compared.desired_resources}

    def of(self, plan: ResourcePlan) -> list[PlannedResource]:
        """Return what is done to the resources in the stack of a planned resource, in order, under their paths.

        A stack that stays as it is has none.
        """
        kind = kind_of_type(self._types, plan.type)
        if plan.action in (Action.KEEP, Action.REFUSE) or not _has_stack(kind):
            return []
        return [self._from(under(plan.name, each)) for each in self._of(plan)]

    def _from(self, resource: PlannedResource) -> PlannedResource:
        """Return a resource with the path that it has at present, if it is moved."""
        before = self._paths.get(resource.name, "")
        if not before:
            return resource
        reason = "; ".join(filter(None, [f"moved from {before!r}", resource.reason]))
        return replace(resource, moved_from=before, reason=reason)

    def _of(self, plan: ResourcePlan) -> Iterator[PlannedResource]:
        if plan.action == DELETE:
            # What is kept of it becomes a stack of its own.
            if not plan.reason:
                yield from self._deleted([row for row in self._rows(plan.name) if not self._is_chosen(row)])
        elif plan.action in (Action.CREATE, Action.REPLACE) and not self._is_new(plan.name):
            yield from self._replaced(plan.name)
        else:
            yield from self._changed(plan.name)

    def _is_new(self, name: str) -> bool:
        """Return whether the stack of a resource is made for what is moved into it."""
        match = self._compared.matches.get(name)
        return match is not None and match.row is not None and match.row.id in self._new

    def _inside(self, stack_id: str) -> Sequence[ResourceRow]:
        """Return the rows of a nested stack once all is moved."""
        moved = self._moved.inside.get(stack_id)
        return self._store.stacks.resources(stack_id) if moved is None else moved

    def _rows(self, name: str) -> list[ResourceRow]:
        return [row for row in self._compared.rows if row.name == name]

    def _is_chosen(self, row: ResourceRow) -> bool:
        match = self._compared.matches.get(row.name)
        return match is not None and match.row is not None and match.row.id == row.id

    def _deleted(self, rows: list[ResourceRow]) -> Iterator[PlannedResource]:
        for outer in rows:
            yield from self._deletions.of(outer.id)

    def _replaced(self, name: str) -> Iterator[PlannedResource]:
        """Yield what is made in a new stack, and what is deleted in the one whose place it takes."""
        from orchestrator.engine.stack_preview import resources_of

        before = {each.name: each for each in self._deleted(self._rows(name))}
        examined = self._compared.prepared.nested.get(name)
        for preview in resources_of(examined) if examined else ():
            for each in made(preview):
                was_there = before.pop(each.name, None) is not None and each.action == Action.CREATE
                yield replace(each, action=Action.REPLACE.value) if was_there else each
        yield from before.values()

    def _changed(self, name: str) -> Iterator[PlannedResource]:
        match = self._compared.matches[name]
        new = self._new.get(match.row.id) if match.row else None
        child = new.stack if new else self._store.stacks.by_id(match.row.id) if match.row else None
        if child is None:
            yield from self._replaced(name)
            return
        job = self._job(name, child)
        if job is None:
            yield from self._depending(child)
            return
        settings = self._compared.settings
        try:
            compared = compare(
                self._store,
                child,
                job,
                self._types,
                settings,
                context=new.context if new else None,
                given=self._moved.inside.get(child.id),
            )
            run = DryRun(
                compared, self._types, Limits.of(settings), self._store.templates.file, self._clients
            )
            plan = run.plan(f"{child.action}_{child.status}")
        except IsothermError as error:
            # Values that are not known yet may be to blame, too.
            yield from self._depending(child, f"its definition may be refused: {error}")
            return
        inner = NestedPlans(
            self._store,
            child,
            run,
            compared,
            types=self._types,
            clients=self._clients,
            content=self._content,
            moved=self._moved,
            deletions=self._deletions,
        )
        requires = {each.name: sorted(each.requires) for each in compared.desired_resources}
        for each in plan.resources:
            yield planned(each, after=requires.get(each.name, []) if each.action != DELETE else [])
            yield from inner.of(each)

    def _job(self, name: str, child: StackRow) -> NestedJob | None:
        """Return the job that a worker will give a nested stack, as far as it is known; None if it is not."""
        resource = self._run.resource(name)
        if child.action == DELETE or not isinstance(resource, StackResource) or not resource.is_known_before:
            return None
        prepared = self._compared.prepared
        stored = prepared.stored
        resource.stack = replace(self._run.stack, files=LazyFiles(stored.files, self._content))
        resource.wanted = tuple(sorted(self._desired[name].wanted, key=repr))
        outer = next(row for row in self._compared.rows if row.id == child.id)
        try:
            definition = resource.child()
        except (IsothermError, ResourceFailure):
            return None
        job = nested_job(
            definition,
            prepared.template.resources[name],
            stored,
            self._parent,
            resource.stack,
            stack_id=child.id,
            made_as=outer.made_as,
            made_in=outer.made_in,
            hidden=self._run.hidden,
            content=self._content,
        )
        return replace(job, refresh=self._compared.refresh, unprotect=self._compared.unprotect)

    def _depending(self, child: StackRow, reason: str = NOT_KNOWN) -> Iterator[PlannedResource]:
        for row in self._inside(child.id):
            if row.action not in ("INIT", "DELETE"):
                yield PlannedResource(name=row.name, type=row.type, action=Action.LATER.value, reason=reason)

    def _file(self, digest: str) -> str:
        content = self._compared.prepared.files.get(digest)
        return self._store.templates.file(digest) if content is None else content


def _has_stack(kind: type[Resource] | None) -> bool:
    return kind is not None and issubclass(kind, StackResource)
