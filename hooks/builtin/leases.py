"""The client of a licence server: acquires for an operation, settles after it, and delivers missed messages later.

Both are idempotent by the operation's id. Every message is complete in itself: what a stack is to have, or has. A lost
message is made good by a later one about the same stack; those that no later one may follow are kept here until
the server receives them.
"""

import threading
import time
from collections.abc import Mapping
from dataclasses import asdict, dataclass
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
#: The limit of undelivered settlements that are kept; later operations of the same stacks make good for the others.
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
    """A server's reply to a preview; unknown fields, of a later version, are ignored."""

    model_config = ConfigDict(extra="ignore", frozen=True)

    warnings: tuple[str, ...] = ()


class Granted(Warned):
    """A server's reply that grants licences."""

    lease_id: str = Field(min_length=1)


AnyAnswer = TypeVar("AnyAnswer", bound=Warned)
#: A message as plain JSON types.
Document = Mapping[str, Any]


class Leases:
    """The leases of one server; thread-safe."""

    def __init__(self, options: SenderOptions) -> None:
        """Prepare the connection; nothing is sent yet.

        Raises:
            ValueError: a file of secrets or certificates is invalid.
        """
        self._sender = SignedSender(options)
        #: Undelivered settlements by operation, oldest first.
        self._owed: dict[str, Document] = {}
        self._lock = threading.Lock()

    def acquire(
        self, holder: Leaseholder, counts: Mapping[str, int], *, enforce: bool, within_seconds: float
    ) -> Granted:
        """Hold licences until the operation is settled, besides those that the stack holds already.

        ``counts`` is the most that the stack will hold of each type meanwhile; the server may refuse if ``enforce``.

        Raises:
            Refusal: the server does not grant them; with its message.
            RequestFailed: it is unknown whether the server granted them.
        """
        document = _document(holder, ACQUIRE, counts=counts, enforce=enforce)
        return self._agreed(self._send(document, within_seconds), Granted)

    def preview(
        self, holder: Leaseholder, counts: Mapping[str, int], *, enforce: bool, within_seconds: float
    ) -> Warned:
        """Return the reply that :meth:`acquire` would get, and hold nothing.

        Raises:
            Refusal: the server would not grant them; with its message.
            RequestFailed: it is unknown whether the server would.
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
            counts: What exists, by type; None if the operation never began, and so changed nothing.
            outcome: How it ended.
            later: Whether an undelivered message is sent again with this process's next one. The server may have
                received later operations by then: it must be able to recognize this one as older, because it granted
                it something, or there must be none.
            within_seconds: The time-out.

        Raises:
            RequestFailed: the server did not receive it, or that is unknown.
        """
        document = _document(holder, SETTLE, counts=counts, outcome=outcome)
        try:
            self._send(document, within_seconds)
        except RequestFailed:
            if later:
                self._owe(document)
            raise

    def _owe(self, document: Document) -> None:
        with self._lock:
            self._owed.setdefault(document["operation_id"], document)
            while len(self._owed) > MOST_OWED:
                del self._owed[next(iter(self._owed))]

    def _agreed(self, answer: Answer, model: type[AnyAnswer]) -> AnyAnswer:
        if answer.status == REFUSAL:
            raise Refusal(self._sender.shown(answer.words()) or f"{self._sender.where} gave no reason")
        reply = parsed(answer, model)
        return reply.model_copy(update={"warnings": tuple(map(self._sender.shown, reply.warnings))})

    def _send(self, document: Document, within_seconds: float) -> Answer:
        until = time.monotonic() + within_seconds
        # An earlier message must not delay a later one for long.
        answer = self._sent(document, within_seconds * 0.7)
        # A preview changes nothing.
        if document["phase"] != PREVIEW:
            self._catch_up(until)
        return answer

    def _catch_up(self, until: float) -> None:
        """Deliver the kept settlements to the server, which has just replied."""
        for operation_id, document in tuple(self._owed.items()):
            try:
                self._sent(document, until - time.monotonic())
            except RequestFailed as error:
                log.warning(
                    "licence settlement still not delivered", operation=operation_id, reason=str(error)
                )
                if error.passing:
                    return
                # The server answers and rejects this message: the others must not wait for it.
            with self._lock:
                self._owed.pop(operation_id, None)

    def _sent(self, document: Document, within_seconds: float) -> Answer:
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


def _document(holder: Leaseholder, phase: str, **fields: object) -> Document:
    # The stack is in the body too, because the signature covers the body alone.
    return {**asdict(holder), "phase": phase, **fields}
