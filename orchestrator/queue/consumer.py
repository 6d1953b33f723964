"""Celery's consumer of a worker, behind the verification of every message.

Nothing of a message is used before its envelope is verified: not its headers, which could set a time limit or a date,
nor its properties. What is refused is dropped, counted and recorded; it never returns to the queue.
"""

import time
from collections.abc import Callable
from datetime import UTC, datetime
from typing import Any, Final

from celery.worker.consumer import Consumer
from kombu.message import Message

from orchestrator.config.logger import get_logger
from orchestrator.errors import InvalidInput
from orchestrator.keys.envelope import ADDRESSEE, FORM, ID, KIND, SIZE, Envelope, Refused
from orchestrator.keys.key import NODE, Key
from orchestrator.queue.installation import HEADER
from orchestrator.queue.refusals import refusals
from orchestrator.queue.sealing import use_of

log = get_logger()

#: The header with the id of the key that signed a verified message.
SIGNED_BY: Final = "signed_by"
#: How long an event of a task may wait for others; 24 are sent at once.
EVENTS_WAIT_SECONDS: Final = 0.05
_LONGEST_NAME: Final = 255
_LONGEST_SUMMARY: Final = 2000


class VerifyingConsumer(Consumer):  # type: ignore[misc]  # celery has no types
    """A consumer that hands on verified messages only, and sends the events of tasks several at a time."""

    #: When the events that wait are sent, by the monotonic clock.
    _sends_events_at = 0.0

    def on_send_event_buffered(self) -> None:
        """Have the events that wait sent soon, together with those that come until then; Celery sends each alone."""
        now = time.monotonic()
        if self.hub and now >= self._sends_events_at:
            self._sends_events_at = now + EVENTS_WAIT_SECONDS
            self.timer.call_after(EVENTS_WAIT_SECONDS, self._flush_events)

    def shutdown(self) -> None:
        """Send the events that wait, and end."""
        self._flush_events()
        super().shutdown()

    def create_task_handler(self, *args: Any, **options: Any) -> Callable[[Message], None]:
        """Return the handler of messages."""
        handle = super().create_task_handler(*args, **options)
        queues = frozenset(self.app.amqp.queues.consume_from)

        def received(message: Message) -> None:
            queue = queue_of(message, queues)
            try:
                envelope, key = verified(message, self.app, queues)
            except Refused as why:
                refusals.add(queue, why, message.body, message.headers)
                message.reject_log_error(log, self.connection_errors)
                return
            clean(message, envelope, key)
            handle(message)

        return received

    def on_decode_error(self, message: Message, exc: Exception) -> None:
        """Refuse a message that kombu cannot decompress, or one of remote control that is not signed."""
        why = exc.__cause__ if isinstance(exc.__cause__, Refused) else Refused(FORM, "it cannot be decoded")
        place = queue_of(message, frozenset(self.app.amqp.queues.consume_from), "remote control")
        refusals.add(place, why, message.body)
        message.ack()


def verified(message: Message, app: Any, queues: frozenset[str]) -> tuple[Envelope, Key]:
    """Return the envelope of a task's message, bound to what the message says of itself, and the key that signed it.

    Raises:
        Refused: it proves something else, or nothing.
    """
    if not isinstance(message.body, bytes) or message.errors:
        raise Refused(FORM, "it has no signed body")
    if len(message.body) > app.settings.max_message_bytes:
        raise Refused(SIZE, f"it has {len(message.body)} bytes; see the setting max_message_bytes")
    headers = message.headers if isinstance(message.headers, dict) else {}
    task = _text(headers.get("task"), KIND, "the header 'task'")
    message_id = _text(headers.get("id"), ID, "the header 'id'")
    summary = headers.get("kwargsrepr", "")
    if not isinstance(summary, str) or len(summary) > _LONGEST_SUMMARY:
        raise Refused(FORM, "the header 'kwargsrepr' is no short text")
    if task not in app.tasks:
        raise Refused(KIND, "no such task is carried out here")
    try:
        ring = app.keys()
    except InvalidInput as error:
        raise Refused(FORM, str(error)) from error
    use = use_of(task)
    # The clock of a node may be far off: what its requests have left is judged by another.
    now = None if use == NODE else time.time()
    envelope, key = Envelope.open(message.body, ring, uses=(use,), now=now, summary=summary)
    if envelope.addressee not in queues:
        raise Refused(ADDRESSEE, f"it was signed for {envelope.addressee!r}")
    envelope.require(kinds=(task,), addressee=envelope.addressee, message_id=message_id)
    return envelope, key


def clean(message: Message, envelope: Envelope, key: Key) -> None:
    """Leave of a verified message what is proven, and what is needed to acknowledge it."""
    message.headers = {
        "lang": "py",
        "task": envelope.kind,
        "id": envelope.id,
        "root_id": envelope.id,
        "argsrepr": "()",
        "kwargsrepr": message.headers.get("kwargsrepr", ""),
        "ignore_result": True,
        HEADER: envelope.installation,
        SIGNED_BY: key.id,
    }
    if use_of(envelope.kind) != NODE:
        ends_at = envelope.sent_at + envelope.lifetime_seconds
        message.headers["expires"] = datetime.fromtimestamp(ends_at, UTC).isoformat()
    info = message.delivery_info if isinstance(message.delivery_info, dict) else {}
    message.delivery_info = {
        **{name: value for name, value in info.items() if isinstance(value, (str, int, bool))},
        "exchange": "",
        "routing_key": envelope.addressee,
    }
    message.properties = {
        name: value for name in ("delivery_tag",) if (value := message.properties.get(name)) is not None
    }


def queue_of(message: Message, queues: frozenset[str], other: str = "") -> str:
    """Return the queue by which a message came, as far as it says so; else ``other``, or one of them."""
    info = message.delivery_info
    named = info.get("routing_key") if isinstance(info, dict) else None
    return named if isinstance(named, str) and named in queues else other or min(queues, default="")


def _text(value: object, reason: str, what: str) -> str:
    if not isinstance(value, str) or not value or len(value) > _LONGEST_NAME:
        raise Refused(reason, f"{what} is no name")
    return value
