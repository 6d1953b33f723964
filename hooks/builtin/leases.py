"""Speak with a licence server: acquire for an operation, settle when it is over, and catch up on what was not heard.

Both are idempotent by the operation's id. Every message stands for itself: what a stack is to have, or has; so one that
was lost is made good by a later one on the same stack, and those that no later one may follow are kept here until the
server hears them.
"""

import threading
import time
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Final, TypeVar
from urllib.parse import quote

import structlog
from pydantic import BaseModel, ConfigDict, Field

from hooks.errors import Refusal
from hooks.http.answers import REFUSAL, parsed
from hooks.http.options import SenderOptions
from hooks.http.outcome import Answer, RequestFailed
from hooks.http.sender import SignedSender

log = structlog.get_logger()

ACQUIRE: Final = "acquire"
SETTLE: Final = "settle"
PREVIEW: Final = "preview"
#: So many operations that the server was not told of are remembered; it is told by later operations of the others.
MOST_OWED: Final = 10_000


@dataclass(frozen=True, slots=True, kw_only=True)
class Leaseholder:
    """The operation that a message is about, and its stack."""

    operation_id: str
    action: str
    project: str
    stack_id: str
    stack_name: str


class Warned(BaseModel):
    """What a server answers that would grant licences; fields that a later version may know are passed over."""

    model_config = ConfigDict(extra="ignore", frozen=True)

    warnings: tuple[str, ...] = ()


class Granted(Warned):
    """What it answers that grants them."""

    lease_id: str = Field(min_length=1)


AnyAnswer = TypeVar("AnyAnswer", bound=Warned)


class Leases:
    """The leases of one server; threads may share it."""

    def __init__(self, options: SenderOptions) -> None:
        """Prepare to ask; nothing is sent yet.

        Raises:
            ValueError: a file of secrets or certificates is not what it should be.
        """
        self._sender = SignedSender(options)
        #: What the server was not told, by operation, oldest first.
        self._owed: dict[str, Mapping[str, Any]] = {}
        self._lock = threading.Lock()

    def acquire(
        self, holder: Leaseholder, counts: Mapping[str, int], *, enforce: bool, within_seconds: float
    ) -> Granted:
        """Hold licences until the operation is settled, besides those that the stack holds already.

        Args:
            holder: The operation.
            counts: How many of each type the stack holds at most in its course.
            enforce: Whether the server may refuse.
            within_seconds: How long it may take.

        Raises:
            Refusal: the server does not grant them, in its words.
            RequestFailed: it is not known whether it does.
        """
        document = _document(holder, ACQUIRE, counts=counts, enforce=enforce)
        return self._agreed(self._send(document, within_seconds), Granted)

    def preview(
        self, holder: Leaseholder, counts: Mapping[str, int], *, enforce: bool, within_seconds: float
    ) -> Warned:
        """Answer as :meth:`acquire` would, and hold nothing.

        Raises:
            Refusal: the server would not grant them, in its words.
            RequestFailed: it is not known whether it would.
        """
        document = _document(holder, PREVIEW, counts=counts, enforce=enforce)
        return self._agreed(self._send(document, within_seconds), Warned)

    def settle(
        self,
        holder: Leaseholder,
        counts: Mapping[str, int] | None,
        *,
        outcome: str,
        later: bool,
        within_seconds: float,
    ) -> None:
        """End what was acquired for an operation; from then on the stack holds ``counts``.

        Args:
            holder: The operation.
            counts: What is there, by type; None if the operation never began, and so changed nothing.
            outcome: How it ended.
            later: Whether the server, if it does not hear it, is told again with what this process tells it next. It
                may have heard of later operations by then: it must be able to tell that this one is older, because it
                granted it something, or there must be none.
            within_seconds: How long it may take.

        Raises:
            RequestFailed: the server did not hear it, or nobody knows.
        """
        document = _document(holder, SETTLE, counts=counts, outcome=outcome)
        try:
            self._send(document, within_seconds)
        except RequestFailed:
            if later:
                self._owe(document)
            raise

    def _owe(self, document: Mapping[str, Any]) -> None:
        with self._lock:
            self._owed.setdefault(document["operation_id"], document)
            while len(self._owed) > MOST_OWED:
                del self._owed[next(iter(self._owed))]

    def _agreed(self, answer: Answer, model: type[AnyAnswer]) -> AnyAnswer:
        if answer.status == REFUSAL:
            raise Refusal(self._sender.shown(answer.words()) or f"{self._sender.where} gave no reason")
        said = parsed(answer, model)
        return said.model_copy(update={"warnings": tuple(map(self._sender.shown, said.warnings))})

    def _send(self, document: Mapping[str, Any], within_seconds: float) -> Answer:
        until = time.monotonic() + within_seconds
        # What comes later must not wait long for what came earlier.
        answer = self._sent(document, within_seconds * 0.7)
        # A preview changes nothing anywhere.
        if document["phase"] != PREVIEW:
            self._catch_up(until)
        return answer

    def _catch_up(self, until: float) -> None:
        """Tell the server, which has just answered, what it did not hear before."""
        for operation_id, document in tuple(self._owed.items()):
            try:
                self._sent(document, until - time.monotonic())
            except RequestFailed as error:
                log.warning("a licence server is still not told", operation=operation_id, reason=str(error))
                if error.passing:
                    return
                # It answers, and does not want this: others must not wait for it.
            with self._lock:
                self._owed.pop(operation_id, None)

    def _sent(self, document: Mapping[str, Any], within_seconds: float) -> Answer:
        phase = document["phase"]
        path = f"/leases/{quote(document['stack_id'], safe='')}"
        return self._sender.send(
            document,
            method="POST" if phase == PREVIEW else "PUT",
            path=f"{path}/preview" if phase == PREVIEW else path,
            headers={"Idempotency-Key": f"{document['operation_id']}/{phase}"},
            accept=() if phase == SETTLE else {REFUSAL},
            within_seconds=within_seconds,
        )


def _document(holder: Leaseholder, phase: str, **said: Any) -> Mapping[str, Any]:
    # The stack stands in the body too, for the signature is over that alone.
    return {
        "operation_id": holder.operation_id,
        "phase": phase,
        "action": holder.action,
        "project": holder.project,
        "stack_id": holder.stack_id,
        "stack_name": holder.stack_name,
        **said,
    }
