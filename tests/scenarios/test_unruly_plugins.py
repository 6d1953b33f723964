"""Lifecycle plugins that do what no plugin should: the operation, the others and the process go on."""

import asyncio
import itertools
import threading
from collections.abc import Iterator
from contextlib import suppress
from functools import partial
from typing import Any

import pytest
import sqlalchemy as sa
from pydantic import SecretStr
from structlog.testing import capture_logs

from hooks.lifecycle import Annotations, LifecyclePlugin
from hooks.options import HookOptions
from orchestrator.errors import Conflict, Unavailable
from orchestrator.lifecycle.answers import MOST_DEPTH
from orchestrator.model.messages import StackJob
from tests.operations import operations_of
from tests.scenarios.cloud import Crash
from tests.scenarios.test_updates import template, value
from tests.scenarios.world import World


@pytest.fixture(autouse=True)
def logs() -> Iterator[None]:
    with capture_logs():
        yield


class Speechless(Exception):
    """Cannot be told in words."""

    def __str__(self) -> str:
        raise ValueError("no words")


class Unruly(LifecyclePlugin):
    """Answers or raises what it is given."""

    time_limit_seconds = 2.0

    def __init__(self, name: str, *, asked: Any = None, told: Any = None) -> None:
        super().__init__()
        self.name, self._asked, self._told = name, asked, told
        self.words: list[str] = []

    def do_pre_op(self, *_: Any) -> Any:
        self.words.append("pre")
        if isinstance(self._asked, BaseException):
            raise self._asked
        return self._asked

    def do_post_op(self, *_: Any) -> None:
        self.words.append("post")
        if self._told is not None:
            raise self._told


class Deadly(Unruly):
    """Its process dies of a word, and might have taken long over it."""

    time_limit_seconds = 600.0
    dies_of = ""

    def do_pre_op(self, *_: Any) -> None:
        super().do_pre_op()
        if self.dies_of == "pre":
            raise Crash

    def do_post_op(self, *_: Any) -> None:
        super().do_post_op()
        if self.dies_of == "post":
            raise Crash


UNRULY = {
    "speechless": (Speechless(), "Speechless, whose words cannot be told"),
    "interrupted": (KeyboardInterrupt(), "it raised KeyboardInterrupt"),
    "cancelled": (asyncio.CancelledError(), "it raised CancelledError"),
    "surrogates": (ValueError("\ud800"), "ValueError: ?"),
    "zero": (ValueError("a\0b"), "ValueError: a\ufffdb"),
}


@pytest.mark.parametrize("kind", UNRULY)
def test_whatever_is_raised_after_an_operation_it_ends_and_the_others_are_told(kind: str) -> None:
    error, told = UNRULY[kind]
    world = World()
    first, last = Unruly("a"), Unruly("c")
    world.plug(first, Unruly("b", told=error), last)
    stack_id = world.create(template({"a": value("1")}))
    world.settle()
    assert world.state() == "CREATE_COMPLETE"
    assert first.words == last.words == ["pre", "post"]
    (row,) = operations_of(world.store, stack_id)
    assert (row.state, row.outcome) == ("over", "complete")
    assert told in row.calls[1].error


@pytest.mark.parametrize("kind", UNRULY)
def test_whatever_is_raised_before_an_operation_refuses_it_in_words(kind: str) -> None:
    error, told = UNRULY[kind]
    world = World()
    first = Unruly("a")
    world.plug(first, Unruly("b", asked=error))
    with pytest.raises(Conflict) as refused:
        world.create(template({"a": value("1")}))
    assert told in str(refused.value)
    assert first.words == ["pre", "post"]


@pytest.mark.parametrize("key", [(1, 2), b"a", 1])
def test_annotations_that_could_not_be_read_again_refuse(key: Any) -> None:
    world = World()
    plugin = Unruly("a", asked=Annotations(resources={"a": {"deep": [{key: 1}]}}))
    world.plug(plugin)
    with pytest.raises(Conflict, match=f"a key that is no text, but {type(key).__name__}"):
        world.create(template({"a": value("1")}))
    assert plugin.words == ["pre"]


def test_annotations_that_are_too_deep_refuse() -> None:
    world = World()
    deep: dict[str, Any] = {}
    for _ in range(MOST_DEPTH):
        deep = {"a": deep}
    world.plug(Unruly("a", asked=Annotations(stack={"a": deep})))
    with pytest.raises(Conflict, match="deeper than 64 maps and lists"):
        world.create(template({"a": value("1")}))
    world.plug(Unruly("a", asked=Annotations(stack=deep)))
    stack_id = world.create(template({"a": value("1")}))
    world.settle()
    assert world.state() == "CREATE_COMPLETE"
    assert world.store.annotations.of(stack_id) == {"a": deep}


def test_an_answer_that_never_ends_is_late() -> None:
    world = World()
    go = threading.Event()
    endless = Unruly("b", asked=Annotations(warnings=(str(go.wait()) for _ in itertools.count())))  # type: ignore[arg-type]  # that is the point
    endless.time_limit_seconds = 0.05
    world.plug(endless)
    answers: list[str] = []

    def create() -> None:
        with pytest.raises(Conflict) as refused:
            world.create(template({"a": value("1")}))
        answers.append(str(refused.value))

    try:
        create()
    finally:
        go.set()
    assert "it has not answered within 0.05 s" in answers[0]


def test_a_lost_operation_that_cannot_be_read_keeps_nobody_from_being_told_of_others() -> None:
    world = World()
    plugin = Deadly("a")
    plugin.dies_of = "pre"
    world.plug(plugin)
    for name in "st":
        assert not world.survive(partial(world.create, template({"a": value("1")}), name))
        world.now += 1
    plugin.dies_of = ""
    with world.store.database.write() as connection:
        connection.execute(sa.text("UPDATE operation SET shown = x'01ff' WHERE stack = 's'"))
    world.sweep(after=1000)
    with world.store.database.read() as connection:
        rows = connection.execute(sa.text("SELECT stack, state FROM operation ORDER BY stack")).all()
    assert [tuple(row) for row in rows] == [("s", "entering"), ("t", "over")]
    # Nor is it looked at again and again meanwhile.
    due = world.store.sweeper.next_due()
    assert due is not None
    assert due >= 60


class Token(HookOptions):
    """What must be told to nobody."""

    token: SecretStr = SecretStr("s3cr3t")


@pytest.mark.parametrize("word", ["asked", "told"])
def test_the_secrets_among_a_plugins_options_are_in_no_sentence_and_in_no_log(word: str) -> None:
    world = World()
    plugin = Unruly("a", **{word: ValueError("the server does not know s3cr3t")})
    plugin.options = Token()
    world.plug(plugin)
    with capture_logs() as lines, suppress(Conflict):
        world.create(template({"a": value("1")}))
        world.settle()
    with world.store.database.read() as connection:
        (error,) = connection.execute(sa.text("SELECT error FROM operation_call")).scalars()
    assert "ValueError: the server does not know ******" in error
    (line,) = (line for line in lines if line["log_level"] == "error")
    assert "Traceback" in line["exception"]
    assert "s3cr3t" not in str(lines)


@pytest.mark.parametrize("word", ["pre", "post"])
def test_nobody_waits_for_a_process_that_is_known_to_be_dead(word: str) -> None:
    world = World()
    plugin = Deadly("a")
    plugin.dies_of = word
    world.plug(plugin)
    job = StackJob(name="s", template=template({"a": value("1")}), job_id="1")

    def carry_out() -> None:
        world.coordinator.create(job)
        world.settle()

    assert not world.survive(carry_out)
    plugin.dies_of, died_at = "", world.now
    brackets = world.coordinator._brackets
    brackets._owner = "another"
    if word == "pre":
        with pytest.raises(Unavailable, match="another process asks"):
            carry_out()
    brackets._is_dead = {"coordinator"}.__contains__
    carry_out()
    assert world.state() == "CREATE_COMPLETE"
    assert plugin.words == ["pre", word, "post"]
    # Of the end of an operation, whoever claimed it has the word for as long as a worker has a check.
    assert world.now - died_at < 100


def test_an_answer_without_end_is_given_up_by_whoever_reads_it() -> None:
    taken = itertools.count()
    many = Unruly("b", asked=Annotations(warnings=(f"warning {number}" for number in taken)))  # type: ignore[arg-type]  # as above
    world = World()
    world.plug(many)
    with pytest.raises(Conflict, match="more than 1000 warnings"):
        world.create(template({"a": value("1")}))
    assert next(taken) == 1_001
