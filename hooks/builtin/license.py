"""``license``: an HTTP licence server holds a licence for every resource of some types while it exists.

Before an operation the server receives what the stack is to have, and may refuse; after it, what exists. So
licences are held from before the first resource is made until after the last one is gone, whatever fails in between.
The protocol, and the requirements on a server, are described in ``docs/lifecycle-http.md``.
"""

from collections import Counter
from collections.abc import Iterable
from contextlib import suppress
from typing import Final, Literal

import structlog
from pydantic import Field

from hooks.builtin.actions import DEFINING_ACTIONS
from hooks.builtin.leases import Leaseholder, Leases
from hooks.builtin.wildcards import matches_any
from hooks.errors import Refusal
from hooks.http.answers import NO_ANSWER
from hooks.http.options import SenderOptions
from hooks.http.outcome import RequestFailed
from hooks.lifecycle import REFUSED, Annotations, LifecycleContext, LifecyclePlugin
from hooks.stack import FrozenResource, FrozenStack

log = structlog.get_logger()

#: The server is called for these too, but cannot refuse them: removing, restoring and looking must always
#: be possible.
_UNREFUSED: Final = frozenset({"ROLLBACK", "DELETE", "ABANDON", "CHECK"})
#: Operations that give a stack a definition, or restore one: the new definition counts as well as the present one.
_WITH_DEFINITION: Final = DEFINING_ACTIONS | {"ROLLBACK"}
#: Operations reported to the server even where nothing needs a licence: they correct what it missed before.
_ALWAYS_REPORTED: Final = frozenset({"DELETE", "ABANDON", "CHECK"})
#: The share of a call's time-out for the server, which may be called twice: to grant licences, and to take
#: back those of which it is unknown whether they were granted.
_SHARE: Final = 0.8
_ACQUIRING: Final = 0.5
_GIVING_BACK: Final = _SHARE - _ACQUIRING
#: The key of the lease in the stack's annotations.
LEASE: Final = "lease_id"


class LicenseOptions(SenderOptions):
    """The options of ``license``."""

    types: tuple[str, ...] = Field(
        min_length=1,
        description="The types that need licences, such as `OS::Nova::Server`; `*` and `?` as in file names.",
    )
    on_error: Literal["refuse", "allow"] = Field(
        default="refuse",
        description="Whether an operation that needs licences is refused or allowed if the server cannot be "
        "reached, or gives no valid answer.",
    )


class License(LifecyclePlugin):
    """Acquires licences from a server before operations, and settles them after."""

    name = "license"
    description = "Licences from an HTTP server, held for every resource of some types as long as it exists."
    enabled_by_default = False
    Options = LicenseOptions
    options: LicenseOptions
    #: It holds something for the operation: plugins that only refuse are called before it.
    ordinal = 200

    def __init__(self, options: LicenseOptions) -> None:
        """Prepare the connection; nothing is sent yet.

        Raises:
            ValueError: a file of secrets or certificates is invalid.
        """
        super().__init__(options)
        self._leases = Leases(options)

    def do_pre_op(
        self, context: LifecycleContext, stack: FrozenStack, current_stack: FrozenStack | None, action: str
    ) -> Annotations | None:
        """Acquire licences for the maximum of what the stack has and is to have.

        Raises:
            Refusal: the server does not grant them; or it cannot be called, and ``on_error`` is set to refuse then.
        """
        counts = self._needed(stack, current_stack, action)
        if not counts and action not in _ALWAYS_REPORTED:
            return None
        holder = _holder(context, stack, action)
        is_unrefused = _is_unrefused(context, action)
        try:
            granted = self._leases.acquire(
                holder, counts, enforce=not is_unrefused, within_seconds=self.time_limit_seconds * _ACQUIRING
            )
            return Annotations(warnings=granted.warnings, stack={LEASE: granted.lease_id})
        except Refusal as error:
            if not is_unrefused:
                raise
            return self._unlicensed(holder, error)
        except RequestFailed as error:
            if is_unrefused or self.options.on_error == "allow":
                return self._unlicensed(holder, error)
            # It may have been granted all the same, and no later call would end it.
            with suppress(RequestFailed):
                self._leases.settle(
                    holder,
                    None,
                    outcome=REFUSED,
                    later=True,
                    within_seconds=self.time_limit_seconds * _GIVING_BACK,
                )
            raise Refusal(f"{NO_ANSWER}: {error}") from error

    def _unlicensed(self, holder: Leaseholder, error: Exception) -> Annotations:
        log.warning(
            "an operation goes on without licences",
            hook=self.name,
            stack_name=holder.stack_name,
            action=holder.action,
            operation=holder.operation_id,
            reason=str(error),
        )
        # Not None: the call after the operation must know that the server was called before.
        return Annotations(warnings=(f"no licences are known to be held: {error}",))

    def do_preview(
        self, context: LifecycleContext, stack: FrozenStack, current_stack: FrozenStack | None, action: str
    ) -> Annotations | None:
        """Return the warnings of the server, which would grant licences; none is held.

        Raises:
            Refusal: the server would not grant them; or it cannot be called, and ``on_error`` is set to refuse then.
        """
        counts = self._needed(stack, current_stack, action)
        if not counts:
            return None
        try:
            verdict = self._leases.preview(
                _holder(context, stack, action),
                counts,
                enforce=not _is_unrefused(context, action),
                within_seconds=self.time_limit_seconds * _SHARE,
            )
        except RequestFailed as error:
            if self.options.on_error == "refuse":
                raise Refusal(f"{NO_ANSWER}: {error}") from error
            return Annotations(warnings=(f"it is not known whether there are licences: {error}",))
        return Annotations(warnings=verdict.warnings) if verdict.warnings else None

    def do_post_op(
        self,
        context: LifecycleContext,
        stack: FrozenStack,
        current_stack: FrozenStack | None,
        action: str,
        is_stack_failure: bool,  # noqa: ARG002  # what exists counts, however that came about
    ) -> None:
        """Report what exists to the server, so that it holds licences for that and nothing else.

        Raises:
            RequestFailed: the report was not delivered; a later operation repeats it.
        """
        # Once the last resource of a type is gone, only the earlier call shows that licences were involved.
        was_called = context.annotations is not None or action in _ALWAYS_REPORTED
        if not (was_called or self._needed(stack, current_stack, action)):
            return
        present = {} if current_stack is None else self._counted(_existing(current_stack))
        # An operation that never began has changed nothing, and another may be under way: only what was acquired for
        # it ends.
        counts = None if context.outcome == REFUSED else present
        was_granted = context.annotations is not None and LEASE in context.annotations.stack
        self._leases.settle(
            _holder(context, stack, action),
            counts,
            outcome=context.outcome,
            later=was_granted or counts is None or current_stack is None,
            within_seconds=self.time_limit_seconds * _SHARE,
        )

    def _needed(self, stack: FrozenStack, current_stack: FrozenStack | None, action: str) -> dict[str, int]:
        """Return the most licences that an operation needs, by type."""
        if action not in _WITH_DEFINITION | _UNREFUSED:
            return {}
        wanted = self._counted(stack.resources.values()) if action in _WITH_DEFINITION else {}
        present = {} if current_stack is None else self._counted(_existing(current_stack))
        # What exists goes only in the course of the operation, if it does.
        return dict(sorted((Counter(wanted) | Counter(present)).items()))

    def _counted(self, resources: Iterable[FrozenResource]) -> dict[str, int]:
        counts = Counter(each.type for each in resources)
        return {
            name: count for name, count in sorted(counts.items()) if matches_any(name, self.options.types)
        }


def _is_unrefused(context: LifecycleContext, action: str) -> bool:
    # A rollback of the outermost stack is a rollback of the stacks in it.
    return action in _UNREFUSED or context.root_action in _UNREFUSED


def _holder(context: LifecycleContext, stack: FrozenStack, action: str) -> Leaseholder:
    return Leaseholder(
        operation_id=context.operation_id,
        action=action,
        project=context.project,
        stack_id=stack.id,
        stack_name=stack.name,
    )


def _existing(stack: FrozenStack) -> Iterable[FrozenResource]:
    """Yield the resources that exist, or may: those being made, and those that could not be removed."""
    for each in stack.resources.values():
        for one in (each, *each.others):
            is_begun = one.uuid and one.action not in ("", "INIT")
            # A resource that failed before it had a physical id does not exist.
            if is_begun and (one.physical_id is not None or one.status != "FAILED"):
                yield one
