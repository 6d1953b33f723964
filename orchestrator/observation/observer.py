"""Reads what the pages show, from the store alone."""

from dataclasses import dataclass

from orchestrator.observation.definitions import DefinitionView, definition_of
from orchestrator.observation.facts import Facts
from orchestrator.observation.graph import picture_of
from orchestrator.observation.heads import HeadView, head_of
from orchestrator.observation.timeline import timeline_of
from orchestrator.observation.views import GraphPicture, OperationView, StackPage, Timeline
from orchestrator.settings import Settings
from orchestrator.showing import Showing
from orchestrator.store.stacks import StackRow
from orchestrator.store.store import Store


@dataclass(frozen=True, slots=True, kw_only=True)
class StackQuery:
    """Which stacks a list is to have, and in which order."""

    #: A part of the name or of a tag, or a whole id.
    search: str = ""
    #: As ``CREATE_FAILED``; empty for all.
    states: tuple[str, ...] = ()
    #: name, state, created, updated or last_event.
    sort: str = "updated"
    descending: bool = True
    offset: int = 0
    limit: int = 50
    #: Whether those in other stacks are among them, and those that are deleted.
    nested: bool = False
    deleted: bool = False


class Observer:
    """Pictures of stacks, for faces: every name is looked up in the settings' project; safe for threads."""

    def __init__(self, settings: Settings, store: Store) -> None:
        self.settings = settings
        self._store = store
        #: What is shown of stacks besides how they go.
        self.showing = Showing(settings, store)

    def stacks(self, query: StackQuery) -> StackPage:
        """Return one page of the list of stacks.

        Raises:
            InvalidInput: there is no such order, or a number is out of its bounds.
        """
        return self._store.stack_pages.page(
            project=self.settings.project,
            search=query.search,
            states=query.states,
            sort=query.sort,
            descending=query.descending,
            offset=query.offset,
            limit=query.limit,
            nested=query.nested,
            deleted=query.deleted,
        )

    def facts(self, name: str, traversal_id: str | None = None) -> Facts:
        """Return one operation on a stack, which may be deleted, as it is now; None for the one in force.

        Raises:
            NotFound: there is no such stack, the nearest name is given; or it has no such traversal.
        """
        stack = self._past(name)
        return self._store.observations.facts(stack.id, traversal_id or stack.traversal_id)

    def operation(self, name: str, traversal_id: str | None = None) -> OperationView:
        """Return the head of one operation on a stack, as in :meth:`facts`."""
        stack = self._past(name)
        return self._store.observations.operation(stack.id, traversal_id or stack.traversal_id)

    def head(self, name: str, traversal_id: str | None = None) -> HeadView:
        """Return the head of pages about one operation, as in :meth:`facts`."""
        cursor, as_of = self.moment()
        stack = self._past(name)
        operation = self._store.observations.operation(stack.id, traversal_id or stack.traversal_id)
        return head_of(
            operation,
            self._store.observations.tally(operation.traversal_id),
            tags=stack.tags,
            deleted_at=stack.deleted_at,
            cursor=cursor,
            as_of=as_of,
        )

    def graph(
        self,
        name: str,
        *,
        traversal_id: str | None = None,
        part: str | None = None,
        focus: str | int | None = None,
        depth: int = 1,
    ) -> GraphPicture:
        """Return the graph of one operation on a stack, as in :meth:`facts`, with positions.

        ``part`` is ``all`` or ``groups``; None for all where that can be looked at, else groups. With ``focus``, a
        resource's name or a vertex' number, it is what is at most ``depth`` edges away from that.

        Raises:
            NotFound: there is no such stack, traversal or resource; the nearest name is given.
            InvalidInput: there is no such part, or the depth is negative.
        """
        return picture_of(self.facts(name, traversal_id), part=part, focus=focus, depth=depth)

    def timeline(self, name: str, *, traversal_id: str | None = None) -> Timeline:
        """Return when what was done in one operation on a stack, as in :meth:`facts`."""
        return timeline_of(self.facts(name, traversal_id))

    def definition(
        self, name: str, traversal_id: str | None = None, *, shows_values: bool = False
    ) -> DefinitionView:
        """Return what a stack was to be by one operation, as in :meth:`facts`; values only where they are asked for."""
        stack = self._past(name)
        traversal = self._store.past.traversal(stack.id, traversal_id or stack.traversal_id)
        return definition_of(self._store, traversal, shows_values=shows_values)

    def stacks_in(self, name: str) -> dict[str, str]:
        """Return the ids of the stacks in a stack, those in them left out, by the ids of the resources they are."""
        children = self._store.families.children(self._past(name).id)
        return {child.parent_resource: child.id for child in children if child.parent_resource}

    def moment(self) -> tuple[int, float]:
        """Return the id up to which no event is missing, and the time by the database's clock."""
        return self._store.observations.moment()

    def _past(self, name: str) -> StackRow:
        return self._store.past.stack(name, project=self.settings.project)
