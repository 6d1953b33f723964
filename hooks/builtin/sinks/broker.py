"""The event sink ``broker``: events as messages on a topic exchange, on any broker that kombu supports."""

from collections.abc import Sequence
from typing import TYPE_CHECKING, ClassVar, Literal

from pydantic import Field, SecretStr

from hooks.builtin.sinks.chain import Chain
from hooks.events import Event, EventSink
from hooks.options import HookOptions

if TYPE_CHECKING:
    from hooks.builtin.sinks.publisher import Publisher


class BrokerOptions(HookOptions):
    """The options of the sink ``broker``."""

    url: SecretStr = Field(
        description="The broker: `redis://host:6379/1` or `amqp://user:password@host//`. It may be the "
        "broker of the checks; then use another database or virtual host."
    )
    exchange: str = Field(
        default="isotherm.events",
        pattern=r"^[A-Za-z0-9_.:-]{1,127}$",
        description="The topic exchange; it is declared as durable.",
    )
    serializer: Literal["msgpack", "json"] = Field(
        default="msgpack", description="How messages are packed: `msgpack` or `json`."
    )


class BrokerSink(EventSink):
    """Publishes each event as a message."""

    description: ClassVar[str] = "Publishes each event to a topic exchange, on AMQP or Redis."
    enabled_by_default: ClassVar[bool] = False
    Options: ClassVar[type[HookOptions]] = BrokerOptions
    options: BrokerOptions

    def __init__(self, options: BrokerOptions) -> None:
        # Every process imports this module, and few publish: kombu is imported on demand.
        from hooks.builtin.sinks.publisher import check_url

        super().__init__(options)
        check_url(options.url.get_secret_value())
        self._chain = Chain()
        self._publisher: Publisher | None = None

    def consume(self, events: Sequence[Event]) -> None:
        """Publish each event; when this returns, the broker has them all.

        Raises:
            Exception: the broker is out of reach, or did not confirm.
        """
        before, chain = self._chain.follow(events)
        try:
            self._open().publish(events, before)
        except BaseException:
            # The state of the connection is unknown: the next attempt opens another.
            self.close()
            raise
        self._chain = chain

    def save(self) -> bytes:
        """Return the id of the last published event of each stack."""
        return self._chain.to_bytes()

    def restore(self, state: bytes) -> None:
        """Continue after the events that were published last."""
        self._chain = Chain.from_bytes(state)

    def close(self) -> None:
        """Close the connection."""
        publisher, self._publisher = self._publisher, None
        if publisher is not None:
            publisher.close()

    def _open(self) -> "Publisher":
        if self._publisher is None:
            from hooks.builtin.sinks.publisher import Publisher

            options = self.options
            self._publisher = Publisher(
                options.url.get_secret_value(), exchange=options.exchange, serializer=options.serializer
            )
        return self._publisher
