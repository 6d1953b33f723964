"""``webhook``: a signed HTTP call before and after every operation; the one before may refuse it.

Requests and answers are described in ``docs/lifecycle-http.md``. Each call carries an
``Idempotency-Key``, the operation's id and the phase: the same call may come more than once.
"""

from dataclasses import dataclass
from typing import Any, Final, Literal

import structlog
from pydantic import BaseModel, ConfigDict, Field, StrictBool

from hooks.builtin.actions import Actions
from hooks.builtin.wildcards import matches_any
from hooks.errors import Refusal
from hooks.http.answers import NO_ANSWER, REFUSAL, parsed
from hooks.http.documents import definition_document, presence_document
from hooks.http.options import SenderOptions
from hooks.http.outcome import Answer, RequestFailed
from hooks.http.sender import SignedSender
from hooks.lifecycle import Annotations, LifecycleContext, LifecyclePlugin, PlannedOperation
from hooks.stack import FrozenStack

log = structlog.get_logger()

PRE: Final = "pre"
POST: Final = "post"
PREVIEW: Final = "preview"


class WebhookOptions(SenderOptions):
    """The options of ``webhook``."""

    on_error: Literal["refuse", "allow"] = Field(
        default="refuse",
        description="Whether an operation is refused or allowed if the receiver cannot be reached, or gives "
        "no valid answer.",
    )
    actions: Actions = Field(
        default=(), description="The operations for which the receiver is called; all by default."
    )
    projects: tuple[str, ...] = Field(
        default=(),
        description="The projects for whose stacks the receiver is called, all by default; `*` and `?` as in "
        "file names.",
    )
    resource_types: tuple[str, ...] = Field(
        default=(),
        description="The receiver is called only for stacks that have, or are to have, a resource of these "
        "types; `*` and `?` as in file names.",
    )
    send_values: bool = Field(
        default=True,
        description="Whether parameters and properties are sent; values of hidden parameters never are.",
    )


class _StackAnnotations(BaseModel):
    model_config = ConfigDict(extra="forbid", frozen=True)

    stack: dict[str, Any] = {}
    resources: dict[str, dict[str, Any]] = {}


class _Verdict(BaseModel):
    """A receiver's answer; unknown fields, of a later version, are ignored."""

    model_config = ConfigDict(extra="ignore", frozen=True)

    allow: StrictBool = True
    reason: str = ""
    warnings: tuple[str, ...] = ()
    annotations: _StackAnnotations | None = None


class Webhook(LifecyclePlugin):
    """Calls an operator's HTTP server."""

    name = "webhook"
    description = "A signed HTTP call before and after every operation; the receiver may refuse it."
    enabled_by_default = False
    Options = WebhookOptions
    options: WebhookOptions

    def __init__(self, options: WebhookOptions) -> None:
        """Prepare the connection; nothing is sent yet.

        Raises:
            ValueError: a file of secrets or certificates is invalid.
        """
        super().__init__(options)
        self._sender = SignedSender(options)

    def do_pre_op(
        self, context: LifecycleContext, stack: FrozenStack, current_stack: FrozenStack | None, action: str
    ) -> Annotations | None:
        """Call the receiver, which may refuse the operation.

        Raises:
            Refusal: the receiver refuses; or it cannot be called, and ``on_error`` is set to refuse then.
        """
        return self._verdict(_Call(PRE, context, stack, current_stack, action))

    def do_preview(
        self, context: LifecycleContext, stack: FrozenStack, current_stack: FrozenStack | None, action: str
    ) -> Annotations | None:
        """Return the answer that the receiver would give.

        Raises:
            Refusal: the receiver would refuse; or it cannot be called, and ``on_error`` is set to refuse then.
        """
        return self._verdict(_Call(PREVIEW, context, stack, current_stack, action))

    def do_post_op(
        self,
        context: LifecycleContext,
        stack: FrozenStack,
        current_stack: FrozenStack | None,
        action: str,
        is_stack_failure: bool,
    ) -> None:
        """Report the outcome of the operation to the receiver.

        Raises:
            RequestFailed: the report was not delivered, or was not accepted.
        """
        call = _Call(POST, context, stack, current_stack, action)
        # Once the last resource of a type is gone, only the earlier call shows that one was involved.
        if context.annotations is not None or self._concerns(call):
            self._send(call, is_stack_failure=is_stack_failure)

    def _verdict(self, call: "_Call") -> Annotations | None:
        if not self._concerns(call):
            return None
        try:
            answer = self._send(call)
            is_refusal = answer.status == REFUSAL
            verdict = _Verdict(allow=False, reason=answer.words()) if is_refusal else parsed(answer, _Verdict)
        except RequestFailed as error:
            if self.options.on_error == "refuse":
                raise Refusal(f"{NO_ANSWER}: {error}") from error
            log.warning(
                "operation continues, its webhook could not be called",
                hook=self.name,
                stack_name=call.stack.name,
                action=call.action,
                operation=call.context.operation_id,
                reason=str(error),
            )
            return None
        if not verdict.allow:
            raise Refusal(self._sender.shown(verdict.reason) or f"{self._sender.where} gave no reason")
        if verdict.annotations is None and not verdict.warnings and self._has_type(call.stack):
            return None
        annotations = verdict.annotations or _StackAnnotations()
        warnings = tuple(map(self._sender.shown, verdict.warnings))
        return Annotations(warnings=warnings, stack=annotations.stack, resources=annotations.resources)

    def _concerns(self, call: "_Call") -> bool:
        options = self.options
        return (
            (not options.actions or call.action in options.actions)
            and (not options.projects or matches_any(call.context.project, options.projects))
            and any(self._has_type(each) for each in (call.stack, call.current_stack) if each is not None)
        )

    def _has_type(self, stack: FrozenStack) -> bool:
        wanted = self.options.resource_types
        return not wanted or any(
            matches_any(one.type, wanted) for each in stack.resources.values() for one in (each, *each.others)
        )

    def _send(self, call: "_Call", **ending: object) -> Answer:
        return self._sender.send(
            call.document(has_values=self.options.send_values) | ending,
            headers={"Idempotency-Key": f"{call.context.operation_id}/{call.phase}"},
            accept=() if call.phase == POST else {REFUSAL},
            # The rest of this plugin's time-out is for everything else in a call.
            within_seconds=self.time_limit_seconds * 0.8,
        )


@dataclass(frozen=True, slots=True)
class _Call:
    phase: str
    context: LifecycleContext
    stack: FrozenStack
    current_stack: FrozenStack | None
    action: str

    def document(self, *, has_values: bool) -> dict[str, object]:
        """Return the body of the request."""
        context, current = self.context, self.current_stack
        ended = {"outcome": context.outcome, "reason": context.reason} if self.phase == POST else {}
        wanted = {"user": context.user, "plan": _plan_document(context.plan)} if self.phase == PRE else {}
        moves = [{"from": was, "to": name} for name, was in context.moved.items()]
        return {
            "operation_id": context.operation_id,
            "phase": self.phase,
            "action": self.action,
            "root_action": context.root_action,
            "project": context.project,
            **wanted,
            **({} if self.phase == POST else {"moved": moves}),
            "stack": definition_document(self.stack, has_values=has_values),
            "current_stack": None if current is None else presence_document(current),
            **ended,
        }


def _plan_document(plan: PlannedOperation | None) -> dict[str, object] | None:
    """Return the saved plan that an operation applies as a document; None for none."""
    if plan is None:
        return None
    plain = {name: getattr(plan, name) for name in ("id", "user", "planned_at")}
    actions = {name: list(listed) for name, listed in plan.actions.items()}
    return {**plain, "actions": actions, "deletes": list(plan.deletes)}
