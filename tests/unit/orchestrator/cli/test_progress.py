"""What people see while an operation is under way."""

import io
from dataclasses import replace

import pytest
from rich.console import Console

from orchestrator.cli import progress
from orchestrator.cli.events import event_line, events_after, last_event
from orchestrator.cli.lines import Lines
from orchestrator.cli.live_tree import branches
from orchestrator.cli.looking import Look
from orchestrator.cli.progress import follow
from orchestrator.cli.screen import Screen, as_looked, picture
from orchestrator.cli.times import duration
from orchestrator.views.stacks import HookView, Progress
from tests.unit.orchestrator.cli.fake_service import FakeService, event_view, stack_view
from tests.unit.orchestrator.cli.pictures import FakePictures, graph_picture, vertex


def drawn(shown: Progress, width: int = 80) -> str:
    """Return the picture as a terminal of this width shows it."""
    console = Console(file=io.StringIO(), width=width, force_terminal=True, color_system=None)
    with console.capture() as capture:
        console.print(picture(shown, elapsed_seconds=75.0))
    return capture.get()


def test_the_picture_has_state_counts_and_what_runs_now() -> None:
    shown = drawn(
        Progress(
            stack=stack_view("web", "CREATE", "IN_PROGRESS"),
            counts={"done": 120, "running": 4, "waiting": 2, "blocked": 374, "failed": 0},
            running=("web-1", "web-2"),
            total=500,
            done=120,
            finished=False,
        )
    )
    assert "web  CREATE_IN_PROGRESS  1 min 15 s" in shown
    assert "120/500" in shown
    assert "done 120  running 4  waiting 2  blocked 374" in shown
    assert "failed" not in shown
    assert "now: web-1, web-2" in shown


def waiting(**reasons: str) -> Progress:
    """A stack whose resources wait for these reasons."""
    counts = {"waiting": len(reasons)}
    return Progress(
        stack=stack_view("web", "CHECK", "IN_PROGRESS"),
        counts=counts,
        running=tuple(reasons),
        total=len(reasons),
        done=0,
        finished=False,
        reasons=reasons,
    )


def test_what_is_waited_for_is_said(capsys: pytest.CaptureFixture[str]) -> None:
    away, back = "node 'n1' is unreachable", "not ready yet"
    assert f"a, b: {away}" in drawn(waiting(b=away, a=away))
    lines = Lines()
    for shown in (waiting(b=away, a=away), waiting(a=away), waiting(a=back, b=away)):
        lines.show(shown, [])
    assert capsys.readouterr().err.splitlines() == [f"a, b: {away}", f"a: {back}"]


def test_an_empty_stack_can_be_drawn() -> None:
    shown = drawn(
        Progress(stack=stack_view("web"), counts={}, running=(), total=0, done=0, finished=True), width=20
    )
    assert "0/0" in shown


@pytest.mark.parametrize(
    ("seconds", "said"),
    [
        *[(0, "0 ms"), (0.0404, "40 ms"), (0.9996, "1.0 s"), (9.94, "9.9 s"), (9.96, "10 s")],
        *[
            (59.4, "59 s"),
            (59.9, "1 min 00 s"),
            (185, "3 min 05 s"),
            (7620, "2 h 07 min"),
            (273_600, "3 d 4 h"),
        ],
    ],
)
def test_durations_are_said_as_people_do(seconds: float, said: str) -> None:
    assert duration(seconds) == said


def test_an_event_is_one_line_whatever_its_reason() -> None:
    event = event_view(1, "server", "CREATE", "FAILED", "no room\nat all\x1b[0m")
    assert event_line(event) == "2024-03-01T12:00:01Z server CREATE_FAILED no room at all\\x1b[0m"
    assert "web CREATE_COMPLETE" in event_line(event_view(2, "", "CREATE", "COMPLETE"))


def test_events_of_a_stack_that_is_gone_are_none(service: FakeService) -> None:
    assert last_event(service.typed, "web") == 2
    service.stacks_held.clear()
    assert list(events_after(service.typed, "web", 0)) == []
    assert last_event(service.typed, "web") == 0


def test_each_event_is_written_once(service: FakeService, capsys: pytest.CaptureFixture[str]) -> None:
    ended = follow(service.typed, service.stacks_held["web"], after=2)
    assert ended.status == "COMPLETE"
    lines = capsys.readouterr().err.splitlines()
    assert [line.split()[1:] for line in lines] == [
        ["disk", "CREATE_COMPLETE"],
        ["server", "CREATE_COMPLETE"],
        ["web", "CREATE_COMPLETE"],
    ]


def test_a_terminal_keeps_warnings_of_lifecycle_plugins() -> None:
    console = Console(file=io.StringIO(), width=120, force_terminal=True, color_system=None)
    done = Progress(stack=stack_view("web"), counts={}, running=(), total=0, done=0, finished=True)
    begun = event_view(1, "", "CREATE", "IN_PROGRESS")
    warning = event_view(2, "", "CREATE", "IN_PROGRESS", "Warning of lifecycle plugin 'a': nearly full")
    with console.capture() as capture:
        Screen(console).show(done, [begun, warning])
    (line,) = capture.get().splitlines()
    assert line.endswith("CREATE_IN_PROGRESS Warning of lifecycle plugin 'a': nearly full")


def test_what_stands_above_a_tree_says_what_the_tree_shows() -> None:
    read = Progress(
        stack=stack_view("web", "CREATE", "FAILED"),
        counts={"done": 1, "failed": 1},
        running=(),
        total=2,
        done=1,
        finished=True,
    )
    seen = graph_picture(vertex("a", "unchanged"), vertex("b", "held"))
    shown = as_looked(read, Look(picture=seen))
    assert (shown.counts, shown.done, shown.stack.state) == (
        {"held": 1, "unchanged": 1},
        1,
        "CREATE_IN_PROGRESS",
    )
    # The progress counts what is in a stack that one of them is, and the picture does not.
    with_more = replace(read, total=7)
    assert as_looked(with_more, Look(picture=seen)) == with_more
    assert as_looked(read, None) == read


def test_a_terminal_keeps_failures_and_clears_the_rest_away(
    service: FakeService, monkeypatch: pytest.MonkeyPatch
) -> None:
    screen = io.StringIO()
    console = Console(file=screen, force_terminal=True, color_system=None, width=80)
    monkeypatch.setattr(progress, "terminal_for_messages", lambda: console)
    service.events_held.append(event_view(3, "server", "CREATE", "FAILED", "no room"))
    follow(service.typed, service.stacks_held["web"], after=2)
    written = screen.getvalue()
    assert written.count("server CREATE_FAILED no room") == 1
    assert written.endswith("\x1b[2K")  # the last thing done is to clear a line
    assert "\x1b[?25h" in written  # the cursor is back


def test_an_interrupt_gives_the_cursor_back(service: FakeService, monkeypatch: pytest.MonkeyPatch) -> None:
    screen = io.StringIO()
    console = Console(file=screen, force_terminal=True, color_system=None, width=80)
    monkeypatch.setattr(progress, "terminal_for_messages", lambda: console)
    service.interrupt = KeyboardInterrupt()
    with pytest.raises(KeyboardInterrupt):
        follow(service.typed, service.stacks_held["web"], after=0)
    assert screen.getvalue().rindex("\x1b[?25h") > screen.getvalue().rindex("\x1b[?25l")


def test_a_terminal_shows_a_tree_no_higher_than_it_is(
    service: FakeService, monkeypatch: pytest.MonkeyPatch
) -> None:
    written = io.StringIO()
    console = Console(file=written, force_terminal=True, color_system=None, width=60, height=9)
    monkeypatch.setattr(progress, "terminal_for_messages", lambda: console)
    running = [vertex(f"server-{number}", "running") for number in range(20)]
    service.observer = FakePictures(graphs={"id-of-web": graph_picture(*running)})
    follow(service.typed, service.stacks_held["web"], after=2)
    drawing = written.getvalue()
    assert "├─ layer 1  " in drawing
    # It began five seconds before anybody looked.
    assert "  5.0 s" in drawing
    assert "▶ server-0  running" in drawing
    # Of nine lines three are the head, one is the layer's, and one is the cursor's.
    assert "▶ server-3  running" in drawing
    assert "server-4" not in drawing


def test_what_a_terminal_shows_is_never_higher_than_it_is() -> None:
    standing = tuple(
        HookView(resource=f"server-{number}", uuid=f"u{number}", kind="pre-create", since=0.0)
        for number in range(5)
    )
    shown = Progress(
        stack=stack_view("web", "CREATE", "IN_PROGRESS"),
        counts={"waiting": 5},
        running=(),
        total=5,
        done=0,
        finished=False,
        hooks=standing,
    )
    tree = branches(graph_picture(*(vertex(f"server-{number}", "held", number) for number in range(50))))
    console = Console(file=io.StringIO(), width=50, color_system=None, force_terminal=True)
    with console.capture() as capture:
        console.print(picture(shown, tree, elapsed_seconds=1.0, width=50, height=15))
    assert len(capture.get().splitlines()) == 15
    assert "isotherm stack hook clear web server-0" in " ".join(capture.get().split())
