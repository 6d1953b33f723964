"""Facts that were read a moment ago."""

from dataclasses import replace

import pytest

from orchestrator.errors import NotFound
from orchestrator.queries.recent import RecentFacts
from orchestrator.views.facts import Facts
from tests.unit.orchestrator.queries.made import facts


class Read:
    """What is read, how often, and when."""

    def __init__(self, fresh_seconds: float = 0.5) -> None:
        self.now, self.cursor, self.times = 0.0, 7, 0
        self.recent = RecentFacts(
            self.read, lambda: self.cursor, fresh_seconds=fresh_seconds, clock=lambda: self.now
        )

    def read(self, stack_id: str, traversal_id: str) -> Facts:
        if stack_id == "gone":
            raise NotFound("the stack is gone")
        self.times += 1
        read = facts([])
        operation = replace(read.operation, stack_id=stack_id, traversal_id=traversal_id)
        return replace(read, operation=operation, cursor=self.cursor)

    def ask(self, stack_id: str = "s", traversal_id: str = "t") -> int:
        """Ask for an operation's facts, and return how often anything was read so far."""
        told = self.recent(stack_id, traversal_id).operation
        assert (told.stack_id, told.traversal_id) == (stack_id, traversal_id)
        return self.times


def test_who_asks_for_the_same_at_once_is_told_what_was_read() -> None:
    read = Read()
    assert [read.ask(), read.ask(), read.ask()] == [1, 1, 1]


def test_what_happened_since_is_read() -> None:
    read = Read()
    read.ask()
    read.cursor += 1
    assert [read.ask(), read.ask()] == [2, 2]


def test_after_a_while_all_is_read_again_and_nothing_is_kept() -> None:
    read = Read()
    read.ask()
    read.now = 0.5
    assert read.ask("other") == 2
    assert list(read.recent._known) == [("other", "t")]
    assert read.ask() == 3


def test_each_operation_is_told_apart() -> None:
    read = Read()
    assert [read.ask("s", "t"), read.ask("s", "u"), read.ask("r", "t"), read.ask("s", "t")] == [1, 2, 3, 3]


def test_without_a_time_all_is_read_each_time() -> None:
    read = Read(fresh_seconds=0)
    assert [read.ask(), read.ask()] == [1, 2]
    assert not read.recent._known


def test_what_is_not_found_is_asked_for_again() -> None:
    read = Read()
    for _ in range(2):
        with pytest.raises(NotFound):
            read.ask("gone")
