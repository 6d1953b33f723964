"""Mailboxes on the broker: messages to an address reach the listener that is connected, or are dropped.

No message is stored: Redis passes them on by publish/subscribe, and other brokers drop messages without a bound queue.
A listener posts an echo to itself now and then, and reconnects when that does not arrive: a broker that was emptied,
restarted or cut off needs no other repair.
"""

import threading
import time
import uuid
from collections.abc import Callable
from contextlib import suppress
from typing import Final

from celery import Celery
from kombu.connection import Connection
from kombu.entity import Exchange, Queue
from kombu.exceptions import OperationalError
from kombu.message import Message
from kombu.messaging import Consumer

from orchestrator.config.broker_urls import BROKER_REMEDY
from orchestrator.config.logger import get_logger
from orchestrator.errors import Unavailable
from orchestrator.nodes.rpc.sealing import Seal
from orchestrator.queue.serializers import SEALED

log = get_logger()

#: The exchange of all mailboxes.
EXCHANGE: Final = "node.mailboxes"
#: How often a mailbox posts an echo to itself; after how long a missing echo counts as lost.
ECHO_SECONDS: Final = 15.0
DEAF_AFTER_SECONDS: Final = 5.0
#: How often it posts until the first echo arrives: a subscription takes a moment.
FIRST_ECHO_SECONDS: Final = 0.2
#: The pause before a reconnect.
PAUSE_SECONDS: Final = 0.5
#: How long one read of the connection lasts.
_LOOK_SECONDS: Final = 1.0


class _Deaf(Exception):
    """The echo of a mailbox did not arrive."""


class Poster:
    """Posts to mailboxes over the app's connection pool; thread-safe."""

    def __init__(self, app: Celery) -> None:
        self._app = app
        connection = app.connection_for_write()
        self._exchange = mailboxes_of(connection)
        self._lost = (OperationalError, OSError, *connection.connection_errors, *connection.channel_errors)

    def post(self, address: str, data: bytes, *, keep_seconds: float) -> None:
        """Post a sealed message to an address; it is dropped if no listener is connected.

        Raises:
            Unavailable: the broker is out of reach.
        """
        try:
            with self._app.producer_or_acquire() as producer:
                producer.publish(
                    data,
                    serializer=SEALED,
                    exchange=self._exchange,
                    routing_key=address,
                    declare=[self._exchange],
                    delivery_mode="transient",
                    expiration=max(keep_seconds, 0.001),
                    retry=True,
                    retry_policy=self._app.conf.task_publish_retry_policy,
                )
        except self._lost as error:
            raise Unavailable(f"the broker does not answer: {error}", hint=BROKER_REMEDY) from error


class Mailbox:
    """A listener at an address, with its own connection and thread, from :meth:`start` until :meth:`close`."""

    def __init__(
        self,
        app: Celery,
        address: str,
        seal: Seal,
        *,
        on_message: Callable[[str, bytes], None],
        on_lost: Callable[[], None] | None = None,
    ) -> None:
        """Prepare a mailbox.

        ``address`` holds letters, digits, ``_``, ``.`` and ``-``: brokers take other characters for patterns.
        ``on_message`` receives the address and a message of which nothing is proven yet, and must not block;
        ``on_lost`` is called when messages may have been lost.
        """
        self.address = address
        self._app = app
        self._poster = Poster(app)
        self._seal = seal
        self._on_message = on_message
        self._on_lost = on_lost
        self._heard = threading.Event()
        #: The error of the last try to listen.
        self._fault = ""
        self._known = threading.Condition()
        self._stopping = threading.Event()
        self._thread = threading.Thread(target=self._run, name=f"mailbox {address}", daemon=True)

    def start(self) -> None:
        """Begin to listen."""
        self._thread.start()

    def wait_until_heard(self, timeout_seconds: float) -> bool:
        """Wait until messages arrive; return whether they do."""
        return self._heard.wait(timeout_seconds)

    def require_heard(self, timeout_seconds: float) -> None:
        """Wait until messages arrive.

        Raises:
            Unavailable: they do not, or the connection has failed.
        """
        with self._known:
            self._known.wait_for(lambda: self._heard.is_set() or self._fault, timeout_seconds)
            if not self._heard.is_set():
                raise Unavailable(f"the broker does not answer: {self._fault or 'nothing is heard of it'}")

    def close(self) -> None:
        """Stop listening; return when the thread has closed its connection."""
        self._stopping.set()
        if not self._thread.is_alive():
            return
        # An echo wakes the thread.
        with suppress(Unavailable):
            self._poster.post(self.address, self._seal.echo(self.address, ""), keep_seconds=_LOOK_SECONDS)
        self._thread.join(DEAF_AFTER_SECONDS)

    def _run(self) -> None:
        while not self._stopping.is_set():
            connection = self._app.connection_for_read(heartbeat=self._app.conf.broker_heartbeat)
            try:
                with connection:
                    self._listen(connection)
            except Exception as error:  # noqa: BLE001  # the thread reconnects after any error
                if not self._stopping.is_set():
                    self._lose(str(error) or type(error).__name__)
            self._stopping.wait(PAUSE_SECONDS)

    def _hear(self) -> None:
        with self._known:
            self._fault = ""
            self._heard.set()
            self._known.notify_all()

    def _lose(self, fault: str) -> None:
        with self._known:
            was_heard, is_news = self._heard.is_set(), not self._fault
            self._heard.clear()
            self._fault = fault
            self._known.notify_all()
        if is_news:
            log.warning("a mailbox reconnects", address=self.address, error=fault)
        if was_heard and self._on_lost is not None:
            self._on_lost()

    def _listen(self, connection: Connection) -> None:
        connection.ensure_connection(max_retries=1, interval_start=0, timeout=DEAF_AFTER_SECONDS)
        echo = _Echo(self._hear)
        queue = Queue(
            f"{EXCHANGE}.{self.address}.{uuid.uuid4().hex}",
            mailboxes_of(connection),
            routing_key=self.address,
            durable=False,
            exclusive=True,
            auto_delete=True,
        )

        def receive(message: Message) -> None:
            data = message.body if isinstance(message.body, bytes) else b""
            if (word := self._seal.echoed(data, address=self.address)) is not None:
                echo.hear(word)
            else:
                self._on_message(self.address, data)

        # Without decoding: a message proves where it is from before anything of it is read.
        def refuse(_message: Message, _error: Exception) -> None:
            # Without this, a message that kombu cannot decompress would break the connection, and others be lost.
            self._on_message(self.address, b"")

        with Consumer(
            connection, [queue], on_message=receive, on_decode_error=refuse, accept=[SEALED], no_ack=True
        ):
            # The first read sends the subscription to the broker.
            self._look(connection, 0.001)
            while not self._stopping.is_set():
                word = echo.due(time.monotonic())
                if word:
                    echoed = self._seal.echo(self.address, word)
                    self._poster.post(self.address, echoed, keep_seconds=DEAF_AFTER_SECONDS)
                self._look(connection, echo.pause_seconds)
                if connection.supports_heartbeats and connection.get_heartbeat_interval():
                    connection.heartbeat_check()

    @staticmethod
    def _look(connection: Connection, seconds: float) -> None:
        with suppress(TimeoutError):
            connection.drain_events(timeout=seconds)


class _Echo:
    """The timing of a mailbox's echoes, and the detection of lost ones."""

    def __init__(self, on_heard: Callable[[], None]) -> None:
        self._on_heard = on_heard
        self._mine = uuid.uuid4().hex
        self._heard_at: float | None = None
        self._posted_at: float | None = None
        #: Since when an echo is outstanding.
        self._waits_since: float | None = None

    @property
    def pause_seconds(self) -> float:
        """How long one read of the connection may last."""
        return FIRST_ECHO_SECONDS if self._waits_since is not None else _LOOK_SECONDS

    def hear(self, word: str) -> None:
        """Record an arrived echo; ignore echoes of other listeners at the same address."""
        if word == self._mine:
            self._heard_at, self._waits_since = time.monotonic(), None
            self._on_heard()

    def due(self, now: float) -> str:
        """Return the echo to post now; "" if none is due.

        Raises:
            _Deaf: an echo is overdue.
        """
        if self._waits_since is not None:
            if now - self._waits_since > DEAF_AFTER_SECONDS:
                raise _Deaf("it does not hear itself")
            is_due = self._posted_at is None or now - self._posted_at >= FIRST_ECHO_SECONDS
        else:
            is_due = self._heard_at is None or now - self._heard_at >= ECHO_SECONDS
            if is_due:
                self._waits_since = now
        if is_due:
            self._posted_at = now
        return self._mine if is_due else ""


def mailboxes_of(connection: Connection) -> Exchange:
    """Return the exchange of all mailboxes, on the broker of a connection."""
    # On Redis, kombu makes publish/subscribe by routing key of a fanout exchange; of a direct one it would make lists,
    # which keep messages without a listener. On other brokers, an exclusive queue ends with its listener's connection.
    kind = "fanout" if connection.transport.driver_type == "redis" else "direct"
    return Exchange(EXCHANGE, type=kind, durable=True, delivery_mode="transient")
