"""Lifecycle plugins put brackets around every operation, whatever dies in between."""

from collections.abc import Callable
from typing import Any

import pytest

from hooks.errors import ReadOnly, Refusal
from hooks.lifecycle import Annotations, LifecycleContext, LifecyclePlugin
from hooks.stack import FrozenStack
from orchestrator.errors import Conflict, Unavailable
from orchestrator.model.messages import StackJob
from tests.operations import operations_of
from tests.scenarios.cloud import Crash
from tests.scenarios.deaths import die_everywhere
from tests.scenarios.test_updates import template, value
from tests.scenarios.world import World

Call = tuple[str, str, str]


class Book:
    """What plugins were asked and told, in order: (enter or leave, plugin, operation)."""

    def __init__(self) -> None:
        self.calls: list[Call] = []
        self.failures: list[bool] = []


class Writer(LifecyclePlugin):
    """Writes into a book; the process may die before and after each word."""

    def __init__(self, name: str, book: Book, instruction: Callable[[], None] = lambda: None) -> None:
        super().__init__()
        self.name, self._book, self._instruction = name, book, instruction
        self.answer: Annotations | None = None

    def do_pre_op(self, context: LifecycleContext, *_: Any) -> Annotations | None:
        self._instruction()
        self._book.calls.append(("enter", self.name, context.operation_id))
        self._instruction()
        return self.answer

    def do_post_op(self, context: LifecycleContext, *arguments: Any) -> None:
        self._instruction()
        self._book.calls.append(("leave", self.name, context.operation_id))
        self._book.failures.append(arguments[-1])
        self._instruction()


def deduplicated(calls: list[Call]) -> list[Call]:
    """Return calls without those that were made before."""
    return list(dict.fromkeys(calls))


def brackets(calls: list[Call]) -> dict[str, list[tuple[str, str]]]:
    """Return the calls of each operation, without repetitions."""
    found: dict[str, list[tuple[str, str]]] = {}
    for word, plugin, operation in deduplicated(calls):
        found.setdefault(operation, []).append((word, plugin))
    return found


def is_closed(words: list[tuple[str, str]]) -> bool:
    """Whether whoever entered has left, in the reverse order, and nobody enters after that."""
    entered = [plugin for word, plugin in words if word == "enter"]
    return words == [("enter", each) for each in entered] + [("leave", each) for each in reversed(entered)]


def carried_out(world: World, job: StackJob) -> None:
    """Deliver a job until somebody has done it, as a broker does whose consumers die."""
    for _ in range(10):
        try:
            if world.survive(lambda: world.coordinator.create(job)):
                return
        except Unavailable:
            world.now += 100
    raise AssertionError("nobody carries the job out")


@die_everywhere
def test_whoever_dies_in_a_create_is_followed_by_one_who_goes_on(instruction: int) -> None:
    world = World()
    book = Book()
    world.plug(*(Writer(name, book, world.cloud.instruction) for name in "abc"))
    job = StackJob(name="s", template=template({"a": value("1")}))
    world.cloud.crash_after(instruction)
    carried_out(world, job)
    for _ in range(10):
        if world.survive(world.settle):
            break
    world.cloud.crash_at = None
    assert world.state() == "CREATE_COMPLETE"
    ((_, words),) = brackets(book.calls).items()
    assert is_closed(words)
    assert [plugin for _, plugin in words] == ["a", "b", "c", "c", "b", "a"]
    # One call may have been cut short before its answer was on record: that one alone comes twice.
    assert len(book.calls) <= 7
    assert not any(book.failures)


@die_everywhere
def test_whoever_dies_before_the_beginning_and_never_comes_again_is_unwound(instruction: int) -> None:
    world = World()
    book = Book()
    world.plug(*(Writer(name, book, world.cloud.instruction) for name in "abc"))
    world.cloud.crash_after(instruction)
    began = world.survive(lambda: world.create(template({"a": value("1")})))
    for _ in range(10):
        if world.survive(world.settle):
            break
    for words in brackets(book.calls).values():
        # Whoever was about to be asked when the process died is told to be sure, although it had not been yet.
        unsure = next((each for each in "abc" if ("enter", each) not in words), "")
        assert is_closed(words) or is_closed([word for word in words if word != ("leave", unsure)])
    if not began and not world.store.stacks.all(project="default"):
        assert all(book.failures)


def test_what_was_answered_and_recorded_is_not_asked_again() -> None:
    world = World()
    book = Book()
    second = Writer("b", book)
    world.plug(Writer("a", book), second)
    dying = True

    def die(*_: Any) -> None:
        if dying:
            raise Crash

    second._instruction = die
    job = StackJob(name="s", template=template({"a": value("1")}))
    assert not world.survive(lambda: world.coordinator.create(job))
    dying = False
    stack_id = world.coordinator.create(job)
    (row,) = operations_of(world.store, stack_id)
    assert [(word, plugin) for word, plugin, _ in book.calls] == [("enter", "a"), ("enter", "b")]
    assert row.id == world.store.stacks.find("s", project="default").traversal_id


def test_a_refusal_is_told_in_the_plugins_words_and_nothing_is_there() -> None:
    class No(LifecyclePlugin):
        name = "no"
        ordinal = 200

        def do_pre_op(self, *_: Any) -> None:
            raise Refusal("at most 3 servers, found 5")

    world = World()
    book = Book()
    world.plug(Writer("a", book), No(), Writer("z", book))
    with pytest.raises(Conflict) as refused:
        world.create(template({"a": value("1")}))
    assert str(refused.value) == "refused by lifecycle plugin 'no': at most 3 servers, found 5"
    assert world.store.stacks.all(project="default") == []
    assert [(word, plugin) for word, plugin, _ in book.calls] == [
        ("enter", "a"),
        ("enter", "z"),
        ("leave", "z"),
        ("leave", "a"),
    ]
    assert book.failures == [True, True]


def test_a_plugin_that_tries_to_change_what_it_is_shown_fails_and_changes_nothing() -> None:
    class Meddler(LifecyclePlugin):
        name = "meddler"

        def do_pre_op(self, context: LifecycleContext, stack: FrozenStack, *_: Any) -> None:
            stack.resources["a"].properties["size"] = "XXL"  # type: ignore[index]  # that is the point

    world = World()
    world.plug(Meddler())
    with pytest.raises(
        Conflict, match="'meddler': it failed: ReadOnly: what a hook is shown of a stack is only read"
    ):
        world.create(template({"a": value("1", "s")}))
    assert issubclass(ReadOnly, TypeError)
    assert world.store.stacks.all(project="default") == []
    world.plug()
    world.create(template({"a": value("1", "s")}))
    world.settle()
    assert list(world.cloud.sizes.values()) == ["s"]


def test_a_failing_post_op_hides_nothing_and_stops_nobody() -> None:
    class Stumbles(Writer):
        def do_post_op(self, *arguments: Any) -> None:
            super().do_post_op(*arguments)
            raise OSError("the ledger is full")

    world = World()
    book = Book()
    world.plug(Writer("a", book), Stumbles("b", book), Writer("c", book))
    stack_id = world.create(template({"a": value("1")}))
    world.settle()
    assert world.state() == "CREATE_COMPLETE"
    assert [plugin for word, plugin, _ in book.calls if word == "leave"] == ["c", "b", "a"]
    (row,) = operations_of(world.store, stack_id)
    assert (row.state, row.outcome) == ("over", "complete")
    assert [call.error for call in row.calls] == ["", "OSError: the ledger is full", ""]


def test_a_rollback_that_a_plugin_refuses_leaves_the_stack_as_it_failed() -> None:
    class NoRollback(Writer):
        def do_pre_op(self, context: LifecycleContext, *arguments: Any) -> Annotations | None:
            if arguments[-1] == "ROLLBACK":
                raise Refusal("not on a Friday")
            return super().do_pre_op(context, *arguments)

    world = World()
    book = Book()
    world.plug(NoRollback("a", book))
    world.create(template({"a": value("1", "s")}))
    world.settle()
    world.cloud.failing_updates = {"a": True}
    stack_id = world.update(template({"a": value("1", "l")}), rollback=True)
    world.settle()
    assert world.state() == "UPDATE_FAILED"
    refused = "refused by lifecycle plugin 'a': not on a Friday"
    reason = world.store.stacks.find("s", project="default").reason
    assert reason.endswith(f"no luck; it is not rolled back: {refused}")
    last = world.store.events.read(stack_id)[-1]
    # What a stack says last of itself is how it is.
    assert (last.action, last.status, last.reason) == ("UPDATE", "FAILED", reason)
    assert all(is_closed(words) for words in brackets(book.calls).values())


def test_annotations_are_stored_with_the_stack_and_replaced_by_the_next_ones() -> None:
    world = World()
    plugin = Writer("a", Book())
    plugin.answer = Annotations(
        warnings=["nearly full"], stack={"lease": 7}, resources={"a": {"node": "n1"}, "b": {"node": "n2"}}
    )
    world.plug(plugin)
    stack_id = world.create(template({"a": value("1", "s")}))
    world.settle()
    assert world.store.annotations.all([stack_id]) == {
        (stack_id, ""): {"a": {"lease": 7}},
        (stack_id, "a"): {"a": {"node": "n1"}},
        (stack_id, "b"): {"a": {"node": "n2"}},
    }
    warnings = [row.reason for row in world.store.events.read(stack_id) if "Warning" in row.reason]
    assert warnings == ["Warning of lifecycle plugin 'a': nearly full"]
    plugin.answer = None
    world.update(template({"a": value("1", "m")}))
    world.settle()
    assert world.store.annotations.of(stack_id, "a") == {"a": {"node": "n1"}}
    plugin.answer = Annotations(resources={"a": {"node": "n3"}})
    world.update(template({"a": value("1", "l")}))
    world.settle()
    assert world.store.annotations.all([stack_id]) == {(stack_id, "a"): {"a": {"node": "n3"}}}


def test_an_update_that_the_same_job_overtakes_is_asked_about_no_further(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """As when it is delivered twice, or the database's word that it has begun is lost."""
    world = World()
    stack_id = world.create(template({"a": value("1", "s")}))
    world.settle()
    book = Book()
    world.plug(Writer("a", book))
    begin_next = world.store.traversal_starts.begin_next

    def begun_by_another(*arguments: Any, **expected: Any) -> None:
        begin_next(*arguments, **expected)

    monkeypatch.setattr(world.store.traversal_starts, "begin_next", begun_by_another)
    job = StackJob(name="s", template=template({"a": value("1", "l")}), job_id="1")
    assert world.coordinator.update(job) == stack_id
    monkeypatch.undo()
    world.settle()
    assert [word for word, _, _ in book.calls] == ["enter", "leave"]
    assert book.failures == [False]
