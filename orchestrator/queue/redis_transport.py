"""kombu's Redis transport with four fixes: lost brokers, bindings of fanout, empty queues, entries without a message.

In kombu 5.7, acknowledging or rejecting a message on a channel whose connection is closed fails with an error that ends
a Celery worker. Here it raises a lost connection, from which Celery recovers; Redis delivers the message again.
Listeners of a fanout exchange are not stored in Redis, where those of killed processes would remain. An entry of a list
that is no message, or has nested headers, would end the process that takes it; here it is refused. To count an empty
queue is no error, which would cost whoever counts the connection. And a channel has one client.
"""

import logging
from queue import Empty
from typing import Any, Final

from kombu.transport import redis as kombu_redis
from redis.exceptions import ConnectionError as LostConnection

from orchestrator.keys.envelope import FORM, Refused
from orchestrator.model.plain import NotPlain, refuse_no_map
from orchestrator.queue.refusals import refusals

#: What decoding raises for an entry that is no JSON, is nested too deep, or names a type that it does not hold.
_NO_MESSAGE: Final = (ValueError, TypeError, LookupError, ArithmeticError, RecursionError)
#: The limits of headers and properties of a message.
_MOST_BYTES: Final = 64 * 1024
_DEEPEST: Final = 5


class _Counted(logging.Filter):
    """Counts what kombu logs, with its content, of each message to a mailbox that is no JSON."""

    def filter(self, record: logging.LogRecord) -> bool:
        """Keep the other log lines."""
        if not record.getMessage().startswith("Cannot process event"):
            return True
        refusals.add("", Refused(FORM, "it is no message of kombu: no JSON"))
        return False


kombu_redis.logger.addFilter(_Counted())


class QoS(kombu_redis.QoS):
    """The unacknowledged messages of a channel."""

    def restore_unacked_once(self, stderr: object = None) -> None:
        """Restore unacknowledged messages, if the connection is open."""
        if self.channel.connected:
            super().restore_unacked_once(stderr)  # type: ignore[no-untyped-call]  # kombu is typed in part


class Channel(kombu_redis.Channel):
    """A channel that knows whether its connection was closed."""

    QoS = QoS
    #: No message has a priority; each step but the first would be one more list to look at.
    priority_steps = [0]
    _one_client: Any = None

    @property
    def connected(self) -> bool:
        """Whether the connection is open."""
        return self.connection is not None and self.connection.client is not None

    def _queue_bind(self, exchange: str, routing_key: str, pattern: str, queue: str) -> None:
        kind = self.typeof(exchange).type  # type: ignore[no-untyped-call]  # kombu is typed in part
        if kind != "fanout":
            super()._queue_bind(exchange, routing_key, pattern, queue)  # type: ignore[no-untyped-call]  # as above
            return
        # Redis publishes to these without bindings; a stored binding would only outlive a killed listener.
        self._fanout_queues[queue] = (exchange, routing_key.replace("#", "*"))

    def _has_queue(self, queue: str, **_: object) -> bool:  # noqa: ARG002  # kombu passes it
        """Return that there is a queue: Redis drops a list with its last entry, and makes it with the first."""
        return True

    def _size(self, queue: str) -> int:
        """Count the messages of a queue by one command, without a transaction."""
        return int(self._create_client().llen(queue))

    def _create_client(self, asynchronous: bool = False) -> Any:
        """Return the client of the channel's connections: kombu makes another one for each command."""
        if asynchronous:
            return super()._create_client(asynchronous)  # type: ignore[no-untyped-call]  # as above
        if self._one_client is None or self._one_client.connection_pool is not self.pool:
            self._one_client = super()._create_client()  # type: ignore[no-untyped-call]  # as above
        return self._one_client

    def _brpop_read(self, **options: Any) -> Any:
        self.connection.is_delivering = False
        try:
            return super()._brpop_read(**options)  # type: ignore[no-untyped-call]  # as above
        except _NO_MESSAGE as error:
            self._refuse(error)
            return True

    def _receive_one(self, c: Any) -> Any:
        self.connection.is_delivering = False
        try:
            return super()._receive_one(c)  # type: ignore[no-untyped-call]  # as above
        except _NO_MESSAGE as error:
            self._refuse(error)
            raise Empty from error

    def _refuse(self, error: Exception) -> None:
        """Refuse an entry that could not be decoded; an error of what handles messages is raised again."""
        if self.connection.is_delivering:
            raise error
        refusals.add("", Refused(FORM, f"it is no message of kombu: {type(error).__name__}"))

    def _connparams(self, asynchronous: bool = False) -> dict[str, Any]:
        if not self.connected:
            raise LostConnection("the connection to the broker was closed")
        parameters: dict[str, Any] = super()._connparams(asynchronous)  # type: ignore[no-untyped-call]  # as above
        return parameters


class Transport(kombu_redis.Transport):
    """The transport of the URL schemes of Redis."""

    Channel = Channel
    #: Whether a message was decoded, and is being handled.
    is_delivering = False

    def _deliver(self, message: Any, queue: str) -> None:
        try:
            _require_flat(message)
        except (Refused, NotPlain) as error:
            refusals.add(queue, Refused(FORM, f"it is no message of kombu: {error}"))
            return
        self.is_delivering = True
        super()._deliver(message, queue)  # type: ignore[no-untyped-call]  # as above


def _require_flat(message: Any) -> None:
    """Require the shape of a message, and headers and properties that are small and flat.

    Raises:
        NotPlain, Refused: it has another.
    """
    refuse_no_map(message, most_bytes=2**30, deepest=_DEEPEST)
    properties, headers = message.get("properties"), message.get("headers", {})
    refuse_no_map(properties, most_bytes=_MOST_BYTES, deepest=_DEEPEST)
    refuse_no_map(headers if headers is not None else {}, most_bytes=_MOST_BYTES, deepest=_DEEPEST)
    texts = (properties.get("delivery_tag"), message.get("body"))
    if not all(isinstance(each, str) for each in texts) or not isinstance(
        properties.get("delivery_info"), dict
    ):
        raise Refused(FORM, "it lacks a body, a delivery tag or delivery info")
