"""Brackets of lifecycle plugins, whatever plugins there are, whatever is done, and whoever fails or dies in it.

``ISOTHERM_HISTORIES`` is how many lives of a stack are played; unless it is set, always the same few.
"""

import os
import threading
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from typing import Any, Final

import pytest
import sqlalchemy as sa
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from structlog.testing import capture_logs

from hooks.lifecycle import Annotations, LifecycleContext
from hooks.stack import FrozenStack
from orchestrator.errors import Conflict, NotFound, Unavailable
from orchestrator.lifecycle.running_operations import RunningOperations
from orchestrator.model.messages import (
    OPERATE_JOBS,
    AdoptJob,
    CancelJob,
    DeleteJob,
    RestoreJob,
    SnapshotJob,
    StackJob,
)
from orchestrator.store.tables import annotation
from tests.operations import operations_of
from tests.scenarios.bracket_book import ENTER, LATE, LEAVE, RAISES, REFUSES, YES, Book, Call, Death, Player
from tests.scenarios.cloud import Crash
from tests.scenarios.test_updates import template, value
from tests.scenarios.world import World
from tests.waiting import PATIENCE_SECONDS

EXAMPLES: Final = int(os.environ.get("ISOTHERM_HISTORIES", "0"))
FILES: Final = {"pair.yaml": template({"disk": value("1")})}
NESTED: Final = """\
heat_template_version: 2021-04-16
resources: {a: {type: Cloud::Object}, pair: {type: pair.yaml}}
"""
#: What a stack may become: changed in place, replaced, with another stack in it, nothing.
TEMPLATES: Final = (
    template({"a": value("1", "s")}),
    template({"a": value("1", "l")}),
    template({"a": value("2", "s"), "b": value("{get_attr: [a, value]}")}),
    NESTED,
    template({}),
)
CREATE, UPDATE, ADOPT, DELETE, ABANDON = "create", "update", "adopt", "delete", "abandon"
CHECK, SUSPEND, RESUME, SNAPSHOT, RESTORE = "CHECK", "SUSPEND", "RESUME", "snapshot", "restore"
CANCEL, ROLL_BACK, SETTLE, STEPS = "cancel", "cancel and roll back", "settle", "steps"
COMMANDS: Final = (
    CREATE,
    UPDATE,
    UPDATE,
    ADOPT,
    DELETE,
    ABANDON,
    CHECK,
    SUSPEND,
    RESUME,
    SNAPSHOT,
    RESTORE,
    CANCEL,
    ROLL_BACK,
    SETTLE,
    SETTLE,
    STEPS,
    STEPS,
)
#: What is there before anybody is asked, and what is done then.
PATHS: Final[Mapping[str, tuple[tuple[str, ...], str]]] = {
    "create": ((), CREATE),
    "adopt": ((), ADOPT),
    "update": ((CREATE,), UPDATE),
    "delete": ((CREATE,), DELETE),
    "abandon": ((CREATE,), ABANDON),
    "check": ((CREATE,), CHECK),
    "suspend": ((CREATE,), SUSPEND),
    "resume": ((CREATE, SUSPEND), RESUME),
    "snapshot": ((CREATE,), SNAPSHOT),
    "restore": ((CREATE, SNAPSHOT, UPDATE), RESTORE),
    "roll back": ((CREATE, UPDATE), ROLL_BACK),
}


@dataclass(frozen=True, kw_only=True)
class Cast:
    """A plugin, and how it answers, one call after the other and then from the start."""

    ordinal: int = 100
    #: Which of the plugins after it in the list it says that it comes before, and after it.
    before: frozenset[int] = frozenset()
    after: frozenset[int] = frozenset()
    asked: tuple[str, ...] = (YES,)
    told: tuple[str, ...] = (YES,)
    #: How long it may take; so long nobody goes on with what a process did that died over it.
    limit_seconds: float = 30.0


@dataclass(frozen=True, kw_only=True)
class Command:
    """What somebody does."""

    what: str
    template: int = 0
    rollback: bool = False
    #: What goes wrong in the world until it settles: an action that fails, or one that takes longer than there is time.
    fails: str = ""
    times_out: bool = False
    #: So many instructions after the command was given, the process dies.
    dies: int | None = None
    #: Whether the job comes again then.
    again: bool = True
    #: Whether the job is delivered twice.
    twice: bool = False
    steps: int = 1


moods = st.lists(st.sampled_from([YES] * 9 + [REFUSES, RAISES, LATE]), min_size=1, max_size=6).map(tuple)
told = st.lists(st.sampled_from([YES, YES, RAISES, LATE]), min_size=1, max_size=3).map(tuple)
few = st.frozensets(st.integers(1, 4), max_size=1)
casts = st.lists(
    st.builds(
        Cast,
        ordinal=st.integers(99, 101),
        before=few,
        after=few,
        asked=moods | st.just((YES,)),
        told=told,
        limit_seconds=st.sampled_from([30.0, 600.0]),
    ),
    max_size=5,
)


def one_of(commands: Sequence[str]) -> st.SearchStrategy[Command]:
    return st.builds(
        Command,
        what=st.sampled_from(commands),
        template=st.integers(0, len(TEMPLATES) - 1),
        rollback=st.booleans(),
        fails=st.sampled_from(["", "", "create", "update", "delete"]),
        times_out=st.sampled_from([False, False, False, True]),
        dies=st.none() | st.none() | st.integers(1, 40) | st.integers(1, 150),
        again=st.booleans(),
        twice=st.booleans(),
        steps=st.integers(1, 6),
    )


class Play:
    """One stack's life in a world with plugins."""

    def __init__(self) -> None:
        self.world = World()
        self.book = Book(self.world)
        self._jobs = 0
        self._generation = 0

    def prepare(self, what: Sequence[str], template: int) -> None:
        """Do what nobody is asked about; the last of it is under way when it is to be rolled back."""
        for each in what:
            self.settle()
            self.do(Command(what=each, template=template))
            template = 1

    def plug(self, cast: Sequence[Cast]) -> None:
        """Let these be asked about all that is done from here on."""
        self.book.begin()
        players = [
            Player(f"p{'x' * (no % 2)}{no}", self.book, asked=each.asked, told=each.told)
            for no, each in enumerate(cast)
        ]
        for no, (player, each) in enumerate(zip(players, cast, strict=True)):
            player.ordinal = each.ordinal
            player.time_limit_seconds = each.limit_seconds
            # Only those further on in the list: so no circle comes of it.
            player.before = {players[no + by].name for by in each.before if no + by < len(players)}  # type: ignore[misc]
        for no, each in enumerate(cast):
            for by in each.after:
                if no + by < len(players):
                    players[no + by].after = {*players[no + by].after, players[no].name}  # type: ignore[misc]
        self.world.plug(*players)

    # -- what somebody does ------------------------------------------------------------------------------------

    def do(self, command: Command) -> None:
        """Do what the command says, and go on when a process dies of it."""
        self._trouble(command)
        if command.dies is not None:
            self.world.cloud.crash_after(command.dies)
        if command.what == SETTLE:
            self.settle()
        elif command.what == STEPS:
            for _ in range(command.steps):
                self._deliver(keep=command.twice)
        else:
            self._jobs += 1
            job = self._job(command, f"job-{self._jobs}")
            if job is not None:
                self._order(job, again=command.again)
                if command.twice:
                    self._order(job, again=command.again)

    def _trouble(self, command: Command) -> None:
        cloud = self.world.cloud
        match command.fails:
            case "create":
                cloud.failing = {"b": -1, "disk": -1}
            case "update":
                cloud.failing_updates = {"a": True}
            case "delete":
                cloud.failing_deletes = {"a": True, "disk": True}
        cloud.polls = {"a": 100, "disk": 100} if command.times_out else {}

    def _job(self, command: Command, job_id: str) -> Callable[[], Any] | None:
        given: dict[str, Any] = {
            "name": "s",
            "template": TEMPLATES[command.template],
            "files": FILES if TEMPLATES[command.template] == NESTED else {},
            "rollback": command.rollback,
            "timeout_minutes": 1 if command.times_out else None,
            "job_id": job_id,
        }
        act = self.world.coordinator
        match command.what:
            case "create":
                return lambda: act.create(StackJob(**given))
            case "update":
                return lambda: act.update(StackJob(**given))
            case "adopt":
                given |= {"template": TEMPLATES[0], "files": {}}
                made = {"a": {"resource_id": self.world.cloud.make("nobody", "a", "1")}}
                self.world.cloud.sizes[made["a"]["resource_id"]] = "s"
                return lambda: act.adopt(AdoptJob(**given, resources=made))
            case "delete" | "abandon" as what:
                return lambda: act.delete(DeleteJob(name="s", job_id=job_id, abandon=what == ABANDON))
            case "CHECK" | "SUSPEND" | "RESUME" as action:
                return lambda: act.operate(OPERATE_JOBS[action](name="s", job_id=job_id))
            case "snapshot":
                return lambda: act.snapshot(SnapshotJob(name="s", snapshot=job_id, job_id=job_id))
            case "restore":
                held = self._snapshots()
                if not held:
                    return None
                restore = RestoreJob(name="s", snapshot=held[0], rollback=command.rollback, job_id=job_id)
                return lambda: act.restore(restore)
            case "cancel" | "cancel and roll back" as what:
                return lambda: act.cancel(CancelJob(name="s", rollback=what == ROLL_BACK, job_id=job_id))
        raise AssertionError(command.what)

    def _snapshots(self) -> list[str]:
        with self.book.aside():
            try:
                stack = self.world.store.stacks.find("s", project="default")
            except NotFound:
                return []
            return [row.name for row in self.world.store.snapshots.all(stack.id)]

    def _order(self, job: Callable[[], Any], *, again: bool) -> None:
        """Deliver a job until somebody has done it, as a broker does whose consumers die; or let it be lost."""
        for _ in range(20):
            before, entries = self.book.content(), len(self.book.entries)
            try:
                if self._survives(job):
                    return
                if not again:
                    return
            except Unavailable:
                self.world.now += 100
            except (Conflict, NotFound) as error:
                died = self.world.cloud.crash_at is None and any(
                    not hasattr(each, "word") for each in self.book.entries[entries:]
                )
                if "refused by lifecycle plugin" in str(error) and not died:
                    assert self.book.content() == before, "a refused operation changed something"
                return
        raise AssertionError("nobody carries the job out")

    # -- fate --------------------------------------------------------------------------------------------------

    def _deliver(self, *, keep: bool) -> None:
        if not self.world.messages:
            self._survives(
                lambda: self.world.sweep(after=(self.world.store.sweeper.next_due() or 0.0) + 0.001)
            )
            return
        with suppress(Unavailable):
            self._survives(lambda: self.world.deliver(keep=keep))

    def _survives(self, act: Callable[[], Any]) -> bool:
        if self.world.survive(act):
            return True
        self.book.die()
        # Another process comes in its place.
        self._generation += 1
        brackets = self.world.coordinator._brackets
        brackets._owner = self.world.coordinator._name = f"coordinator-{self._generation}"
        brackets._working = RunningOperations()
        return False

    def settle(self) -> None:
        """Let everything end."""
        for _ in range(100):
            # A message that is not carried out because others are at it comes again.
            with suppress(Unavailable):
                if self._survives(self.world.settle):
                    return
        raise AssertionError("it never comes to rest")

    def end(self) -> None:
        """Let everything end, and look at the book."""
        self.world.cloud.crash_at = None
        self.settle()
        self.book.check()
        self.world.close()


@settings(
    max_examples=EXAMPLES or 25,
    deadline=None,
    derandomize=not EXAMPLES,
    suppress_health_check=list(HealthCheck),
)
@given(
    path=st.sampled_from(sorted(PATHS)),
    template=st.integers(0, len(TEMPLATES) - 1),
    cast=casts,
    first=one_of([UPDATE]),
    then=st.lists(one_of(COMMANDS), max_size=4),
)
def test_brackets_match_whoever_refuses_raises_is_late_or_dies(
    path: str, template: int, cast: list[Cast], first: Command, then: list[Command]
) -> None:
    before, what = PATHS[path]
    # What plugins raise is logged with all its frames: to write that out would take longer than all the rest.
    with capture_logs():
        play = Play()
        play.prepare(before, template)
        if what != ROLL_BACK:
            play.settle()
        play.plug(cast)
        for command in (replace(first, what=what), *then):
            play.do(command)
        play.end()


class Slow(Player):
    """A lifecycle plugin that answers one call only after its time limit, when the test lets it."""

    def __init__(self, name: str, book: Book, *, word: str) -> None:
        super().__init__(name, book)
        self._word = word
        self.time_limit_seconds = self._limit_of(ENTER)
        self.answer = threading.Event()
        self.answered = threading.Event()

    def _limit_of(self, word: str) -> float:
        return 0.5 if word == self._word else PATIENCE_SECONDS

    def do_pre_op(self, *arguments: Any) -> Annotations | None:
        super().do_pre_op(*arguments)
        self.time_limit_seconds = self._limit_of(LEAVE)
        if self._word == ENTER:
            self.answer.wait()
        self.answered.set()
        return Annotations(stack={"said": "too late"})

    def do_post_op(self, *arguments: Any) -> None:
        super().do_post_op(*arguments)
        if self._word == LEAVE:
            self.answer.wait()


def test_an_answer_that_comes_too_late_refuses_is_heard_by_nobody_and_is_told_of() -> None:
    with capture_logs():
        play = Play()
        world, book = play.world, play.book
        slow = Slow("b", book, word=ENTER)
        world.plug(Player("a", book), slow, Player("c", book))
        with pytest.raises(Conflict, match=r"lifecycle plugin 'b': it has not answered within 0.5 s"):
            world.coordinator.create(StackJob(name="s", template=TEMPLATES[0], job_id="1"))
        words = [(each.word, each.plugin) for each in book.entries if isinstance(each, Call)]
        assert words == [(ENTER, "a"), (ENTER, "b"), (LEAVE, "b"), (LEAVE, "a")]
        slow.answer.set()
        assert slow.answered.wait(PATIENCE_SECONDS)
        assert world.store.stacks.all(project="default") == []
        with book.aside() as connection:
            assert connection.execute(sa.select(sa.func.count()).select_from(annotation)).scalar() == 0
        play.end()


def test_who_is_told_and_takes_too_long_is_left_behind_and_the_others_are_told() -> None:
    with capture_logs():
        play = Play()
        world, book = play.world, play.book
        slow = Slow("b", book, word=LEAVE)
        world.plug(Player("a", book), slow, Player("c", book))
        stack_id = world.coordinator.create(StackJob(name="s", template=TEMPLATES[0], job_id="1"))
        play.settle()
        assert world.state() == "CREATE_COMPLETE"
        (row,) = operations_of(world.store, stack_id)
        assert [call.error for call in row.calls] == ["", "it has not answered within 0.5 s", ""]
        slow.answer.set()
        play.end()


class Deadly(Player):
    """May take long, and the process dies the first time that it is asked about something with a stack in a stack."""

    time_limit_seconds = 600.0

    def __init__(self, name: str, book: Book, *, action: str) -> None:
        super().__init__(name, book)
        self._action = action

    def do_pre_op(
        self, context: LifecycleContext, stack: FrozenStack, current_stack: FrozenStack | None, action: str
    ) -> Annotations | None:
        if stack.parent_id and action == self._action:
            self._action = ""
            raise Crash
        return super().do_pre_op(context, stack, current_stack, action)


@pytest.mark.parametrize("action", ["CREATE", "SUSPEND", "DELETE"])
def test_a_worker_that_dies_asking_about_a_stack_in_a_stack_fails_nothing_however_long_plugins_may_take(
    action: str,
) -> None:
    """Nobody goes on with it for longer than a worker tries what cannot be done."""
    with capture_logs():
        play = Play()
        play.world.plug(Deadly("a", play.book, action=action))
        play.do(Command(what=CREATE, template=TEMPLATES.index(NESTED)))
        play.settle()
        if action != "CREATE":
            assert play.world.state() == "CREATE_COMPLETE"
            play.do(Command(what=DELETE if action == "DELETE" else SUSPEND))
            play.settle()
        with play.book.aside() as connection:
            (state,) = connection.execute(
                sa.text("SELECT action || '_' || status FROM stack WHERE name = 's'")
            ).scalars()
        assert state == f"{action}_COMPLETE"
        assert _deaths(play)
        # Whoever goes on with it goes on with the same operation: one on the outer stack, one on that in it.
        assert len({each.operation for each in _calls(play) if each.action == action}) == 2
        play.end()


def test_what_plugins_said_of_one_definition_is_no_answer_about_another() -> None:
    """A worker dies asking about a stack in a stack, which is given another definition before anybody goes on."""
    with capture_logs():
        play = Play()
        world = play.world
        asked: list[Any] = []

        class Reader(Player):
            def do_pre_op(self, context: LifecycleContext, stack: FrozenStack, *rest: Any) -> None:
                if stack.parent_id and rest[-1] == "UPDATE":
                    asked.append(stack.resource("disk").properties["value"])
                super().do_pre_op(context, stack, *rest)

        world.plug(Reader("a", play.book), Deadly("b", play.book, action="UPDATE"))
        play.do(Command(what=CREATE, template=TEMPLATES.index(NESTED)))
        play.settle()
        for text in ("2", "3"):
            files = {"pair.yaml": template({"disk": value(text)})}
            job = StackJob(name="s", template=NESTED, files=files, job_id=text)
            world.coordinator.update(job)
            while world.messages and text == "2" and not _deaths(play):
                play._deliver(keep=False)
        play.settle()
        assert world.state() == "UPDATE_COMPLETE"
        assert asked == [2, 3]
        play.end()


def _calls(play: Play) -> list[Call]:
    return [each for each in play.book.entries if isinstance(each, Call)]


def _deaths(play: Play) -> list[Death]:
    return [each for each in play.book.entries if isinstance(each, Death)]
