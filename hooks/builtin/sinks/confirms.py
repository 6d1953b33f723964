"""Publisher confirms of AMQP: waits for the broker's confirmation of many messages at a time."""

from typing import Any, Final

#: A broker that confirms nothing for this long is down, or out of space.
SILENCE_SECONDS: Final = 5.0


class NotConfirmed(Exception):
    """The broker rejected a message."""


class Confirms:
    """Counts the confirmations on one channel, on which nothing was published yet.

    Publishing does not wait for single confirmations, so that a batch takes as long as one message.
    """

    def __init__(self, channel: Any) -> None:
        """Switch the channel to publisher confirms."""
        self._channel = channel
        self._published = 0
        self._waiting: set[int] = set()
        self._refused = False
        channel.events["basic_ack"].add(self._confirmed)
        channel.events["basic_nack"].add(self._not_confirmed)
        channel.confirm_select()

    def expect(self) -> None:
        """Count one more message that is being published; the broker numbers them from 1."""
        self._published += 1
        self._waiting.add(self._published)

    def wait(self) -> None:
        """Return when the broker has confirmed everything.

        Raises:
            NotConfirmed: the broker rejected a message.
            TimeoutError: the broker did not reply.
        """
        while self._waiting:
            self._channel.connection.drain_events(timeout=SILENCE_SECONDS)
        if self._refused:
            raise NotConfirmed("the broker did not keep a message")

    def _confirmed(self, number: int, multiple: bool) -> None:
        """Record a confirmation: of one message, or of all up to it."""
        if multiple:
            self._waiting = {each for each in self._waiting if each > number}
        else:
            self._waiting.discard(number)

    def _not_confirmed(self, number: int, multiple: bool) -> None:
        self._refused = True
        self._confirmed(number, multiple)
