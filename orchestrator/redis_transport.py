"""kombu's Redis transport, which outlives the loss of its broker.

In kombu 5.7 a consumer that held messages when Redis went away tries to give them back over a connection that
it has closed before, and dies of it. Whatever it held is known to Redis anyway, and comes back from there.
"""

from typing import Any

from kombu.transport import redis


class QoS(redis.QoS):
    """What a channel holds and has not acknowledged."""

    def restore_unacked_once(self, stderr: Any = None) -> None:
        """Give back what is held, as long as there is a connection to do it over."""
        transport = self.channel.connection
        if transport is not None and transport.client is not None:
            super().restore_unacked_once(stderr)  # type: ignore[no-untyped-call]  # kombu is typed in part


class Channel(redis.Channel):
    """A channel with our way of giving back."""

    QoS = QoS


class Transport(redis.Transport):
    """The transport to name in the app's settings."""

    Channel = Channel
