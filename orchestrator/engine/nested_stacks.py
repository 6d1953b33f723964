"""Nested stacks, as their parent resources create, change, query and delete them."""

import math
import uuid
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import replace
from functools import cached_property
from typing import Any, Final, Protocol

from hooks.values.dataclass import dataclass
from orchestrator.config.settings import Settings
from orchestrator.definition import AttributePath, LazyFiles, StackDefinition
from orchestrator.engine.child_secrets import ChildSecrets
from orchestrator.errors import Conflict, InvalidInput
from orchestrator.model.messages import OPERATE_JOBS, DeleteJob, EnvironmentSource, OperateJob, SnapshotJob
from orchestrator.model.names import name_of_nested
from orchestrator.model.nested_stack import AtRest, Family, Fence, NestedJob, Nesting
from orchestrator.planning.rows import made_as_of, made_in_of
from orchestrator.planning.stored_templates import load_template
from orchestrator.plugins.resource import Resource
from orchestrator.plugins.stack_resource import Child, ChildState, Member
from orchestrator.plugins.steps import ResourceFailure
from orchestrator.queries.outputs import outputs_of
from orchestrator.store.nodes.claims import Claim
from orchestrator.store.stacks.snapshots import SnapshotRow
from orchestrator.store.stacks.stacks import ResourceRow, StackRow
from orchestrator.store.store import Store
from orchestrator.store.traversals.new_traversal import Fenced
from orchestrator.store.traversals.templates import StoredTemplate
from orchestrator.template.definitions import ResourceDefinition
from orchestrator.template.generated import generated_template
from orchestrator.template.locations import is_template, location_of
from orchestrator.template.nested_templates import parent_of
from orchestrator.template.template import Template
from orchestrator.views.stacks import OutputView

#: How many problems of a child's definition the parent resource's reason lists.
_SHOWN_PROBLEMS: Final = 3
#: The timeout of a child whose parent has no time left: it times out at once, as any other stack would.
_LEAST_MINUTES: Final = 0.001


class ChangesStacks(Protocol):
    """Begins operations on nested stacks; :class:`orchestrator.engine.coordinator.Coordinator` implements it."""

    def become(self, job: NestedJob, *, snapshot: SnapshotRow | None = None) -> str:
        """Create or update a nested stack; return the traversal's id."""

    def snapshot(
        self, job: SnapshotJob, *, inner_id: str | None = None, fence: Fence | AtRest | None = None
    ) -> str:
        """Begin to take a snapshot of a nested stack; return its id."""

    def take_over(self, job: NestedJob, entries: Mapping[str, object]) -> str:
        """Make a nested stack of existing objects; return the traversal's id."""

    def operate(self, job: OperateJob, *, fence: Fence | AtRest) -> str:
        """Begin to check, suspend or resume a nested stack; return its id."""

    def delete(self, job: DeleteJob, *, inner: bool) -> str:
        """Begin the deletion of a nested stack; return its id."""


class TakenOver(ResourceFailure):
    """Nothing was begun: another attempt holds the resource by now."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Occasion:
    """The operation and the claim under which a parent resource changes its stack."""

    resource_id: str
    #: The stack of the parent resource.
    stack_id: str
    #: The name under which the resource was made, before it was moved: the name of its stack has it, and keeps it.
    made_as: str
    #: The id and name of the stack in which it was made, where that is another: its name has that, too.
    made_in: tuple[str, str] | None
    #: The stored template with the environments and files of its definition.
    template_id: str
    #: The id of the operation.
    operation: str
    #: How long the operation may still take.
    seconds_left: float
    fence: Fence | AtRest
    #: Whether a delete abandons the objects.
    abandons: bool = False
    #: Whether an update compares the real resources (``refresh``).
    refreshes: bool = False
    #: Whether what is protected in it may be deleted and replaced.
    unprotects: bool = False


class NestedStacks:
    """Makes :class:`ResourceChild` objects, for a claim or for an idle row."""

    def __init__(
        self,
        coordinator: ChangesStacks,
        store: Store,
        settings: Settings,
        types: Mapping[str, type[Resource]],
    ) -> None:
        self.coordinator, self.store, self.settings, self.types = coordinator, store, settings, types

    def of(
        self,
        claim: Claim,
        definition: ResourceDefinition | None,
        stack: StackDefinition,
        hidden: Collection[str],
    ) -> "ResourceChild":
        """Return the nested stack of a claim; ``definition`` is None where the resource is only deleted."""
        order = claim.order

        def occasion() -> Occasion:
            template_id, deadline = self.store.traversals.definition(order.traversal_id)
            return Occasion(
                resource_id=claim.resource_id,
                stack_id=order.stack_id,
                made_as=made_as_of(claim.fragment, claim.resource_id, order.key),
                made_in=made_in_of(claim.fragment, claim.resource_id),
                template_id=template_id,
                operation=order.traversal_id,
                seconds_left=max(deadline - claim.now, 0.0),
                fence=Fence(
                    resource_id=claim.resource_id,
                    traversal_id=order.traversal_id,
                    no=order.no,
                    attempt=claim.attempt,
                ),
                abandons=bool(claim.fragment.get("abandon")),
                refreshes=bool(claim.fragment.get("refresh")),
                unprotects=bool(claim.fragment.get("unprotect")),
            )

        return ResourceChild(self, claim.resource_id, occasion, definition, stack=stack, hidden=hidden)

    def at_rest(
        self,
        row: ResourceRow,
        parent: StackRow,
        definition: ResourceDefinition,
        stack: StackDefinition,
        hidden: Collection[str],
    ) -> "ResourceChild":
        """Return the nested stack of a row outside of a check; its operations have the parent stack's whole timeout."""
        occasion = Occasion(
            resource_id=row.id,
            stack_id=row.stack_id,
            made_as=row.made_as,
            made_in=row.made_in,
            template_id=row.template_id,
            operation=parent.traversal_id,
            seconds_left=parent.timeout_minutes * 60,
            fence=AtRest(resource_id=row.id, metadata_version=row.metadata_version),
        )
        return ResourceChild(self, row.id, lambda: occasion, definition, stack=stack, hidden=hidden)


class ResourceChild:
    """The nested stack of one resource; implements :class:`orchestrator.plugins.stack_resource.ChildStack`.

    What its state or a definition does not allow raises ResourceFailure.
    """

    def __init__(
        self,
        all_children: NestedStacks,
        resource_id: str,
        occasion: Callable[[], Occasion],
        definition: ResourceDefinition | None,
        *,
        stack: StackDefinition,
        hidden: Collection[str],
    ) -> None:
        """Make the child without reading the store; ``stack`` and ``hidden`` are of the parent resource's stack."""
        self._coordinator, self._store = all_children.coordinator, all_children.store
        self._settings, self._types = all_children.settings, all_children.types
        self._id, self._find_occasion = resource_id, occasion
        self._definition, self._stack, self._hidden = definition, stack, frozenset(hidden)

    @property
    def id(self) -> str:
        """The child's id, which is that of the parent resource's row."""
        return self._id

    @property
    def seconds_left(self) -> float:
        """The time left to the operation on the parent resource."""
        return self._occasion.seconds_left

    @cached_property
    def _occasion(self) -> Occasion:
        return self._find_occasion()

    def state(self) -> ChildState | None:
        """Return the child's present state; None if it was never made."""
        row = self._store.stacks.by_id(self.id)
        if row is None:
            return None
        return ChildState(
            name=row.name,
            action=row.action,
            status=row.status,
            reason=row.reason,
            traversal_id=row.traversal_id,
            is_deleted=row.deleted_at is not None,
            is_unclean=row.status == "FAILED" and self._store.families.is_unclean(row.id),
        )

    def become(self, child: Child) -> str:
        """Begin to create or update the child; return the operation's id."""
        job = self._job(child)
        return self._begun(lambda: self._coordinator.become(job))

    def adopt(self, child: Child, entries: Mapping[str, object]) -> str:
        """Begin to make the child of existing objects; return the operation's id."""
        job = self._job(child)
        return self._begun(lambda: self._coordinator.take_over(job, entries))

    def take_snapshot(self) -> tuple[str, str]:
        """Begin to take a snapshot of the child; return the operation's id, and the snapshot's."""
        # The same for the same operation of the parent, so that nothing is taken twice.
        snapshot_id = str(uuid.uuid5(uuid.UUID(self.id), self._occasion.operation))
        taken = self._store.snapshots.by_id(snapshot_id)
        if taken is None:
            job = SnapshotJob(name=self.id, project=self._row().project)
            fence = self._occasion.fence
            self._begun(lambda: self._coordinator.snapshot(job, inner_id=snapshot_id, fence=fence))
            return self._row().traversal_id, snapshot_id
        return taken.traversal_id, snapshot_id

    def has_snapshot(self, snapshot_id: str) -> bool:
        """Return whether a snapshot of the child is complete."""
        row = self._store.snapshots.by_id(snapshot_id)
        return row is not None and (row.action, row.status) == ("CREATE", "COMPLETE")

    def restore(self, child: Child, snapshot_id: str) -> str:
        """Begin to restore the child from a snapshot; return the operation's id.

        Raises:
            ResourceFailure: the snapshot is gone, or the child's state does not allow it.
        """
        row = self._store.snapshots.by_id(snapshot_id)
        if row is None or row.stack_id != self.id:
            raise ResourceFailure("the snapshot of its stack is gone")
        job = replace(self._job(child), refresh=True)
        return self._begun(lambda: self._coordinator.become(job, snapshot=row))

    def operate(self, action: str) -> str:
        """Begin to check, suspend or resume the child; return the operation's id."""
        row = self._row()
        if (row.action, row.status) == (action, "IN_PROGRESS"):
            # Begun by an earlier attempt that died before it recorded the traversal.
            return row.traversal_id
        job = OPERATE_JOBS[action](name=self.id, project=row.project)
        self._begun(lambda: self._coordinator.operate(job, fence=self._occasion.fence))
        return self._row().traversal_id

    def _row(self) -> StackRow:
        row = self._store.stacks.by_id(self.id)
        if row is None or row.deleted_at is not None:
            raise ResourceFailure("its stack was deleted by others")
        return row

    @staticmethod
    def _begun(begin: Callable[[], str]) -> str:
        """Begin an operation; raise a refusal as ResourceFailure."""
        try:
            return begin()
        except InvalidInput as error:
            shown = "; ".join(str(problem) for problem in error.problems[:_SHOWN_PROBLEMS])
            more = len(error.problems) - _SHOWN_PROBLEMS
            raise ResourceFailure(f"{shown}; and {more} more" if more > 0 else shown) from error
        except Conflict as error:
            raise ResourceFailure(str(error)) from error
        except Fenced:
            # This attempt is over: its outcome is dropped.
            raise TakenOver("another attempt has taken over") from None

    def delete(self) -> str | None:
        """Begin to delete the child; return the operation's id, or None if the child does not exist.

        Raises:
            Conflict: a lifecycle plugin refused, or other operations kept taking the stack.
        """
        row = self._store.stacks.by_id(self.id)
        if row is None or row.deleted_at is not None:
            return None
        occasion = self._occasion
        job = DeleteJob(
            name=self.id, project=row.project, abandon=occasion.abandons, unprotect=occasion.unprotects
        )
        self._coordinator.delete(job, inner=True)
        now = self._store.stacks.by_id(self.id)
        return now.traversal_id if now else None

    def release(self) -> None:
        """Detach the child: it becomes a root stack."""
        self._store.families.release(self.id)

    def members(self) -> Sequence[Member]:
        """Return the child's resources, oldest first, one for each name."""
        return self._members

    def outputs(self) -> Mapping[str, object]:
        """Return the child's outputs; one that cannot be resolved is None."""
        return {name: view.value for name, view in self._outputs.items()}

    def output(self, name: str) -> object:
        """Return one output of the child; None if it has none of that name.

        Raises:
            ResourceFailure: the output cannot be resolved.
        """
        view = self._outputs.get(name)
        if view is not None and view.error:
            raise ResourceFailure(f"of output {name!r} inside: {view.error}")
        return None if view is None else view.value

    @cached_property
    def _members(self) -> tuple[Member, ...]:
        rows = self._store.stacks.resources(self.id)
        in_force = {row.name: row for row in sorted(rows, key=_standing)}
        return tuple(_member(row) for row in in_force.values())

    @cached_property
    def _outputs(self) -> dict[str, OutputView]:
        if self._defined is None:
            return {}
        row, context, template = self._defined
        views = outputs_of(self._store, row, template, context, self._settings)
        return {view.key: view for view in views}

    @cached_property
    def _defined(self) -> tuple[StackRow, Mapping[str, Any], Template] | None:
        """The row of the child, the context of its traversal, and its template; None: it does not exist."""
        row = self._store.stacks.by_id(self.id)
        if row is None or row.deleted_at is not None:
            return None
        context = self._store.traversals.context(row.traversal_id)
        return row, context, load_template(self._store, row.template_id, context, self._settings)

    def is_secret(self, path: AttributePath) -> bool:
        """Return whether the attribute at ``path``, which was read before, is a secret, or may hold one."""
        # What was read is known; nothing else is read for this.
        if "_defined" in vars(self) and self._defined is not None:
            _, context, template = self._defined
            members = {name: definition.type for name, definition in template.resources.items()}
            secrets = ChildSecrets(
                members=members, types=self._types, outputs=template.outputs, context=context
            )
        else:
            secrets = ChildSecrets(
                members={member.name: member.type for member in self.members()}, types=self._types
            )
        return secrets.has(path)

    def _job(self, child: Child) -> NestedJob:
        occasion, definition = self._occasion, self._definition
        if definition is None:
            raise ResourceFailure("a resource that is deleted cannot be given a definition")
        parent = self._store.stacks.by_id(occasion.stack_id)
        if parent is None:
            raise ResourceFailure("its stack is gone")
        own_minutes = math.inf if child.timeout_minutes is None else child.timeout_minutes
        job = nested_job(
            child,
            definition,
            self._store.templates.load(occasion.template_id),
            parent,
            self._stack,
            stack_id=self.id,
            made_as=occasion.made_as,
            made_in=occasion.made_in,
            hidden=self._hidden,
            content=self._store.templates.file,
        )
        return replace(
            job,
            timeout_minutes=max(min(own_minutes, occasion.seconds_left / 60), _LEAST_MINUTES),
            refresh=occasion.refreshes,
            unprotect=occasion.unprotects,
            fence=occasion.fence,
        )


def nested_job(
    child: Child,
    definition: ResourceDefinition,
    stored: StoredTemplate,
    parent: StackRow,
    stack: StackDefinition,
    *,
    stack_id: str,
    made_as: str,
    made_in: tuple[str, str] | None,
    hidden: Collection[str],
    content: Callable[[str], str],
) -> NestedJob:
    """Return the job that gives a resource's stack a definition.

    ``stored``, ``stack`` and ``hidden`` are of the stack ``parent`` that the resource with this ``definition`` is in;
    it was made under the name ``made_as``, in the stack with the id and name ``made_in``, if not there. ``content``
    returns a file by its digest.
    """
    outer = stored.nesting
    root_file = outer.root_file if outer else stored.file

    def is_secret(place: tuple[str | int, ...]) -> bool:
        return definition.properties_expression.covered(place, hidden) is not None

    has_secrets = not isinstance(child.template, str) and any(
        is_secret((name,)) for name in _names_of(definition)
    )
    text = generated_template(child, is_secret=has_secrets)
    secrets = frozenset(name for name in child.parameters if is_secret((*child.parameters_from, name)))
    return NestedJob(
        name=name_of_nested(made_in[1] if made_in else parent.name, made_as, stack_id),
        project=parent.project,
        template=text.source,
        template_file=location_of(child.file, root_file) if is_template(child.file) else child.file,
        files=LazyFiles(stored.files, content),
        digests=stored.files,
        environments=tuple(
            EnvironmentSource(file=file, source=source) for file, source in stored.environments
        ),
        parameters=text.parameters,
        job_id="",
        credential=stack.credential,
        stack_id=stack_id,
        family=Family(
            parent_id=parent.id, parent_resource=stack_id, root_id=parent.root_id, depth=parent.depth + 1
        ),
        nesting=Nesting(
            root_file=root_file,
            route=(*(outer.route if outer else ()), (definition.name, definition.type)),
            secrets=text.secrets | secrets,
            facade=parent_of(definition, stack),
            asks=child.asks,
        ),
    )


def _names_of(definition: ResourceDefinition) -> Sequence[str]:
    # Properties that one function gives as a whole are one name.
    return tuple(definition.properties) if isinstance(definition.properties, Mapping) else ("*",)


def _standing(row: ResourceRow) -> tuple[bool, float]:
    """Return the sort key of the rows of one name: the one in force comes last."""
    return row.replaced_by is None, row.created_at


def _member(row: ResourceRow) -> Member:
    return Member(
        name=row.name,
        type=row.type,
        uuid=row.id,
        action=row.action,
        status=row.status,
        physical_id=row.physical_id,
        reference_id=row.reference_id,
        attributes={tuple(path): value for path, value in row.attributes},
        created_at=row.created_at,
        unread={tuple(path): why for path, why in row.unread},
    )
