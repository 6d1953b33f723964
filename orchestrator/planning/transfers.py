"""Moves between stacks of one tree: which rows serve another of its stacks from now on. Pure functions.

A path has the names of the resources that a resource is nested in before its own, separated by slashes. Where something
is moved into a nested stack that does not exist yet, that is made first, without resources of its own: the check of its
resource gives it its definition, as it does with any other nested stack.
"""

import uuid
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from typing import Final

from hooks.values.dataclass import dataclass
from hooks.values.nearest import Nearest
from orchestrator.definition import StackDefinition
from orchestrator.errors import IsothermError, cut
from orchestrator.planning.decision import takes_its_place
from orchestrator.planning.preparation import Prepared, blank_stack
from orchestrator.plugins.properties import PropertyError
from orchestrator.plugins.stack_resource import StackResource
from orchestrator.plugins.validating import typed_properties
from orchestrator.store.stacks.stacks import ResourceRow, StackRow
from orchestrator.store.traversals.templates import StoredTemplate
from orchestrator.store.traversals.transfers import NewNestedStack, Transfer
from orchestrator.template.template import Template
from orchestrator.template.template_resource import kind_of_type
from orchestrator.validation.examiner import Examined
from orchestrator.validation.rules import Types

#: Why nothing can be moved into a stack whose resources its type names.
_OWN_NAMES: Final = "its type names its resources itself, or how many it will have is not known yet"

#: The template of a stack that is made for what is moved into it.
EMPTY: Final = StoredTemplate(source="heat_template_version: 2021-04-16\n", file="(nothing yet)")


@dataclass(frozen=True, slots=True, kw_only=True)
class Tree:
    """An outermost stack, the stacks nested in it, and all their rows that are not deleted."""

    root: StackRow
    stacks: Sequence[StackRow]
    rows: Sequence[ResourceRow]


class CannotMove(Exception):
    """A path leads to no place that a resource can be moved to; the text says why, ``hint`` what to do."""

    def __init__(self, message: str, hint: str = "") -> None:
        self.hint = hint
        super().__init__(message)


@dataclass(frozen=True, slots=True, kw_only=True)
class Level:
    """The definition of one stack of a tree, as far as it is known before the stack has it."""

    template: Template
    types: Mapping[str, str]
    nested: Mapping[str, Examined]
    #: The stack without values of resources.
    blank: StackDefinition


@dataclass(frozen=True, slots=True, kw_only=True)
class Place:
    """A place for a resource: its stack, and its name there."""

    stack: StackRow
    name: str
    #: The type that the definition gives it; None if its condition does not hold.
    type: str | None


@dataclass(frozen=True, slots=True, kw_only=True)
class Step:
    """One move: the rows of a resource, and the place that they are moved to, with its path."""

    rows: Sequence[ResourceRow]
    place: Place
    path: str


class Family:
    """A tree of stacks, and the definition that its outermost stack is to have: finds rows and places by path."""

    def __init__(self, tree: Tree, prepared: Prepared, types: Types, renamed: Mapping[str, str]) -> None:
        """Keep the arguments; ``renamed`` are the present names of resources of the root, by those from now on."""
        self.root, self._types, self._renamed = tree.root, types, renamed
        self._top = Level(
            template=prepared.template,
            types=prepared.types,
            nested=prepared.nested,
            blank=blank_stack(prepared)[1],
        )
        self._nearest = Nearest()
        self._stacks = {each.id: each for each in tree.stacks if each.deleted_at is None}
        self._present: dict[str, dict[str, list[ResourceRow]]] = {}
        self._by_id = {row.id: row for row in tree.rows}
        for row in tree.rows:
            self._present.setdefault(row.stack_id, {}).setdefault(row.name, []).append(row)
        #: The rows that are moved, by the stack and name that they get.
        self._arrived: dict[tuple[str, str], ResourceRow] = {}
        #: The stacks that are made for what is moved into them, by id.
        self.made: dict[str, NewNestedStack] = {}

    def stack(self, stack_id: str) -> StackRow:
        """Return a stack that is there, or is made."""
        made = self.made.get(stack_id)
        return made.stack if made else self._stacks[stack_id]

    def rows_at(self, path: str) -> list[ResourceRow]:
        """Return the rows that a resource has at present, without those of what is deleted."""
        *outer, name = path.split("/")
        stack_id = self.root.id
        for each in outer:
            row = in_force(self._rows(stack_id, each))
            if row is None or row.id not in self._stacks:
                return []
            stack_id = row.id
        return self._rows(stack_id, name)

    @property
    def rows(self) -> Sequence[ResourceRow]:
        """All rows of the tree that are not deleted, but those of stacks that are."""
        return [
            row
            for stack_id, by_name in self._present.items()
            if stack_id in self._stacks
            for rows in by_name.values()
            for row in rows
            if row.action not in ("INIT", "DELETE")
        ]

    def take(self, step: Step) -> None:
        """Have paths lead into a moved stack where it will be."""
        row = in_force(step.rows)
        if row is not None:
            self._arrived[step.place.stack.id, step.place.name] = row

    def taking_part(self, step: Step) -> list[StackRow]:
        """Return the stacks that a move goes out of and into."""
        return [*(self.stack(row.stack_id) for row in step.rows), step.place.stack]

    def has_place(self, path: str) -> str:
        """Return what still has a resource of a path by the new definition, in words; empty if nothing has."""
        try:
            self.place_of(path, makes=False)
        except CannotMove:
            return ""
        return "the template" if "/" not in path else f"what is in {cut(path.rpartition('/')[0])!r}"

    def rows_after(self, moved: Mapping[str, ResourceRow]) -> dict[str, list[ResourceRow]]:
        """Return the rows of every stack as moves leave them; ``moved`` are the moved ones, by id."""
        after: dict[str, list[ResourceRow]] = {each: [] for each in (*self._stacks, *self.made)}
        for by_name in self._present.values():
            for each in (each for rows in by_name.values() for each in rows):
                row = moved.get(each.id, each)
                if row.id not in self.made and row.stack_id in after:
                    after[row.stack_id].append(row)
        for made in self.made.values():
            after[made.row.stack_id].append(made.row)
        return after

    def rows_of(self, place: Place) -> list[ResourceRow]:
        """Return the rows that are at a place already."""
        return self._rows(place.stack.id, place.name)

    def _rows(self, stack_id: str, name: str) -> list[ResourceRow]:
        rows = self._present.get(stack_id, {}).get(name, ())
        return [row for row in rows if row.action not in ("INIT", "DELETE")]

    def path_of(self, row: ResourceRow) -> str:
        """Return the present path of a row."""
        names, stack = [row.name], self._stacks[row.stack_id]
        while stack.parent_id is not None:
            names.insert(0, self._by_id[stack.parent_resource or ""].name)
            stack = self._stacks[stack.parent_id]
        return "/".join(names)

    def place_of(self, path: str, *, makes: bool = True) -> Place:
        """Return the place that a path leads to by the new definition; unless ``makes``, in a stack that exists.

        Raises:
            CannotMove: it leads to none.
        """
        *outer, name = path.split("/")
        stack, level, wanted = self.root, self._top, None
        inside: list[str] = []
        for each in outer:
            inside.append(each)
            stack, level, wanted = self._entered(stack, level, each, "/".join(inside), makes=makes)
        if wanted is None:
            if name not in level.template.draft.resource_names:
                whose = f"the template of {cut('/'.join(outer))!r}" if outer else "the template"
                hint = self._nearest.hint(name, level.template.draft.resource_names)
                raise CannotMove(f"{whose} has no resource {cut(name)!r}", hint)
            return Place(stack=stack, name=name, type=level.types.get(name))
        if name not in wanted:
            hint = f"it will have {', '.join(sorted(wanted)[:5])}" if wanted else _OWN_NAMES
            raise CannotMove(f"{cut('/'.join(outer))!r} will have no resource {cut(name)!r}", hint)
        return Place(
            stack=stack, name=name, type=level.types.get(name, next(iter(level.types.values()), None))
        )

    def _entered(
        self, outer: StackRow, level: Level, name: str, path: str, *, makes: bool
    ) -> tuple[StackRow, Level, frozenset[str] | None]:
        """Return the stack that a resource is, its definition, and the names of its resources if its type gives them.

        Raises:
            CannotMove: it is none, or its definition is not known yet.
        """
        if name not in level.types:
            names = level.template.draft.resource_names
            raise CannotMove(f"there is no resource {cut(path)!r}", self._nearest.hint(name, names))
        type_name = level.types[name]
        kind = kind_of_type(self._types, type_name)
        if kind is None or not issubclass(kind, StackResource):
            raise CannotMove(f"{cut(path)!r} is no nested stack and no group, but of the type {type_name}")
        inner = level.nested.get(name)
        if inner is None:
            hint = "update the stack without this move first"
            raise CannotMove(f"what is in {cut(path)!r} is known only once it is made", hint)
        before = self._renamed.get(name, name) if outer.id == self.root.id else name
        row = self._arrived.get((outer.id, name)) or in_force(self._rows(outer.id, before))
        if row is not None and not self._goes_on(row, type_name, kind):
            # Another one takes its place.
            row = None
        wanted = self._wanted(level, name, kind, row)
        stack = self._stacks.get(row.id) if row else None
        if stack is not None and stack.action == "DELETE":
            stack = None
        below = Level(template=inner.template, types=inner.types, nested=inner.nested, blank=inner.blank)
        if stack is None and not makes:
            raise CannotMove(f"{cut(path)!r} does not exist yet")
        return stack or self._make(outer, name, type_name, row), below, wanted

    def _goes_on(self, row: ResourceRow, wanted: str, kind: type[StackResource]) -> bool:
        if row.type == wanted:
            return True
        before = kind_of_type(self._types, row.type)
        return takes_its_place((row.type, wanted), before, kind, row.properties or ())

    @staticmethod
    def _wanted(
        level: Level, name: str, kind: type[StackResource], row: ResourceRow | None
    ) -> frozenset[str] | None:
        try:
            given = typed_properties(kind, level.template.resources[name].resolve_properties(level.blank))
        except (IsothermError, PropertyError):
            given = {}
        names = kind.names_wanted(given, row.data if row else {})
        return None if names is None else frozenset(names)

    def _make(self, outer: StackRow, name: str, type_name: str, row: ResourceRow | None) -> StackRow:
        for made in self.made.values():
            if (made.row.stack_id, made.row.name) == (outer.id, name):
                return made.stack
        new = NewNestedStack.within(
            outer,
            name,
            type_name,
            row_id=row.id if row else str(uuid.uuid4()),
            template_id=EMPTY.id,
            has_row=row is not None,
        )
        self.made[new.stack.id] = new
        return new.stack


def in_force(rows: Iterable[ResourceRow]) -> ResourceRow | None:
    """Return the row of a resource that is in force; None if it has none."""
    return max(rows, key=lambda row: (row.replaced_by is None, row.created_at), default=None)


def transfer_of(family: Family, row: ResourceRow, step: Step, *, is_root_complete: bool) -> Transfer:
    """Return the move of a row."""
    root, before, place, path = family.root, family.path_of(row), step.place, step.path
    completed = root.completed_template_id
    former = row.former_names
    if place.name != row.name:
        former = tuple(dict.fromkeys((*former, row.name)))
    home = home_of(row, root, before, is_root_complete=is_root_complete)
    if home == path:
        home = ""
    # Within the outermost stack, a name says it all.
    is_name = bool(home) and place.stack.id == root.id and "/" not in home
    source = family.stack(row.stack_id)
    return Transfer(
        row_id=row.id,
        stack_id_before=row.stack_id,
        name_before=row.name,
        path_before=before,
        updated_at=row.updated_at,
        lock_traversal=row.lock_traversal,
        stack_id=place.stack.id,
        name=place.name,
        path=path,
        former=former,
        made_stack_id=row.made_stack_id or source.id,
        made_stack_name=row.made_stack_name or source.name,
        is_bare=not row.properties,
        complete_name=home if is_name else None,
        complete_template_id=completed if home and not is_name else None,
        complete_path=home if home and not is_name else None,
    )


def home_of(row: ResourceRow, root: StackRow, path: str, *, is_root_complete: bool) -> str:
    """Return the path that a row with the present ``path`` has by the last complete definition; empty for none."""
    completed = root.completed_template_id
    if completed is None:
        return ""
    if row.complete_path is not None and row.complete_template_id == completed:
        return row.complete_path
    if row.stack_id == root.id and row.complete_name and not is_root_complete:
        return row.complete_name
    return path


def row_of(row: ResourceRow, transfer: Transfer) -> ResourceRow:
    """Return a row as it is once it is moved."""
    return replace(row, **transfer.columns, transferred_at=row.updated_at)
