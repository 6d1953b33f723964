"""Moves between stacks: rows that another stack of their tree has from now on, and the stacks made for them."""

import uuid
from collections.abc import Mapping
from dataclasses import field
from typing import Any, Final

from hooks.values.dataclass import dataclass
from orchestrator.model.names import name_of_nested
from orchestrator.store.stacks.stacks import ResourceRow, StackRow

#: Why a resource is in progress whose stack is made for what is moved into it.
MADE_FOR: Final = "resources are moved into it"


@dataclass(frozen=True, slots=True, kw_only=True)
class Transfer:
    """A row that another stack of its tree has from now on, or the same one nested in others, by another name."""

    row_id: str
    #: Where it is, and where it is from now on.
    stack_id_before: str
    name_before: str
    path_before: str
    #: When it was changed last, and the traversal that works on it, as it was planned by.
    updated_at: float
    lock_traversal: str | None
    stack_id: str
    name: str
    path: str
    #: The names that it had before, oldest first.
    former: tuple[str, ...]
    #: The stack that its object was made in.
    made_stack_id: str
    made_stack_name: str
    #: Whether it has no properties. Of others, the definition that was applied is forgotten: its values are shown by
    #: what another stack hides.
    is_bare: bool = False
    #: Where a rollback returns it to, as of :class:`orchestrator.store.stacks.stacks.ResourceRow`.
    complete_name: str | None = None
    complete_template_id: str | None = None
    complete_path: str | None = None

    @property
    def columns(self) -> dict[str, Any]:
        """The columns of the row that a move changes, except for its times, with their new values."""
        is_elsewhere = self.stack_id != self.made_stack_id
        return {
            "stack_id": self.stack_id,
            "name": self.name,
            "former_names": self.former,
            "made_stack_id": self.made_stack_id if is_elsewhere else None,
            "made_stack_name": self.made_stack_name if is_elsewhere else None,
            "complete_name": self.complete_name,
            "complete_template_id": self.complete_template_id,
            "complete_path": self.complete_path,
        }


@dataclass(frozen=True, slots=True, kw_only=True)
class NewNestedStack:
    """A nested stack that is made, complete and without resources, for what is moved into it.

    The check of its resource then gives it its definition, as if an earlier attempt had begun to make it.
    """

    row: ResourceRow
    stack: StackRow
    #: Whether the row of its resource is there already, without a stack.
    has_row: bool

    @classmethod
    def within(
        cls, outer: StackRow, name: str, type_name: str, *, row_id: str, template_id: str, has_row: bool
    ) -> "NewNestedStack":
        """Return the stack of a resource of ``outer``; ``template_id`` is a stored template without resources."""
        row = ResourceRow(
            id=row_id,
            stack_id=outer.id,
            name=name,
            type=type_name,
            action="CREATE",
            status="IN_PROGRESS",
            reason=MADE_FOR,
            physical_id=row_id,
            reference_id=None,
            properties=None,
            definition_hash=None,
            attributes=(),
            requires=(),
            replaced_by=None,
            metadata={},
            metadata_version=0,
            metadata_hash=None,
            data={},
            unhealthy=False,
            template_id=outer.template_id,
            lock_traversal=None,
            created_at=outer.updated_at,
            updated_at=outer.updated_at,
        )
        stack = StackRow(
            id=row_id,
            name=name_of_nested(outer.name, name, row_id),
            project=outer.project,
            action="CREATE",
            status="COMPLETE",
            reason="",
            traversal_id=str(uuid.uuid4()),
            template_id=template_id,
            parent_id=outer.id,
            parent_resource=row_id,
            root_id=outer.root_id,
            depth=outer.depth + 1,
            completed_template_id=template_id,
            timeout_minutes=outer.timeout_minutes,
            rollback=False,
            created_at=outer.updated_at,
            updated_at=outer.updated_at,
            deleted_at=None,
        )
        return cls(row=row, stack=stack, has_row=has_row)

    @property
    def context(self) -> dict[str, Any]:
        """The context of its first traversal."""
        return {
            "id": self.stack.id,
            "name": self.stack.name,
            "project": self.stack.project,
            "parameters": {},
            "hidden": [],
        }


@dataclass(frozen=True, slots=True, kw_only=True)
class Transfers:
    """The moves between stacks with which an operation begins."""

    rows: tuple[Transfer, ...] = ()
    made: tuple[NewNestedStack, ...] = ()
    #: The traversals of the nested stacks that take part, by stack, as they were planned by.
    expected: Mapping[str, str] = field(default_factory=dict)
    #: Whether operations on these may be under way: they end, as they do in a rollback anyway.
    interrupts: bool = False
    #: The rows that the outermost stack gets, as it has them.
    arrivals: tuple[ResourceRow, ...] = ()

    @property
    def arriving(self) -> dict[str, str]:
        """The present paths of the resources that the outermost stack gets, by their names there."""
        return {path: before for path, before in self.paths.items() if "/" not in path}

    @property
    def paths(self) -> dict[str, str]:
        """The present paths, by those from now on."""
        return {each.path: each.path_before for each in self.rows}
