"""What log lines show, and what they must not."""

import io
import json
import logging
from collections.abc import Iterator

import pytest
import structlog

from orchestrator.cli.logs import configure_logs
from orchestrator.cli.shell import Shell
from orchestrator.config.log_context import about_job, about_order
from orchestrator.config.settings import Settings
from orchestrator.model.messages import CheckOrder


@pytest.fixture(autouse=True)
def as_it_was() -> Iterator[None]:
    """Put the logging of this process back."""
    config, root = structlog.get_config(), logging.getLogger()
    handlers, level = root.handlers[:], root.level
    yield
    structlog.configure(**config)
    root.handlers[:] = handlers
    root.setLevel(level)


@pytest.mark.parametrize("log_format", ["console", "json"])
def test_a_traceback_shows_where_and_not_with_which_values(
    log_format: str, capsys: pytest.CaptureFixture[str]
) -> None:
    configure_logs(Settings(log_format=log_format))
    password = "horse" * 3
    try:
        raise ZeroDivisionError(len(password))
    except ZeroDivisionError:
        structlog.get_logger().exception("a plugin raised")
    said = capsys.readouterr().err
    assert "a plugin raised" in said
    assert "test_logs.py" in said
    assert "ZeroDivisionError: 15" in said
    assert password not in said


@pytest.mark.parametrize("log_format", ["console", "json"])
def test_a_message_that_cannot_be_encoded_is_a_line_all_the_same(
    log_format: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    written = io.BytesIO()
    monkeypatch.setattr("sys.stderr", io.TextIOWrapper(written, encoding="utf-8", write_through=True))
    configure_logs(Settings(log_format=log_format))
    structlog.get_logger().warning("a plugin raised", exc_info=ValueError("a\ud800b"), resource="\udfff")
    assert b"a\\ud800b" in written.getvalue()


def test_as_json_the_lines_of_libraries_tell_what_they_are_about_too(
    capsys: pytest.CaptureFixture[str],
) -> None:
    configure_logs(Settings(log_format="json"))
    order = CheckOrder(stack="web", stack_id="s", traversal_id="t", no=3, key="port")
    with about_order(order):
        structlog.get_logger().warning("a plugin raised")
        try:
            raise ZeroDivisionError("no\nroom")
        except ZeroDivisionError:
            logging.getLogger("httpx").exception("asked %s", "twice")
    ours, theirs = map(json.loads, capsys.readouterr().err.splitlines())
    ids = {"stack": "web", "stack_id": "s", "traversal_id": "t", "resource": "port", "node_no": 3}
    assert ids.items() <= ours.items()
    assert ids.items() <= theirs.items()
    assert (theirs["event"], theirs["level"], theirs["logger"]) == ("asked twice", "error", "httpx")
    assert "ZeroDivisionError: no\nroom" in theirs["exception"]


def test_a_command_that_only_reads_settings_writes_no_debugging_lines(
    capsys: pytest.CaptureFixture[str],
) -> None:
    assert Shell(load=Settings).settings.log_level == "INFO"
    structlog.get_logger().debug("asked an HTTP API")
    assert capsys.readouterr().err == ""


def test_a_line_tells_its_stack_within_the_line_whatever_its_name(capsys: pytest.CaptureFixture[str]) -> None:
    configure_logs(Settings(log_format="console"))
    with about_job("stack.create", job_id="j", stack="web"):
        structlog.get_logger().info("begun")
    structlog.get_logger().info("refused", stack="web\n2026-01-01 [info] all is well")
    lines = capsys.readouterr().err.splitlines()
    assert len(lines) == 2
    assert "stack_name=web" in lines[0]
    assert r"web\n2026" in lines[1]
