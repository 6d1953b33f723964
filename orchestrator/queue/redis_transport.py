"""kombu's Redis transport with two fixes: it survives the loss of the broker, and fanout leaves no bindings behind.

In kombu 5.7, acknowledging or rejecting a message on a channel whose connection is closed fails with an error that ends
a Celery worker. Here it raises a lost connection, from which Celery recovers; Redis delivers the message again.
Listeners of a fanout exchange are not stored in Redis, where those of killed processes would remain.
"""

from typing import Any

from kombu.transport import redis as kombu_redis
from redis.exceptions import ConnectionError as LostConnection


class QoS(kombu_redis.QoS):
    """The unacknowledged messages of a channel."""

    def restore_unacked_once(self, stderr: object = None) -> None:
        """Restore unacknowledged messages, if the connection is open."""
        if self.channel.connected:
            super().restore_unacked_once(stderr)  # type: ignore[no-untyped-call]  # kombu is typed in part


class Channel(kombu_redis.Channel):
    """A channel that knows whether its connection was closed."""

    QoS = QoS

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

    def _connparams(self, asynchronous: bool = False) -> dict[str, Any]:
        if not self.connected:
            raise LostConnection("the connection to the broker was closed")
        parameters: dict[str, Any] = super()._connparams(asynchronous)  # type: ignore[no-untyped-call]  # as above
        return parameters


class Transport(kombu_redis.Transport):
    """The transport of the URL schemes of Redis."""

    Channel = Channel
