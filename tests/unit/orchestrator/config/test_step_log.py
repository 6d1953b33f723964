"""The log lines that are kept of a step: which ones, how many, and without which texts."""

import logging
from collections.abc import Callable, Iterator
from contextvars import copy_context
from threading import Thread

import pytest
import structlog

from orchestrator.cli.logs import configure_logs
from orchestrator.config.log_masking import masking_logs
from orchestrator.config.settings import Settings
from orchestrator.config.step_log import LONGEST, MOST_CHARACTERS, MOST_LINES, StepLog, keep_record

SECRET = "quince-4711"


@pytest.fixture(autouse=True)
def configured() -> Iterator[None]:
    """Set the logging of this process up, and put it back."""
    config, root = structlog.get_config(), logging.getLogger()
    handlers, level = root.handlers[:], root.level
    configure_logs(Settings())
    yield
    structlog.configure(**config)
    root.handlers[:] = handlers
    root.setLevel(level)


def without(*secrets: str) -> Callable[[str], str]:
    def masked(text: str) -> str:
        for secret in secrets:
            text = text.replace(secret, "******")
        return text

    return masked


def messages(step: StepLog) -> list[tuple[str, str]]:
    return [(line.level, line.message) for line in step.kept().lines]


def test_lines_of_the_step_are_kept_with_their_fields_and_others_are_not() -> None:
    log = structlog.get_logger()
    log.info("before")
    with StepLog(str) as step:
        log.debug("below the level")
        log.info("asked for a route", route="10.0.0.0/8", tries=3, resource="its own", stack_id="s")
        logging.getLogger("library").info("a library's detail")
        logging.getLogger("library").warning("%s is slow", "it")
    log.info("after")
    assert messages(step) == [
        ("info", "asked for a route route=10.0.0.0/8 tries=3"),
        ("warning", "library: it is slow"),
    ]
    assert step.kept().left_out == 0


def test_a_step_without_lines_has_none() -> None:
    with StepLog(str) as step:
        pass
    assert step.lines is None


def test_where_none_are_kept_secrets_are_masked_all_the_same(capsys: pytest.CaptureFixture[str]) -> None:
    with StepLog(without(SECRET), keeps=False) as step:
        structlog.get_logger().info("got", token=SECRET)
    assert step.lines is None
    assert SECRET not in capsys.readouterr().err


def test_of_an_exception_the_message_is_kept_and_not_where_it_was_raised() -> None:
    with StepLog(str) as step:
        try:
            raise ZeroDivisionError("no room")
        except ZeroDivisionError as error:
            structlog.get_logger().warning("a plugin raised", exc_info=error)
            structlog.get_logger().exception("again")
            logging.getLogger("library").exception("theirs")
    assert messages(step) == [
        ("warning", "a plugin raised error=ZeroDivisionError: no room"),
        ("error", "again error=ZeroDivisionError: no room"),
        ("error", "library: theirs error=ZeroDivisionError: no room"),
    ]


def test_secrets_are_masked_also_those_that_the_step_finds_later_and_those_outside_of_it() -> None:
    known = {"first-token"}

    def masked(text: str) -> str:
        return without(*known)(text)

    with (
        masking_logs(without("outer-secret")),
        StepLog(masked) as step,
    ):
        structlog.get_logger().info("one", a="first-token", b="second-token", c="outer-secret")
        known.clear()
        known.add("second-token")
        structlog.get_logger().info("two", a="second-token")
    assert messages(step) == [("info", "one a=****** b=****** c=******"), ("info", "two a=******")]


def test_of_a_step_that_writes_much_the_first_lines_are_kept_and_the_others_counted() -> None:
    with StepLog(str) as step:
        for number in range(MOST_LINES + 5):
            structlog.get_logger().info(f"line {number}")
    assert len(step.kept().lines) == MOST_LINES
    assert step.kept().left_out == 5
    with StepLog(str) as step:
        for _ in range(20):
            structlog.get_logger().info("x" * 10 * LONGEST)
    kept = step.kept()
    assert all(len(line.message) == LONGEST for line in kept.lines)
    assert sum(len(line.message) for line in kept.lines) <= MOST_CHARACTERS
    assert len(kept.lines) + kept.left_out == 20


def test_a_line_that_cannot_be_shown_or_encoded_breaks_nothing() -> None:
    class Broken:
        def __repr__(self) -> str:
            raise ValueError(SECRET)

    with StepLog(str) as step:
        structlog.get_logger().info("odd \ud800\x00\x1e\nend")
        keep_record(logging.LogRecord("library", logging.WARNING, "", 0, "%d", ("no number",), None))
        step.add("info", "direct")
        with pytest.raises(ValueError, match=SECRET):
            # The renderer fails, as it did before.
            structlog.get_logger().info("broken", value=Broken())
    texts = [text for _, text in messages(step)]
    assert texts[0] == "odd \\ud800\\u0000 \nend"
    assert texts[1] == "a log line that cannot be shown: TypeError"
    assert texts[2:] == ["direct", "a log line that cannot be shown: ValueError"]


def test_two_steps_at_once_keep_their_own_lines_and_a_thread_in_the_context_is_part_of_the_step() -> None:
    def own(step: StepLog, word: str) -> None:
        with step:
            structlog.get_logger().info(word)
            inner = Thread(target=copy_context().run, args=(structlog.get_logger().info, f"{word} inside"))
            inner.start()
            inner.join()

    steps = [StepLog(str), StepLog(str)]
    threads = [Thread(target=own, args=(step, f"step {no}")) for no, step in enumerate(steps)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    found = [[text for _, text in messages(step)] for step in steps]
    assert found == [[f"step {no}", f"step {no} inside"] for no in range(2)]
