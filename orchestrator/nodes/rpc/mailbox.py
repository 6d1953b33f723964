"""Mailboxes on the broker: what is posted to an address is heard by whoever listens there, or by nobody.

Nothing waits for somebody who is not there: Redis passes messages on without keeping them, and other brokers drop what
no queue is bound for. Who listens says so to itself now and then; when it does not hear that, it listens anew, over a
new connection: a broker that was emptied, restarted or cut off needs no other repair.
"""

import threading
import time
import uuid
from collections.abc import Callable, Mapping
from contextlib import suppress
from typing import Any, Final

import structlog
from celery import Celery
from kombu.connection import Connection
from kombu.entity import Exchange, Queue
from kombu.exceptions import OperationalError
from kombu.messaging import Consumer

from orchestrator.errors import Unavailable

log = structlog.get_logger()

#: The exchange of all mailboxes.
EXCHANGE: Final = "node.mailboxes"
#: How often who listens looks whether it is heard; how long its own words may take.
ECHO_SECONDS: Final = 15.0
DEAF_AFTER_SECONDS: Final = 5.0
#: Until it has heard itself once, it tries this often: a subscription takes a moment.
FIRST_ECHO_SECONDS: Final = 0.2
#: Pause before it listens anew.
PAUSE_SECONDS: Final = 0.5
#: How long one look at the connection lasts.
_LOOK_SECONDS: Final = 1.0
_ECHO: Final = "echo"


class _Deaf(Exception):
    """Who listens did not hear itself."""


class Poster:
    """Posts to mailboxes; safe for threads. Connections are the app's, and shared by all in the process."""

    def __init__(self, app: Celery) -> None:
        self._app = app
        connection = app.connection_for_write()
        self._exchange = mailboxes_of(connection)
        self._lost = (OperationalError, OSError, *connection.connection_errors, *connection.channel_errors)

    def post(self, address: str, body: Mapping[str, Any], *, keep_seconds: float) -> None:
        """Post something to an address; whoever listens there hears it, and if nobody does, it is gone.

        Args:
            address: Where to.
            body: What travels in msgpack.
            keep_seconds: How long it is of use to anybody; a broker that has it still then may drop it.

        Raises:
            Unavailable: the broker is out of reach.
        """
        try:
            with self._app.producer_or_acquire() as producer:
                producer.publish(
                    dict(body),
                    serializer="msgpack",
                    exchange=self._exchange,
                    routing_key=address,
                    declare=[self._exchange],
                    delivery_mode="transient",
                    expiration=max(keep_seconds, 0.001),
                    retry=True,
                    retry_policy=self._app.conf.task_publish_retry_policy,
                )
        except self._lost as error:
            raise Unavailable(f"the broker does not answer: {error}") from error


class Mailbox:
    """Listens at an address, on a connection and a thread of its own, from :meth:`start` until :meth:`close`."""

    def __init__(
        self,
        app: Celery,
        address: str,
        *,
        on_message: Callable[[Mapping[str, Any]], None],
        on_lost: Callable[[], None] | None = None,
    ) -> None:
        """Prepare a mailbox.

        Args:
            app: Whose broker it is on.
            address: Letters, digits, ``_``, ``.`` and ``-``: brokers take other characters for patterns.
            on_message: Called for each message, one after the other: it must not take long.
            on_lost: Called when something that was posted may not have been heard.
        """
        self.address = address
        self._app = app
        self._poster = Poster(app)
        self._on_message = on_message
        self._on_lost = on_lost
        self._heard = threading.Event()
        #: Why it was not heard when it tried last.
        self._fault = ""
        self._known = threading.Condition()
        self._stopping = threading.Event()
        self._thread = threading.Thread(target=self._run, name=f"mailbox {address}", daemon=True)

    def start(self) -> None:
        """Begin to listen."""
        self._thread.start()

    def wait_until_heard(self, timeout_seconds: float) -> bool:
        """Wait until what is posted here is heard; whether it is."""
        return self._heard.wait(timeout_seconds)

    def require_heard(self, timeout_seconds: float) -> None:
        """Wait until what is posted here is heard, or is known not to be.

        Raises:
            Unavailable: it is not.
        """
        with self._known:
            self._known.wait_for(lambda: self._heard.is_set() or self._fault, timeout_seconds)
            if not self._heard.is_set():
                raise Unavailable(f"the broker does not answer: {self._fault or 'nothing is heard of it'}")

    def close(self) -> None:
        """Listen no more; returns when the thread has let go of its connection."""
        self._stopping.set()
        if not self._thread.is_alive():
            return
        # Its own words wake it.
        with suppress(Unavailable):
            self._poster.post(self.address, {_ECHO: ""}, keep_seconds=_LOOK_SECONDS)
        self._thread.join(DEAF_AFTER_SECONDS)

    def _run(self) -> None:
        while not self._stopping.is_set():
            connection = self._app.connection_for_read(heartbeat=self._app.conf.broker_heartbeat)
            try:
                with connection:
                    self._listen(connection)
            except Exception as error:  # noqa: BLE001  # a mailbox lives as long as its process, whatever comes
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
            log.warning("a mailbox is listened to anew", address=self.address, error=fault)
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

        def receive(body: Any, _message: Any) -> None:
            if not isinstance(body, Mapping):
                log.warning("a mailbox got what is no message", address=self.address)
            elif _ECHO in body:
                echo.hear(body[_ECHO])
            else:
                self._on_message(body)

        with Consumer(connection, [queue], callbacks=[receive], accept=["msgpack"], no_ack=True):
            # The first look has the broker told that we listen.
            self._look(connection, 0.001)
            while not self._stopping.is_set():
                word = echo.due(time.monotonic())
                if word:
                    self._poster.post(self.address, {_ECHO: word}, keep_seconds=DEAF_AFTER_SECONDS)
                self._look(connection, echo.pause_seconds)
                if connection.supports_heartbeats and connection.get_heartbeat_interval():
                    connection.heartbeat_check()

    @staticmethod
    def _look(connection: Connection, seconds: float) -> None:
        with suppress(TimeoutError):
            connection.drain_events(timeout=seconds)


class _Echo:
    """When who listens speaks to itself, and whether it is deaf."""

    def __init__(self, on_heard: Callable[[], None]) -> None:
        self._on_heard = on_heard
        self._mine = uuid.uuid4().hex
        self._heard_at: float | None = None
        self._said_at: float | None = None
        #: Since when it waits to hear itself.
        self._waits_since: float | None = None

    @property
    def pause_seconds(self) -> float:
        """How long a look may last."""
        return FIRST_ECHO_SECONDS if self._waits_since is not None else _LOOK_SECONDS

    def hear(self, word: str) -> None:
        """Take note of a word; those of others, at the same address, say nothing."""
        if word == self._mine:
            self._heard_at, self._waits_since = time.monotonic(), None
            self._on_heard()

    def due(self, now: float) -> str:
        """Return what is to be said now, or nothing.

        Raises:
            _Deaf: it has spoken, and not heard itself.
        """
        if self._waits_since is not None:
            if now - self._waits_since > DEAF_AFTER_SECONDS:
                raise _Deaf("it does not hear itself")
            is_due = self._said_at is None or now - self._said_at >= FIRST_ECHO_SECONDS
        else:
            is_due = self._heard_at is None or now - self._heard_at >= ECHO_SECONDS
            if is_due:
                self._waits_since = now
        if is_due:
            self._said_at = now
        return self._mine if is_due else ""


def mailboxes_of(connection: Connection) -> Exchange:
    """Return the exchange of all mailboxes, on the broker of a connection."""
    # Redis passes on what goes to a fanout, by its routing key, without keeping it; of a direct exchange it would make
    # lists, and wait for nobody with those. Others keep the messages of an exclusive queue while somebody listens.
    kind = "fanout" if connection.transport.driver_type == "redis" else "direct"
    return Exchange(EXCHANGE, type=kind, durable=True, delivery_mode="transient")
