"""Pages and filters of events, single events, and the operations on a stack."""

import json

import pytest

from orchestrator.model.event_filter import EventFilter
from tests.unit.orchestrator.cli.fake_service import NOON, FakeService, Terminal, event_view, traversal_view


def listed(terminal: Terminal, *words: str) -> list[int]:
    result = terminal.run("stack", "event", "list", "web", *words, "-f", "json")
    assert result.exit_code == 0, result.output
    return [event["id"] for event in json.loads(result.stdout)]


@pytest.fixture
def many(service: FakeService) -> None:
    """Two thousand and five events: three pages of the service."""
    service.events_held = [event_view(number, "disk", "CREATE", "COMPLETE") for number in range(1, 2006)]


@pytest.mark.usefixtures("many")
def test_events_come_in_pages_of_any_size(terminal: Terminal) -> None:
    assert listed(terminal, "--limit", "3") == [1, 2, 3]
    assert listed(terminal, "--limit", "3", "--marker", "3") == [4, 5, 6]
    assert listed(terminal, "--marker", "2003") == [2004, 2005]
    assert listed(terminal, "--marker", "2005") == []
    assert listed(terminal, "--limit", "1500") == list(range(1, 1501))
    assert listed(terminal) == list(range(1, 2006))


@pytest.mark.usefixtures("many")
def test_events_come_newest_first_when_asked(terminal: Terminal) -> None:
    assert listed(terminal, "--reverse", "--limit", "2") == [2005, 2004]
    assert listed(terminal, "--reverse", "--limit", "2", "--marker", "2004") == [2003, 2002]
    assert listed(terminal, "--reverse") == list(range(2005, 0, -1))


@pytest.mark.usefixtures("many")
def test_people_are_told_how_to_go_on_where_there_may_be_more(terminal: Terminal) -> None:
    cut = terminal.run("stack", "event", "list", "web", "--limit", "3")
    assert "--marker 3 goes on" in cut.stderr
    assert terminal.run("stack", "event", "list", "web", "--limit", "3", "-f", "json").stderr == ""
    assert terminal.run("stack", "event", "list", "web", "--limit", "3000").stderr == ""


def test_what_is_wanted_reaches_the_service(terminal: Terminal, service: FakeService) -> None:
    words = (
        "--resource",
        "web*",
        "--resource",
        "db",
        "--type",
        "OS::*",
        "--action",
        "create",
        "--status",
        "FAILED",
    )
    more = ("--since", "2024-03-01T12:00:00Z", "--traversal", "t1")
    listed(terminal, *words, *more)
    assert service.filters == [
        EventFilter(
            resources=("web*", "db"),
            types=("OS::*",),
            actions=("CREATE",),
            statuses=("FAILED",),
            since=NOON,
            traversal_id="t1",
        )
    ]


@pytest.mark.parametrize(
    ("words", "sentence"),
    [
        (("--since", "yesterday"), "expected a time such as"),
        (("--since", "99999999999w"), "expected a time such as"),
        (("--action", "CRAETE"), "'create'"),
        (("--limit", "0"), "--limit"),
        (("--follow", "--reverse"), "with --reverse"),
        (("--follow", "--limit", "3"), "or --limit"),
    ],
)
def test_what_cannot_be_meant_is_refused(words: tuple[str, ...], sentence: str, terminal: Terminal) -> None:
    result = terminal.run("stack", "event", "list", "web", *words)
    assert result.exit_code == 2
    assert sentence in result.stderr


def test_following_begins_behind_the_marker(terminal: Terminal, service: FakeService) -> None:
    def pause(_seconds: float) -> None:
        raise KeyboardInterrupt

    terminal.shell.pause = pause
    result = terminal.run("stack", "event", "list", "web", "--follow", "--marker", "1", "--resource", "disk")
    assert result.stdout == "2024-03-01T12:00:02Z disk CREATE_COMPLETE\n"
    assert service.filters == [EventFilter(resources=("disk",))]


def test_one_event_is_shown_whole(terminal: Terminal) -> None:
    shown = terminal.run("stack", "event", "show", "web", "2")
    assert shown.exit_code == 0
    assert "resource uuid  uuid-of-disk" in shown.stdout
    assert (
        json.loads(terminal.run("stack", "event", "show", "web", "2", "-f", "json").stdout)["traversal_id"]
        == "t1"
    )
    absent = terminal.run("stack", "event", "show", "web", "3")
    assert (absent.exit_code, absent.stderr) == (2, "Error: the stack has no event 3\n")


# -- history ---------------------------------------------------------------------------------------------------


def test_operations_are_listed_newest_first(terminal: Terminal, service: FakeService) -> None:
    service.traversals_held = [
        traversal_view(
            "t2",
            action="UPDATE",
            status="IN_PROGRESS",
            made=0,
            changed=1,
            ended_at=None,
            duration_seconds=None,
        ),
        traversal_view("t1"),
    ]
    shown = terminal.run("stack", "history", "web").stdout.splitlines()
    assert [line.split() for line in shown] == [
        [
            "BEGUN",
            "STATE",
            "TOOK",
            "MADE",
            "CHANGED",
            "REPLACED",
            "DELETED",
            "FAILED",
            "TEMPLATE",
            "ID",
            "REASON",
            "USER",
            "COMMENT",
        ],
        ["2024-03-01T12:00:00Z", "UPDATE_IN_PROGRESS", "0", "1", "0", "0", "0", "0123456789ab", "t2"],
        [
            "2024-03-01T12:00:00Z",
            "CREATE_COMPLETE",
            "1",
            "min",
            "30",
            "s",
            "2",
            "0",
            "0",
            "0",
            "0",
            "0123456789ab",
            "t1",
        ],
    ]
    rows = json.loads(terminal.run("stack", "history", "web", "-f", "json").stdout)
    assert [(row["id"], row["state"], row["duration_seconds"], row["template_id"]) for row in rows] == [
        ("t2", "UPDATE_IN_PROGRESS", None, "0123456789abcdef"),
        ("t1", "CREATE_COMPLETE", 90.0, "0123456789abcdef"),
    ]


def test_operations_come_in_pages(terminal: Terminal, service: FakeService) -> None:
    service.traversals_held = [traversal_view(f"t{number}") for number in range(2100, 0, -1)]

    def ids(*words: str) -> list[str]:
        return [
            row["id"]
            for row in json.loads(terminal.run("stack", "history", "web", *words, "-f", "json").stdout)
        ]

    assert ids("--limit", "2") == ["t2100", "t2099"]
    assert ids("--limit", "2", "--marker", "t2099") == ["t2098", "t2097"]
    assert len(ids()) == 2100
    assert "--marker t2099 goes on" in terminal.run("stack", "history", "web", "--limit", "2").stderr


def test_one_operation_is_shown_with_its_nodes(terminal: Terminal, service: FakeService) -> None:
    service.traversals_held = [traversal_view("t1", nodes={"done": 2, "blocked": 1})]
    shown = terminal.run("stack", "history", "web", "--traversal", "t1").stdout
    assert "took      1 min 30 s" in shown
    assert shown.endswith("resources by state\nblocked  1\ndone     2\n")
    assert terminal.run("stack", "history", "web", "--traversal", "t9").exit_code == 2
    assert terminal.run("stack", "history", "web", "--traversal", "t1", "--limit", "2").exit_code == 2
