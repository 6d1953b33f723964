"""A batch is there when the broker has confirmed each of its messages, however it puts the confirmations."""

from collections import defaultdict
from collections.abc import Callable
from typing import Any

import pytest

from hooks.builtin.sinks.confirms import Confirms, NotConfirmed

Answer = tuple[str, int, bool]


class Channel:
    """An AMQP channel of which the broker's answers are known beforehand."""

    def __init__(self, *answers: Answer) -> None:
        self.events: dict[str, set[Callable[..., Any]]] = defaultdict(set)
        self.answers = list(answers)
        self.confirms = False
        self.connection = self

    def confirm_select(self) -> None:
        self.confirms = True

    def drain_events(self, timeout: float) -> None:
        if not self.answers:
            raise TimeoutError
        kind, number, multiple = self.answers.pop(0)
        for callback in self.events[kind]:
            callback(number, multiple)


def waiting(*answers: Answer, published: int = 3) -> tuple[Channel, Confirms]:
    channel = Channel(*answers)
    confirms = Confirms(channel)
    assert channel.confirms
    for _ in range(published):
        confirms.expect()
    return channel, confirms


@pytest.mark.parametrize(
    "answers",
    [
        [("basic_ack", 3, True)],
        [("basic_ack", 1, False), ("basic_ack", 2, False), ("basic_ack", 3, False)],
        [("basic_ack", 3, False), ("basic_ack", 2, True)],
    ],
    ids=["all-at-once", "one-by-one", "the-last-first"],
)
def test_it_waits_for_every_confirmation(answers: list[Answer]) -> None:
    channel, confirms = waiting(*answers)
    confirms.wait()
    assert channel.answers == []


def test_what_was_published_later_is_waited_for_too() -> None:
    channel, confirms = waiting(("basic_ack", 3, True), ("basic_ack", 4, False))
    confirms.wait()
    confirms.expect()
    confirms.wait()
    assert channel.answers == []


def test_silence_is_an_error() -> None:
    _, confirms = waiting(("basic_ack", 2, True))
    with pytest.raises(TimeoutError):
        confirms.wait()


def test_a_refusal_is_an_error_once_all_is_answered() -> None:
    channel, confirms = waiting(("basic_nack", 1, False), ("basic_ack", 3, True))
    with pytest.raises(NotConfirmed):
        confirms.wait()
    assert channel.answers == []
