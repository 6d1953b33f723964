"""``webhook``: a signed HTTP call before and after every operation; the one before may refuse it.

What is sent and what may be answered is described in ``docs/lifecycle-http.md``. Each call carries an
``Idempotency-Key``, the operation's id and the phase: the same call may come more than once.
"""

from dataclasses import dataclass
from typing import Any, Final, Literal

import structlog
from pydantic import BaseModel, ConfigDict, Field, StrictBool, field_validator

from hooks.builtin.actions import ACTIONS
from hooks.builtin.wildcards import matches_any
from hooks.errors import Refusal
from hooks.http.answers import NO_ANSWER, REFUSAL, parsed
from hooks.http.documents import definition_document, presence_document
from hooks.http.options import SenderOptions
from hooks.http.outcome import Answer, RequestFailed
from hooks.http.sender import SignedSender
from hooks.lifecycle import Annotations, LifecycleContext, LifecyclePlugin
from hooks.stack import FrozenStack
from hooks.values.nearest import nearest

log = structlog.get_logger()

PRE: Final = "pre"
POST: Final = "post"
PREVIEW: Final = "preview"


class WebhookOptions(SenderOptions):
    """The options of ``webhook``."""

    on_error: Literal["refuse", "allow"] = Field(
        default="refuse",
        description="What becomes of an operation if the receiver cannot be asked, or gives no proper answer.",
    )
    actions: tuple[str, ...] = Field(
        default=(), description="The receiver is called for these operations alone; for all if none is named."
    )
    projects: tuple[str, ...] = Field(
        default=(),
        description="The receiver is called for stacks of these projects alone; `*` and `?` as in file names.",
    )
    resource_types: tuple[str, ...] = Field(
        default=(),
        description="The receiver is called for stacks alone that have, or are to have, a resource of these types; "
        "`*` and `?` as in file names.",
    )
    send_values: bool = Field(
        default=True,
        description="Whether parameters and properties are sent; values of hidden parameters never are.",
    )

    @field_validator("actions")
    @classmethod
    def _are_actions(cls, actions: tuple[str, ...]) -> tuple[str, ...]:
        for each in actions:
            if each not in ACTIONS:
                raise ValueError(f"there is no operation {each!r}; {nearest(each, ACTIONS)}")
        return actions


class _StackAnnotations(BaseModel):
    model_config = ConfigDict(extra="forbid", frozen=True)

    stack: dict[str, Any] = {}
    resources: dict[str, dict[str, Any]] = {}


class _Verdict(BaseModel):
    """What a receiver may answer; fields that a later version may know are passed over."""

    model_config = ConfigDict(extra="ignore", frozen=True)

    allow: StrictBool = True
    reason: str = ""
    warnings: tuple[str, ...] = ()
    annotations: _StackAnnotations | None = None


class Webhook(LifecyclePlugin):
    """Calls a server of the operator's."""

    name = "webhook"
    description = "A signed HTTP call before and after every operation; the receiver may refuse it."
    enabled_by_default = False
    Options = WebhookOptions
    options: WebhookOptions

    def __init__(self, options: WebhookOptions) -> None:
        """Prepare to call; nothing is sent yet.

        Raises:
            ValueError: a file of secrets or certificates is not what it should be.
        """
        super().__init__(options)
        self._sender = SignedSender(options)

    def do_pre_op(
        self, context: LifecycleContext, stack: FrozenStack, current_stack: FrozenStack | None, action: str
    ) -> Annotations | None:
        """Ask the receiver.

        Raises:
            Refusal: it refuses; or it cannot be asked, and ``on_error`` says that then nothing is done.
        """
        return self._asked(_Call(PRE, context, stack, current_stack, action))

    def do_preview(
        self, context: LifecycleContext, stack: FrozenStack, current_stack: FrozenStack | None, action: str
    ) -> Annotations | None:
        """Ask the receiver what it would answer.

        Raises:
            Refusal: it would refuse; or it cannot be asked, and ``on_error`` says that then nothing would be done.
        """
        return self._asked(_Call(PREVIEW, context, stack, current_stack, action))

    def do_post_op(
        self,
        context: LifecycleContext,
        stack: FrozenStack,
        current_stack: FrozenStack | None,
        action: str,
        is_stack_failure: bool,
    ) -> None:
        """Tell the receiver how it ended.

        Raises:
            RequestFailed: it was not told, or gave no answer of success.
        """
        call = _Call(POST, context, stack, current_stack, action)
        # Of the last resource of a type nothing is left to see: that it was asked about tells.
        if context.annotations is not None or self._concerns(call):
            self._send(call, is_stack_failure=is_stack_failure)

    def _asked(self, call: "_Call") -> Annotations | None:
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
                "an operation goes on although its webhook could not be asked",
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
        said = verdict.annotations or _StackAnnotations()
        warnings = tuple(map(self._sender.shown, verdict.warnings))
        return Annotations(warnings=warnings, stack=said.stack, resources=said.resources)

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

    def _send(self, call: "_Call", **ending: Any) -> Answer:
        return self._sender.send(
            call.document(has_values=self.options.send_values) | ending,
            headers={"Idempotency-Key": f"{call.context.operation_id}/{call.phase}"},
            accept=() if call.phase == POST else {REFUSAL},
            # What is left of this plugin's own limit is for whatever else a call takes.
            within_seconds=self.time_limit_seconds * 0.8,
        )


@dataclass(frozen=True, slots=True)
class _Call:
    """What a receiver is called about."""

    phase: str
    context: LifecycleContext
    stack: FrozenStack
    current_stack: FrozenStack | None
    action: str

    def document(self, *, has_values: bool) -> dict[str, Any]:
        """Return what is sent."""
        context, current = self.context, self.current_stack
        ended = {"outcome": context.outcome, "reason": context.reason} if self.phase == POST else {}
        return {
            "operation_id": context.operation_id,
            "phase": self.phase,
            "action": self.action,
            "root_action": context.root_action,
            "project": context.project,
            "stack": definition_document(self.stack, has_values=has_values),
            "current_stack": None if current is None else presence_document(current),
            **ended,
        }
