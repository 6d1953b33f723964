"""The sink ``log`` writes every event down once it returns, also where files come and go."""

import json
import os
from pathlib import Path

import pytest
import structlog
from pydantic import ValidationError

from hooks.builtin.sinks.log import LogOptions, LogSink
from tests.unit.hooks.builtin.sinks.histories import event, stack_event


def lines(file: Path) -> list[int]:
    return [json.loads(line)["id"] for line in file.read_text().splitlines()]


@pytest.fixture
def file(tmp_path: Path) -> Path:
    return tmp_path / "events.jsonl"


@pytest.fixture
def sink(file: Path) -> LogSink:
    return LogSink(LogOptions(file=file))


def test_events_are_logged_with_their_fields() -> None:
    with structlog.testing.capture_logs() as logged:
        LogSink(LogOptions()).consume([stack_event(1), event(2, reason="Zürich")])
    assert [line["event"] for line in logged] == ["stack event", "resource event"]
    assert logged[1].items() >= {
        ("logger", "isotherm.events"), ("log_level", "info"), ("id", 2), ("reason", "Zürich"), ("resource", "disk")
    }  # fmt: skip


def test_each_event_is_a_line_of_its_own_in_the_file(sink: LogSink, file: Path) -> None:
    sink.consume([event(1, reason="two\nlines"), event(2)])
    sink.consume([event(3, reason="Zürich")])
    assert lines(file) == [1, 2, 3]
    told = json.loads(file.read_text().splitlines()[2])
    assert told["reason"] == "Zürich"
    assert told["physical_id"] is None


def test_a_file_that_was_renamed_is_followed_by_a_new_one(sink: LogSink, file: Path) -> None:
    sink.consume([event(1)])
    file.rename(file.with_suffix(".1"))
    sink.consume([event(2)])
    assert (lines(file.with_suffix(".1")), lines(file)) == ([1], [2])


def test_a_file_that_was_cut_is_written_from_its_beginning(sink: LogSink, file: Path) -> None:
    sink.consume([event(1), event(2)])
    os.truncate(file, 0)
    sink.consume([event(3)])
    assert lines(file) == [3]


def test_a_line_that_was_torn_spoils_no_other(sink: LogSink, file: Path) -> None:
    file.write_text('{"id": 1}\n{"id": 2, "rea')
    sink.consume([event(2)])
    first, torn, again = file.read_text().splitlines()
    assert (first, torn) == ('{"id": 1}', '{"id": 2, "rea')
    assert json.loads(again)["id"] == 2


def test_a_directory_that_is_gone_is_told(tmp_path: Path) -> None:
    with pytest.raises(FileNotFoundError, match="gone"):
        LogSink(LogOptions(file=tmp_path / "gone" / "events.jsonl")).consume([event(1)])


def test_what_is_no_file_is_written_to_all_the_same() -> None:
    LogSink(LogOptions(file=Path("/dev/null"))).consume([event(1)])


def test_a_path_from_wherever_a_process_runs_is_refused() -> None:
    with pytest.raises(ValidationError, match="expected an absolute path"):
        LogOptions(file=Path("events.jsonl"))
