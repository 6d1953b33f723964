"""``isotherm stack timeline`` and ``isotherm stack failure``, as people type them."""

import json

import pytest

from orchestrator.cli import stack_timeline
from tests.unit.orchestrator.cli.fake_service import FakeService, Terminal
from tests.unit.orchestrator.cli.pictures import FakePictures, bar, failed, failure, operation, timeline


@pytest.fixture
def pictures(service: FakeService) -> FakePictures:
    held = FakePictures()
    service.observer = held
    return held


def test_a_timeline_is_drawn_with_its_head_and_its_critical_path(
    terminal: Terminal, pictures: FakePictures
) -> None:
    pictures.timelines["web", None] = timeline(
        bar("net", "done", ("queued", 0, 1), ("running", 1, 10, 1), critical=True),
        bar("disk", "done", ("running", 0, 5, 1)),
        critical_seconds={"queued": 1.0, "running": 9.0, "retrying": 0.0},
    )
    result = terminal.run("stack", "timeline", "web")
    assert result.exit_code == 0, result.output
    head, axis, net, disk, legend, path = result.stdout.splitlines()
    assert head == "web  CREATE_COMPLETE  10 s  begun 2024-03-01T12:00:00Z"
    assert axis.split()[0] == "|0s"
    assert net.startswith("* ✓ net  ░")
    assert disk.startswith("  ✓ disk █")
    assert legend == "░ queued  █ running  ✓ done  * critical path"
    assert path == "critical path: queued 1.0 s, running 9.0 s"
    assert all(len(line) <= 80 for line in result.stdout.splitlines())


def test_a_timeline_for_programs_has_all_of_it(terminal: Terminal, pictures: FakePictures) -> None:
    pictures.timelines["web", "t7"] = timeline(bar("net", "done", ("running", 0, 10, 1), critical=True))
    result = terminal.run("stack", "timeline", "web", "--traversal", "t7", "-f", "json")
    told = json.loads(result.stdout)
    assert told["operation"]["traversal_id"] == "t1"
    assert [span["kind"] for span in told["bars"][0]["spans"]] == ["running"]


def test_missing_parts_of_a_timeline_are_said(terminal: Terminal, pictures: FakePictures) -> None:
    pictures.timelines["web", None] = timeline(bar("net", "done", ("running", 0, 10, 1)), trimmed=True)
    assert "have been removed" in terminal.run("stack", "timeline", "web").stderr
    assert terminal.run("stack", "timeline", "web", "-f", "json").stderr == ""


def test_a_timeline_without_bars_says_so(terminal: Terminal, pictures: FakePictures) -> None:
    pictures.timelines["web", None] = timeline()
    assert terminal.run("stack", "timeline", "web").stdout.endswith("No resource had a part in it.\n")


def test_a_timeline_in_a_locale_of_ascii_is_ascii(
    terminal: Terminal, pictures: FakePictures, monkeypatch: pytest.MonkeyPatch
) -> None:
    pictures.timelines["web", None] = timeline(bar("net", "done", ("running", 0, 10, 1)))
    monkeypatch.setattr(stack_timeline, "has_signs", lambda _: False)
    assert terminal.run("stack", "timeline", "web").stdout.isascii()


@pytest.mark.parametrize("command", ["timeline", "failure"])
def test_no_such_stack_is_bad_input(terminal: Terminal, pictures: FakePictures, command: str) -> None:
    result = terminal.run("stack", command, "wbe")
    assert result.exit_code == 2
    assert "wbe" in result.stderr


def test_the_likely_root_is_told_first_with_what_it_blocks(
    terminal: Terminal, pictures: FakePictures
) -> None:
    root = failed(
        "port", "no room\nat all", blocks=7, blocked=("a", "b", "c", "d", "e", "f", "g"), attempts=3
    )
    pictures.failures["web", None] = failure(
        root, failed("disk", "bad disk"), later=(failed("file", "was under way"),), unreached=7
    )
    result = terminal.run("stack", "failure", "web")
    assert result.exit_code == 0
    lines = result.stdout.splitlines()
    assert lines[0] == "web CREATE_FAILED: no room"
    assert lines[2] == "likely root: port (T)"
    assert lines[3] == "  no room at all"
    assert "create, failed at 2024-03-01T12:00:03Z, 3 attempts" in result.stdout
    assert "never begun because of it: 7 (a, b, c, d, e and 2 more)" in result.stdout
    table = result.stdout[result.stdout.index("other failures") :].splitlines()
    assert [line.split()[:2] for line in table[2:]] == [["independent", "disk"], ["later", "file"]]


def test_a_root_in_a_stack_in_the_stack_is_told_with_the_way_there(
    terminal: Terminal, pictures: FakePictures
) -> None:
    outer = failed("group", "its stack failed", nested_stack_id="s2", blocks=1, blocked=("after",))
    root = failed("port", "no address is left", blocks=1, blocked=("server",))
    path = ("group", "member", "port")
    pictures.failures["web", None] = failure(outer, path=path, path_stack_id="s3", innermost=root)
    lines = terminal.run("stack", "failure", "web").stdout.splitlines()
    assert lines[2] == "likely root: group/member/port (T)"
    assert lines[3] == "  no address is left"
    assert lines[5:] == [
        "  never begun because of it: 1 (server) in its stack",
        "  never begun because of it: 1 (after)",
    ]


def test_where_nothing_failed_that_is_said(terminal: Terminal, pictures: FakePictures) -> None:
    pictures.failures["web", None] = failure(operation=operation())
    assert terminal.run("stack", "failure", "web").stdout.splitlines() == [
        "web CREATE_COMPLETE",
        "  nothing has failed",
    ]


def test_a_failure_for_programs_has_all_of_it(terminal: Terminal, pictures: FakePictures) -> None:
    pictures.failures["web", None] = failure(failed("port", blocks=2, blocked=("a", "b")))
    told = json.loads(terminal.run("stack", "failure", "web", "-f", "json").stdout)
    assert told["roots"][0]["name"] == "port"
    assert told["roots"][0]["blocked"] == ["a", "b"]
