"""Reads of outputs by resources of other stacks: who may, when there is a value, and what is recorded of it."""

from collections.abc import Mapping
from typing import Any, Final, NoReturn

from hooks.values.nearest import did_you_mean
from orchestrator.config.settings import Settings
from orchestrator.errors import Conflict, NotFound
from orchestrator.model.actions import OPERATIONS
from orchestrator.model.nested_stack import Fence
from orchestrator.planning.stored_templates import load_draft
from orchestrator.plugins.steps import Busy, ResourceFailure
from orchestrator.queries.outputs import outputs_of
from orchestrator.store.nodes.claims import Claim
from orchestrator.store.stacks.output_readers import NotReadable, SourceMoved
from orchestrator.store.stacks.stacks import StackRow
from orchestrator.store.store import Store
from orchestrator.views.stacks import OutputView

#: How often a read is tried while operations on the stack come in between.
TRIES: Final = 10


class OutputSource:
    """The outputs of the stacks of one store."""

    def __init__(self, store: Store, settings: Settings) -> None:
        self._store, self._settings = store, settings

    def of_claim(self, claim: Claim, project: str) -> "ReadableOutputs":
        """Return what a claimed resource of a project may read."""
        return ReadableOutputs(self._store, self._settings, project, claim)

    def of_project(self, project: str) -> "ReadableOutputs":
        """Return what the resources of a project may read; nothing is recorded."""
        return ReadableOutputs(self._store, self._settings, project)


class ReadableOutputs:
    """The outputs that one resource may read; implements :class:`orchestrator.plugins.outputs.StackOutputs`."""

    def __init__(self, store: Store, settings: Settings, project: str, claim: Claim | None = None) -> None:
        self._store, self._settings, self._project, self._claim = store, settings, project, claim

    def value(self, stack: str, output: str, *, project: str = "") -> Any:
        """Return the present value of an output.

        Raises:
            ResourceFailure: there is no such output, it may not be read, or it has no value.
            Busy: an operation is under way on the stack.
        """
        return self._value_of(self._source(stack, output, project), output)

    def read(self, stack: str, output: str, *, project: str = "") -> Any:
        """Return the value of an output, and record that the claimed resource reads it.

        Raises:
            ResourceFailure: there is no such output, it may not be read or has no value, or the stacks would read each
                other in a circle.
            Busy: an operation is under way on the stack.
            Conflict: another attempt has taken over.
        """
        if self._claim is None:
            raise ResourceFailure("an output is read in an action alone")
        for _ in range(TRIES):
            source = self._source(stack, output, project)
            try:
                # Before its value: two stacks that wait for each other would wait for ever.
                self._record(self._claim, source, output, is_read=False)
                value = self._value_of(source, output)
                self._record(self._claim, source, output, is_read=True)
            except NotReadable:
                self._refuse(stack, output, source.project)
            except SourceMoved:
                continue
            return value
        raise Busy(f"stack {stack!r} is being changed by others")

    def _record(self, claim: Claim, source: StackRow, output: str, *, is_read: bool) -> None:
        order = claim.order
        held = Fence(
            resource_id=claim.resource_id,
            traversal_id=order.traversal_id,
            no=order.no,
            attempt=claim.attempt,
        )
        try:
            self._store.output_readers.record(
                held, order.stack_id, self._project, source, output, is_read=is_read
            )
        except Conflict as error:
            raise ResourceFailure(str(error)) from error

    def _source(self, stack: str, output: str, project: str) -> StackRow:
        """Return the stack to read.

        Raises:
            ResourceFailure: there is none, it is nested or deleted, or this project may not read the output.
        """
        owner = project or self._project
        try:
            source = self._store.stacks.find(stack, project=owner)
        except NotFound as error:
            if owner == self._project:
                raise ResourceFailure(str(error)) from error
            self._refuse(stack, output, owner)
        if owner != self._project and not any(
            (share.output, share.project) == (output, self._project)
            for share in self._store.output_shares.of(source.id)
        ):
            self._refuse(stack, output, owner)
        if source.deleted_at is not None or source.action == "DELETE":
            raise ResourceFailure(f"stack {stack!r} is {source.action}_{source.status}: it has no outputs")
        if source.parent_id is not None:
            raise ResourceFailure(
                f"stack {stack!r} is a part of another stack: read an output of the outermost one"
            )
        return source

    def _refuse(self, stack: str, output: str, owner: str) -> NoReturn:
        """Refuse in the same words whether there is no such stack, no such output, or no share of it."""
        raise ResourceFailure(
            f"project {owner!r} shares no output {output!r} of a stack {stack!r} with project {self._project!r}; "
            "its owner can: isotherm stack output share"
        )

    def _value_of(self, source: StackRow, output: str) -> Any:
        """Return the value of an output of a stack at rest.

        Raises:
            ResourceFailure: it has no such output, or that has no value.
            Busy: an operation is under way.
        """
        state = f"{source.action}_{source.status}"
        if source.status == "IN_PROGRESS":
            raise Busy(f"stack {source.name!r} is {state}")
        if source.status == "FAILED" and source.action not in OPERATIONS:
            raise ResourceFailure(
                f"stack {source.name!r} is {state}: its outputs can be read once an update of it is complete"
            )
        outputs = present_outputs(self._store, source, self._settings)
        if output not in outputs:
            known = outputs if source.project == self._project else ()
            hint = did_you_mean(output, known) if known else ""
            raise ResourceFailure(f"stack {source.name!r} has no output {output!r}{hint}")
        if error := outputs[output].error:
            raise ResourceFailure(f"output {output!r} of stack {source.name!r} has no value: {error}")
        return outputs[output].value


def present_outputs(store: Store, stack: StackRow, settings: Settings) -> Mapping[str, OutputView]:
    """Return the outputs of a stack by name, resolved with the values on record."""
    context = store.traversals.context(stack.traversal_id)
    draft = load_draft(store, stack.template_id, settings)
    if not draft.output_names:
        return {}
    template = draft.valid_under(context["parameters"], context.get("hidden", ()))
    return {each.key: each for each in outputs_of(store, stack, template, context, settings)}
