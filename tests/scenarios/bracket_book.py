"""A book into which lifecycle plugins write what they are asked and told, and what must hold of it."""

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from itertools import pairwise
from typing import Any, Final

import sqlalchemy as sa

from hooks.errors import Refusal
from hooks.lifecycle import Annotations, LifecycleContext, LifecyclePlugin
from hooks.loading.calling import TookTooLong
from orchestrator.store.tables import metadata
from orchestrator.store.traversals import operation_rows
from tests.scenarios.world import World

ENTER: Final = "enter"
LEAVE: Final = "leave"
#: How a call of a plugin ends.
YES: Final = "yes"
REFUSES: Final = "refuses"
RAISES: Final = "raises"
LATE: Final = "late"
DIED: Final = "died"

#: What is left as it was by an operation that a plugin refused: all but what is on record of the question.
_UNTOUCHED = ("operation", "operation_call")


@dataclass(kw_only=True)
class Call:
    """A plugin is asked before an operation, or told after it."""

    word: str
    plugin: str
    operation: str
    action: str
    #: How the call ended; until it does, its process may have died.
    end: str = DIED
    is_failure: bool = False
    outcome: str = ""


@dataclass
class Death:
    """A process dies; what had agreed on record by then: operations, each with a plugin."""

    agreed: frozenset[tuple[str, str]]


@dataclass
class Book:
    """What happened, in order."""

    world: World
    entries: list[Call | Death] = field(default_factory=list)
    violations: list[str] = field(default_factory=list)
    #: The traversals of before.
    _unasked: frozenset[str] = frozenset()

    def begin(self) -> None:
        """From here on, plugins are asked."""
        self._unasked = self._traversals()

    def die(self) -> None:
        """Write down that a process died."""
        sql = "SELECT operation_id, plugin FROM operation_call WHERE state = 'agreed'"
        with self.aside() as connection:
            agreed = frozenset((row[0], row[1]) for row in connection.execute(sa.text(sql)))
        self.entries.append(Death(agreed))

    @contextmanager
    def aside(self) -> Iterator[sa.Connection]:
        """Read the store without anybody noticing."""
        cloud = self.world.cloud
        crash_at, count = cloud.crash_at, cloud._count
        cloud.crash_at = None
        with self.world.store.database.read() as connection:
            yield connection
        cloud.crash_at, cloud._count = crash_at, count

    def status(self, traversal_id: str) -> str | None:
        """Return the status of a traversal; None if there is none."""
        with self.aside() as connection:
            sql = sa.text("SELECT status FROM traversal WHERE id = :id")
            return connection.execute(sql, {"id": traversal_id}).scalar_one_or_none()

    def content(self) -> dict[str, Any]:
        """Return all that is in the store but for what was asked and told."""
        tables = [table for table in metadata.sorted_tables if table.name not in _UNTOUCHED]
        with self.aside() as connection:
            return {table.name: sorted(map(repr, connection.execute(sa.select(table)))) for table in tables}

    # -- what must hold ----------------------------------------------------------------------------------------

    def check(self) -> None:
        """Check that all brackets match, when everything has come to an end."""
        assert not self.violations, self.violations
        rows = self._rows()
        operations = dict.fromkeys(call.operation for call in self.entries if isinstance(call, Call))
        assert set(operations) <= set(rows), "a plugin was asked about what is not on record"
        for operation_id, row in rows.items():
            self._check_operation(operation_id, row)
        names = [plugin.name for plugin in self.world.coordinator._brackets._plugins]
        if names:
            assert self._traversals() - self._unasked <= set(rows), (
                "an operation began that nobody was asked about"
            )

    def _traversals(self) -> frozenset[str]:
        with self.aside() as connection:
            return frozenset(connection.execute(sa.text("SELECT id FROM traversal")).scalars())

    def _rows(self) -> dict[str, Any]:
        with self.aside() as connection:
            return {row.id: row for row in connection.execute(sa.text("SELECT * FROM operation"))}

    def _check_operation(self, operation_id: str, row: Any) -> None:
        mine = [
            (no, each)
            for no, each in enumerate(self.entries)
            if isinstance(each, Call) and each.operation == operation_id
        ]
        enters = [(no, call) for no, call in mine if call.word == ENTER]
        leaves = [(no, call) for no, call in mine if call.word == LEAVE]
        status = self.status(operation_id)
        assert (row.state, row.leased_until) == (operation_rows.OVER, None), "nobody was told that it is over"
        assert {call.action for _, call in mine} <= {row.action}
        assert [no for no, _ in enters] == [no for no, _ in mine[: len(enters)]], "asked after it was over"
        self._check_repetitions(operation_id, enters)
        self._check_repetitions(operation_id, leaves)
        order = [plugin.name for plugin in self.world.coordinator._brackets._plugins]
        entered = list(dict.fromkeys(call.plugin for _, call in enters))
        assert entered == order[: len(entered)], "asked out of order"
        left = list(dict.fromkeys(call.plugin for _, call in leaves))
        assert left == [name for name in reversed(order) if name in left], "told out of order"
        self._check_told(order, entered, left, enters)
        for _, call in leaves:
            assert call.is_failure == (status != "COMPLETE"), "told another end than it came to"
            assert call.outcome == row.outcome
        assert (row.outcome == "complete") == (status == "COMPLETE")
        assert (row.outcome == "refused") == (status is None)
        last = {call.plugin: call.end for _, call in enters}
        if status is not None:
            assert entered == order, "it began although not all were asked"
            assert set(last.values()) <= {YES, DIED}, "it began although not all agreed"

    def _check_repetitions(self, operation_id: str, calls: Sequence[tuple[int, Call]]) -> None:
        """Check that a call came again only because a process died before its answer was on record."""
        for (no, call), (again, next_call) in pairwise(calls):
            if next_call.plugin != call.plugin:
                continue
            deaths = [each for each in self.entries[no + 1 : again] if isinstance(each, Death)]
            assert isinstance(self.entries[no + 1], Death), f"{call.plugin}: {call.word} twice for no reason"
            on_record = any((operation_id, call.plugin) in death.agreed for death in deaths)
            assert call.word == LEAVE or not on_record, "asked again although its answer was on record"
        names = [call.plugin for _, call in calls]
        once = list(dict.fromkeys(names))
        assert names == sorted(names, key=once.index), f"asked or told again after others: {names}"

    def _check_told(
        self,
        order: Sequence[str],
        entered: Sequence[str],
        left: Sequence[str],
        enters: Sequence[tuple[int, Call]],
    ) -> None:
        """Check that everybody was told who agreed or may have, and nobody else."""
        last = {call.plugin: (no, call) for no, call in enters}
        for name, (no, call) in last.items():
            dead = no + 1 < len(self.entries) and isinstance(self.entries[no + 1], Death)
            if call.end in (YES, LATE, DIED):
                assert name in left, f"{name} was asked and never told"
            elif not dead:
                assert name not in left, f"{name} refused, and was told all the same"
        never = [name for name in left if name not in entered]
        # One whose process died when it was about to be asked is told to be sure.
        assert never in ([], [order[len(entered)]] if len(entered) < len(order) else [])
        assert not never or any(isinstance(each, Death) for each in self.entries)


class Player(LifecyclePlugin):
    """Writes into a book, and answers by its moods; the process may die before and after each word."""

    def __init__(
        self, name: str, book: Book, *, asked: Sequence[str] = (YES,), told: Sequence[str] = (YES,)
    ) -> None:
        super().__init__()
        self.name, self._book = name, book
        self._asked, self._told = asked, told
        self._turns = {ENTER: 0, LEAVE: 0}

    def do_pre_op(self, context: LifecycleContext, *arguments: Any) -> Annotations | None:
        self._book.world.cloud.instruction()
        if self._book.status(context.operation_id) is not None:
            self._book.violations.append(f"{self.name} was asked when it had begun")
        call = Call(word=ENTER, plugin=self.name, operation=context.operation_id, action=arguments[-1])
        self._end(call, self._asked)
        return Annotations(stack={"by": self.name}, warnings=["beware"]) if len(self.name) % 2 else None

    def do_post_op(self, context: LifecycleContext, *arguments: Any) -> None:
        self._book.world.cloud.instruction()
        if self._book.status(context.operation_id) == "IN_PROGRESS":
            self._book.violations.append(f"{self.name} was told before it was over")
        *_, action, is_failure = arguments
        call = Call(
            word=LEAVE,
            plugin=self.name,
            operation=context.operation_id,
            action=action,
            is_failure=is_failure,
            outcome=context.outcome,
        )
        self._end(call, self._told)

    def _end(self, call: Call, moods: Sequence[str]) -> None:
        turn = self._turns[call.word]
        self._turns[call.word] += 1
        self._book.entries.append(call)
        self._book.world.cloud.instruction()
        call.end = moods[turn % len(moods)]
        if call.end == REFUSES:
            raise Refusal("not on a Friday")
        if call.end == RAISES:
            raise OSError("the disk is full")
        if call.end == LATE:
            raise TookTooLong("it has not answered within 0 s")
