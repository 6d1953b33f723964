"""The observer: reads of stacks and operations for the dashboard's pages, from the store alone."""

from dataclasses import asdict, dataclass, replace
from typing import Final

from orchestrator.config.limits import Limits
from orchestrator.config.settings import Settings
from orchestrator.errors import NotFound
from orchestrator.queries.changes import changes_of
from orchestrator.queries.comparison import comparison_of
from orchestrator.queries.definition_source import source_of
from orchestrator.queries.definitions import (
    DefinitionView,
    EnvironmentView,
    definition_of,
    environments_of,
    file_of,
)
from orchestrator.queries.details import Recorded, details_of, node_of
from orchestrator.queries.failure import failure_of
from orchestrator.queries.graph import MOST_VERTICES, picture_of
from orchestrator.queries.history import traversal_view
from orchestrator.queries.recent import RecentFacts
from orchestrator.queries.resource_page import resource_page
from orchestrator.queries.runs import runs_of
from orchestrator.queries.stacks import StackQueries
from orchestrator.queries.timeline import timeline_of
from orchestrator.queries.usual import MOST, usual_of
from orchestrator.store.stacks.stacks import StackRow
from orchestrator.store.store import Store
from orchestrator.views.comparisons import Comparison
from orchestrator.views.facts import Facts, NodeFact
from orchestrator.views.heads import HeadView, TreeCounts
from orchestrator.views.operations import (
    ChangesView,
    FailureView,
    GraphPicture,
    OperationView,
    ProcessView,
    ResourceDetails,
    StackPage,
    StuckView,
    Timeline,
)
from orchestrator.views.resource_page import ResourcePage
from orchestrator.views.runs import RunsView
from orchestrator.views.states import is_under_way
from orchestrator.views.usual import UsualView

#: The most operations on a nested stack that are searched for the one that belonged to an outer operation.
_LOOKED_THROUGH: Final = 20


@dataclass(frozen=True, slots=True, kw_only=True)
class StackQuery:
    """The filter, order and page of a list of stacks."""

    #: A part of the name or of a tag, or a whole id.
    search: str = ""
    #: A part of the name, or a pattern with ``*`` and ``?``, in any case.
    name: str = ""
    #: Tags that a stack must have, all of them.
    tags: tuple[str, ...] = ()
    #: Ids; empty for all.
    ids: tuple[str, ...] = ()
    #: How long ago the moment was: created, begun (of the operation in force) or updated; None for any time.
    moment: str = "begun"
    over_seconds: float | None = None
    within_seconds: float | None = None
    #: States such as ``CREATE_FAILED``; empty for all.
    states: tuple[str, ...] = ()
    #: name, state, created, updated or last_event.
    sort: str = "updated"
    descending: bool = True
    offset: int = 0
    limit: int = 50
    #: Whether only those that an update with targets has converged in part.
    partial: bool = False
    #: Whether nested and deleted stacks are included.
    nested: bool = False
    deleted: bool = False


class Observer:
    """Reads of stacks and operations, by names in the settings' project; threads may share it.

    A stack, traversal or resource that does not exist raises NotFound, with the nearest name.
    """

    def __init__(self, settings: Settings, store: Store, *, fresh_seconds: float = 0.0) -> None:
        """Prepare to read; facts are reused for ``fresh_seconds`` while there are no new events."""
        self.settings = settings
        self._facts = RecentFacts(
            store.observations.facts, store.observations.horizon.look, fresh_seconds=fresh_seconds
        )
        self._store = store
        #: The other queries of stacks.
        self.queries = StackQueries(settings, store)

    def stacks(self, query: StackQuery) -> StackPage:
        """Return one page of the list of stacks.

        Raises:
            InvalidInput: there is no such order, or a number is out of bounds.
        """
        page = self._store.stack_pages.page(project=self.settings.project, **asdict(query))
        usual = self._usual({row.id: row.action for row in page.rows if row.ended_at is None})
        rows = (
            replace(row, usual_seconds=found.seconds) if (found := usual.get(row.id)) else row
            for row in page.rows
        )
        return replace(page, rows=tuple(rows)) if usual else page

    def facts(self, name: str, traversal_id: str | None = None) -> Facts:
        """Return the facts of one operation on a stack, which may be deleted; None for the operation in force."""
        stack = self._past(name)
        return self._facts(stack.id, traversal_id or stack.traversal_id)

    def operation(self, name: str, traversal_id: str | None = None) -> OperationView:
        """Return one operation on a stack, as in :meth:`facts`."""
        stack = self._past(name)
        return self._store.observations.operation(stack.id, traversal_id or stack.traversal_id)

    def head(self, name: str, traversal_id: str | None = None) -> HeadView:
        """Return the head of pages about one operation on a stack, as in :meth:`facts`."""
        stack = self._past(name)
        head = self._store.observations.head(stack.id, traversal_id or stack.traversal_id)
        tally = {name: getattr(head.tally, name) for name in ("total", "done", "counts")}
        tree = self._tree(stack) if head.operation.in_force else None
        is_now = head.operation.in_force and is_under_way(head.operation)
        usual = self._usual({stack.id: head.operation.action}).get(stack.id) if is_now else None
        its = {name: getattr(stack, name) for name in ("tags", "protected", "partial", "deleted_at")}
        return HeadView.of(head, **tally, **its, tree=tree, usual=usual)

    def _usual(self, actions: dict[str, str]) -> dict[str, UsualView]:
        """Return how long an operation with this action usually takes, by stacks of which enough is known."""
        taken = self._store.past.durations(actions, limit=MOST) if actions else {}
        usual = {each: usual_of(seconds) for each, seconds in taken.items()}
        return {each: found for each, found in usual.items() if found is not None}

    def _tree(self, stack: StackRow) -> TreeCounts | None:
        """Return the counts of a stack with those nested in it; None if there are none."""
        inside = self._inside(stack)
        if not inside:
            return None
        operations = {each.traversal_id: each.status == "IN_PROGRESS" for each in (stack, *inside)}
        tally = self._store.observations.tally_of(operations)
        return TreeCounts(stacks=len(inside), total=tally.total, done=tally.done, counts=dict(tally.counts))

    def graph(
        self,
        name: str,
        *,
        traversal_id: str | None = None,
        part: str | None = None,
        focus: str | int | None = None,
        depth: int = 1,
        most: int = MOST_VERTICES,
    ) -> GraphPicture:
        """Return the graph of one operation on a stack, as in :meth:`facts`.

        ``part`` is ``all`` or ``groups``; None for all, or for groups of more than ``most`` resources. With ``focus``,
        a resource's name or a vertex's number, the graph is that of its neighbours within ``depth`` edges.

        Raises:
            InvalidInput: there is no such part, or the depth is negative.
        """
        return picture_of(self.facts(name, traversal_id), part=part, focus=focus, depth=depth, most=most)

    def timeline(self, name: str, *, traversal_id: str | None = None) -> Timeline:
        """Return the timeline of one operation on a stack, as in :meth:`facts`."""
        return timeline_of(self.facts(name, traversal_id))

    def runs(self, name: str, *, after: str = "", limit: int) -> RunsView:
        """Return a stack's last operations side by side, at most ``limit``; with ``after``, those older than that one.

        The stack may be deleted.
        """
        stack = self._past(name)
        before = self._store.past.traversal(stack.id, after) if after else None
        rows = self._store.past.traversals(stack.id, before=before, limit=limit + 1)
        shown = [traversal_view(row, stack) for row in rows[:limit]]
        facts = self._store.runs.facts(stack.id, [each.id for each in shown])
        return runs_of(shown, facts, more=len(rows) > limit)

    def failure(self, name: str, *, traversal_id: str | None = None) -> FailureView:
        """Return why one operation on a stack failed, as in :meth:`facts`; without roots, nothing failed.

        The likely root is followed into nested stacks. That of a rollback has the failure of what it takes back.
        """
        facts = self.facts(name, traversal_id)
        view = failure_of(facts, self._failed_nested)
        if view.operation.action != "ROLLBACK":
            return view
        stack_id = view.operation.stack_id
        rollback = self._store.past.traversal(stack_id, view.operation.traversal_id)
        before = self._store.past.rolled_back(stack_id, rollback)
        if before is None:
            return view
        taken_back = failure_of(self._facts(stack_id, before.id), self._failed_nested)
        return replace(view, rolled_back=taken_back)

    def details(self, name: str, no: int, *, traversal_id: str | None = None) -> ResourceDetails:
        """Return the details of one resource in an operation on a stack, as in :meth:`facts`."""
        facts = self.facts(name, traversal_id)
        return details_of(facts, no, self._recorded(facts, node_of(facts, no)))

    def resource_page(
        self, name: str, resource: str, *, traversal_id: str | None = None, shows_values: bool = False
    ) -> ResourcePage:
        """Return the page of one resource of a stack, which may be deleted; values only with ``shows_values``.

        With ``traversal_id`` it is the resource's part in that operation, else in the operation in force.
        """
        stack = self._past(name)
        return resource_page(
            self, self._store, stack, resource, traversal_id=traversal_id, shows_values=shows_values
        )

    def changes(self, name: str, traversal_id: str, *, shows_values: bool = False) -> ChangesView:
        """Return the changes of one operation's definition to the one before it; the stack may be deleted.

        Values of parameters and contents of files are shown only with ``shows_values``, and hidden ones never.
        """
        stack = self._past(name)
        operation = self._store.observations.operation(stack.id, traversal_id)
        after = self._store.past.traversal(stack.id, traversal_id)
        earlier = self._store.past.traversals(stack.id, before=after, limit=1)
        return changes_of(
            operation,
            source_of(self._store, self.settings, earlier[0]) if earlier else None,
            source_of(self._store, self.settings, after),
            self._store.templates.file,
            shows_values=shows_values,
        )

    def compare(self, name: str, *, a: str = "", b: str = "", shows_values: bool = False) -> Comparison:
        """Return two operations of a stack side by side; the stack may be deleted.

        Without ``b`` it is the operation in force, without ``a`` the one before ``b``. Values are shown as in
        :meth:`changes`.

        Raises:
            NotFound: the stack has no such operation, or none before ``b``.
        """
        stack = self._past(name)
        second = self._store.past.traversal(stack.id, b or stack.traversal_id)
        if a:
            first = self._store.past.traversal(stack.id, a)
        else:
            earlier = self._store.past.traversals(stack.id, before=second, limit=1)
            if not earlier:
                raise NotFound("there is no earlier operation to compare it with")
            first = earlier[0]
        sides = [timeline_of(self._facts(stack.id, each.id)) for each in (first, second)]
        changes = changes_of(
            sides[1].operation,
            source_of(self._store, self.settings, first),
            source_of(self._store, self.settings, second),
            self._store.templates.file,
            shows_values=shows_values,
        )
        return replace(comparison_of(*sides), changes=changes)

    def _recorded(self, facts: Facts, node: NodeFact) -> Recorded:
        fragment = self._store.histories.of_node(facts.operation.traversal_id, node.no)
        taken = self._taken(facts, node)
        if node.resource_id is None:
            return Recorded(fragment=fragment, taken=taken)
        if not (fragment or {}).get("definition"):
            # Nodes of deletions, and of operations on resources as they are, have no definition of their own.
            fragment = self._store.histories.applied(node.resource_id)
        row = self._store.stacks.row(node.resource_id)
        if row is None:
            return Recorded(fragment=fragment, taken=taken)
        return Recorded(fragment=fragment, created_at=row.created_at, updated_at=row.updated_at, taken=taken)

    def _taken(self, facts: Facts, node: NodeFact) -> list[float]:
        """Return how long the same action on a resource took before; nothing of a past operation."""
        operation = facts.operation
        if not operation.in_force:
            return []
        return self._store.past.resource_durations(
            operation.stack_id, node.key, node.action, but=operation.traversal_id, limit=MOST
        )

    def _failed_nested(self, stack_id: str, outer: Facts) -> Facts | None:
        """Return the facts of a nested stack's operation that failed during an outer one; None if none did."""
        begun_at, ended_at = outer.operation.begun_at, outer.operation.ended_at
        for row in self._store.past.traversals(stack_id, limit=_LOOKED_THROUGH):
            if row.ended_at is not None and row.ended_at < begun_at:
                return None
            is_later = ended_at is not None and row.created_at > ended_at
            if row.status == "FAILED" and not is_later:
                return self._store.observations.facts(stack_id, row.id)
        return None

    def definition(
        self, name: str, traversal_id: str | None = None, *, shows_values: bool = False
    ) -> DefinitionView:
        """Return the definition of one operation on a stack, as in :meth:`facts`; values only with ``shows_values``."""
        stack = self._past(name)
        traversal = self._store.past.traversal(stack.id, traversal_id or stack.traversal_id)
        return definition_of(self._store, traversal, shows_values=shows_values)

    def environments(self, name: str, traversal_id: str | None = None) -> tuple[EnvironmentView, ...]:
        """Return the environments of one operation on a stack, as in :meth:`facts`, without hidden values."""
        stack = self._past(name)
        traversal = self._store.past.traversal(stack.id, traversal_id or stack.traversal_id)
        return environments_of(self._store, traversal, Limits.of(self.settings))

    def file(self, name: str, file: str, traversal_id: str | None = None) -> str:
        """Return the content of a file of one operation's definition, which may hold secrets."""
        stack = self._past(name)
        traversal = self._store.past.traversal(stack.id, traversal_id or stack.traversal_id)
        return file_of(self._store, traversal, file)

    def stacks_in(self, name: str) -> dict[str, str]:
        """Return the ids of the stacks nested in a stack, at any depth, by the ids of their resources."""
        inside = self._inside(self._past(name))
        return {each.parent_resource: each.id for each in inside if each.parent_resource}

    def _inside(self, stack: StackRow) -> list[StackRow]:
        """Return the stacks nested in a stack, at any depth."""
        ids, inside = {stack.id}, []
        # The oldest come first, and so does a stack before those nested in it.
        for each in self._store.families.in_tree(stack.root_id):
            if each.parent_id in ids:
                ids.add(each.id)
                inside.append(each)
        return inside

    def processes(self) -> tuple[ProcessView, ...]:
        """Return the engine's processes, live ones first, with their work in the settings' project."""
        return self._store.processes.all(project=self.settings.project)

    def stuck(self) -> tuple[StuckView, ...]:
        """Return the project's stuck work, the longest first."""
        return self._store.stuck.all(project=self.settings.project)

    def moment(self) -> tuple[int, float]:
        """Return the id up to which no event is missing, and the database's time."""
        return self._store.observations.moment()

    def _past(self, name: str) -> StackRow:
        return self._store.past.stack(name, project=self.settings.project)
