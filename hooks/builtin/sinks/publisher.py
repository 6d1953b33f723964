"""A publisher of events on a topic exchange, through kombu."""

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from functools import cache
from typing import Any, Final

from kombu.connection import Connection
from kombu.entity import Exchange
from kombu.messaging import Producer
from kombu.transport import TRANSPORT_ALIASES

from hooks.builtin.sinks.confirms import Confirms
from hooks.builtin.sinks.document import VERSION, document
from hooks.builtin.sinks.routing import routing_key
from hooks.events import Event
from hooks.values.nearest import nearest

#: The message type, which identifies this schema among others in the same queue.
MESSAGE_TYPE: Final = "isotherm.event"
#: A broker that does not reply for this long is down.
SOCKET_SECONDS: Final = 5.0
#: The most messages sent to Redis in one batch.
BATCH: Final = 100


def check_url(url: str) -> None:
    """Check that kombu has a transport for a broker URL.

    Raises:
        ValueError: it has none; the message omits the URL, which may hold a password.
    """
    scheme, found, _ = url.partition("://")
    if not found:
        raise ValueError("url: expected a broker's URL, for example redis://localhost:6379/1")
    if scheme.partition("+")[0] not in TRANSPORT_ALIASES:
        raise ValueError(f"url: kombu knows no transport {scheme!r}; {nearest(scheme, TRANSPORT_ALIASES)}")


class Publisher:
    """One connection, on which events are published in order."""

    def __init__(self, url: str, *, exchange: str, serializer: str) -> None:
        """Connect.

        Raises:
            Exception: the broker is out of reach; the broker client's own error.
        """
        self._connection = Connection(
            url, connect_timeout=SOCKET_SECONDS, transport_options=_transport_options(url)
        )
        try:
            self._producer = Producer(
                self._connection.channel(),
                exchange=Exchange(exchange, type="topic", durable=True, delivery_mode="persistent"),
                serializer=serializer,
            )
            channel = self._producer.channel
            self._confirms = Confirms(channel) if hasattr(channel, "confirm_select") else None
        except BaseException:
            self.close()
            raise

    def publish(self, events: Sequence[Event], before: Sequence[int | None]) -> None:
        """Publish events; when this returns, the broker has them all.

        ``before`` has for each the id of the event before it of the same stack, if that is known.

        Raises:
            Exception: the broker is out of reach, or did not confirm: it is unknown which events it has.
        """
        with self._producer.batch(BATCH), _bindings_read_once(self._producer.channel):
            for event, previous_id in zip(events, before, strict=True):
                if self._confirms:
                    self._confirms.expect()
                self._producer.publish(
                    {**document(event), "previous_id": previous_id},
                    routing_key=routing_key(event),
                    headers={"id": event.id, "stack_id": event.stack_id, "version": VERSION},
                    message_id=str(event.id),
                    type=MESSAGE_TYPE,
                    timestamp=int(event.at),
                )
        if self._confirms:
            self._confirms.wait()

    def close(self) -> None:
        """Close the connection."""
        self._connection.release()


@contextmanager
def _bindings_read_once(channel: Any) -> Iterator[None]:
    """Have kombu look up bindings once, not per message: on Redis, that is most of the cost of publishing."""
    get_table = getattr(channel, "get_table", None)
    if get_table is None:
        # With AMQP, routing is the broker's.
        yield
        return
    channel.get_table = cache(get_table)
    try:
        yield
    finally:
        del channel.get_table


def _transport_options(url: str) -> dict[str, object]:
    if url.startswith(("redis", "sentinel")):
        return {
            "socket_connect_timeout": SOCKET_SECONDS,
            "socket_timeout": SOCKET_SECONDS,
            "socket_keepalive": True,
        }
    if url.startswith(("amqp", "pyamqp")):
        return {"read_timeout": SOCKET_SECONDS, "write_timeout": SOCKET_SECONDS}
    return {}
