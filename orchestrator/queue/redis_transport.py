"""kombu's Redis transport, which outlives the loss of its broker.

In kombu 5.7 a channel whose connection is closed trips over what it no longer has, as soon as somebody acknowledges a
message or gives it back; Celery takes that for its end. Here it is what it is, a lost connection, which Celery gets
over. The message comes back from Redis, to a consumer that recognizes it. And who listens to what is told to all leaves
nothing behind, however it ends.
"""

from typing import Any

from kombu.transport import redis as kombu_redis
from redis.exceptions import ConnectionError as LostConnection


class QoS(kombu_redis.QoS):
    """What a channel holds and has not acknowledged."""

    def restore_unacked_once(self, stderr: Any = None) -> None:
        """Give back what is held, as long as there is a connection to do it over."""
        if self.channel.connected:
            super().restore_unacked_once(stderr)  # type: ignore[no-untyped-call]  # kombu is typed in part


class Channel(kombu_redis.Channel):
    """A channel that knows whether its connection was closed."""

    QoS = QoS

    @property
    def connected(self) -> bool:
        """Whether the connection was not closed yet."""
        return self.connection is not None and self.connection.client is not None

    def _queue_bind(self, exchange: str, routing_key: str, pattern: str, queue: str) -> None:
        kind = self.typeof(exchange).type  # type: ignore[no-untyped-call]  # kombu is typed in part
        if kind != "fanout":
            super()._queue_bind(exchange, routing_key, pattern, queue)  # type: ignore[no-untyped-call]  # as above
            return
        # Redis publishes these, and looks nobody up: a list of who listens would only outlive those who were killed.
        self._fanout_queues[queue] = (exchange, routing_key.replace("#", "*"))

    def _connparams(self, asynchronous: bool = False) -> dict[str, Any]:
        if not self.connected:
            raise LostConnection("the connection to the broker was closed")
        parameters: dict[str, Any] = super()._connparams(asynchronous)  # type: ignore[no-untyped-call]  # as above
        return parameters


class Transport(kombu_redis.Transport):
    """The transport to be found under the schemes of Redis's URLs."""

    Channel = Channel
