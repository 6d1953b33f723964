"""What the drawing of a timeline says, column by column."""

from hypothesis import given, settings
from hypothesis import strategies as st
from rich.cells import cell_len

from orchestrator.cli.gantt import Scale, ago, axis, cells_of, gantt, legend, took
from orchestrator.views.operations import Span, Timeline
from orchestrator.views.vertex_states import SPANS, STATES
from tests.unit.orchestrator.cli.fake_service import NOON
from tests.unit.orchestrator.cli.pictures import bar, operation, plain, timeline

BUILT = timeline(
    bar("net", "done", ("queued", 0, 1), ("running", 1, 5, 1), critical=True),
    bar(
        "server",
        "done",
        ("blocked", 0, 5),
        ("running", 5, 6, 1),
        ("retrying", 6, 8, 1),
        ("running", 8, 10, 2),
        attempts=2,
        critical=True,
    ),
    bar("disk", "done", ("blocked", 0, 1), ("running", 1, 3, 1)),
    critical_seconds={"running": 7.0},
)


def drawn(shown: Timeline, width: int, **more: bool) -> list[str]:
    return plain(list(gantt(shown, width, **more)))


def test_each_kind_of_time_has_its_sign_and_its_length() -> None:
    # Two marks, a name of six letters, a blank on both sides, how long it took; what is left is ten columns a second.
    _, net, server, disk = drawn(BUILT, 4 + 6 + 1 + 100 + 1 + 12)
    assert net == f"* ✓ net    {'░' * 10}{'█' * 40}{' ' * 50} 5.0 s"
    assert server == f"* ✓ server {'·' * 50}{'█' * 10}{'▚' * 20}{'█' * 20} 5.0 s"
    assert disk == f"  ✓ disk   {'·' * 10}{'█' * 20}{' ' * 70} 2.0 s"


def test_a_stream_without_signs_gets_ascii() -> None:
    lines = drawn(BUILT, 80, ascii_only=True)
    assert all(line.isascii() for line in lines)
    assert {"#", "~", ".", ":"} <= set(lines[2] + lines[1])
    assert legend(BUILT, ascii_only=True).plain.isascii()


def test_only_the_critical_path_is_drawn_when_asked() -> None:
    _, *lines = drawn(BUILT, 80, critical_only=True)
    assert [line.split()[2] for line in lines] == ["net", "server"]
    assert all(line.startswith("* ") for line in lines)


def test_what_goes_on_is_drawn_up_to_now() -> None:
    going = timeline(
        bar("net", "running", ("running", 0, None, 1)), operation=operation("IN_PROGRESS"), as_of=NOON + 4
    )
    _, line = drawn(going, 60)
    assert line.split()[2] == "█" * (60 - 4 - 3 - 2 - 12)
    assert line.endswith("4.0 s")


def test_what_was_under_way_as_the_operation_failed_is_drawn_to_its_end() -> None:
    late = timeline(
        bar("net", "failed", ("running", 0, 10, 1)),
        bar("disk", "done", ("running", 0, 20, 1)),
        operation=operation("FAILED"),
        as_of=NOON + 100,
    )
    _, net, disk = drawn(late, 4 + 4 + 1 + 40 + 1 + 12)
    assert net.count("█") == 20
    assert disk.count("█") == 40


def test_a_long_name_keeps_both_ends_and_a_wide_one_its_columns() -> None:
    names = (
        "the-first-part-of-a-very-long-name-that-ends-in-17",
        "日本語の名前がとても長いのでここで切られます",
    )
    _, *lines = drawn(timeline(*(bar(name, "done", ("running", 0, 10, 1)) for name in names)), 60)
    assert "…" in lines[0]
    assert lines[0].split()[1].endswith("in-17")
    assert lines[0].split()[1].startswith("the-first")
    starts = [cell_len(line[: line.index("█")]) for line in lines]
    assert starts[0] == starts[1]


def test_what_a_name_may_not_do_to_a_terminal() -> None:
    _, line = drawn(timeline(bar("a\x1b[2Jb", "done", ("running", 0, 10, 1))), 80)
    assert "\x1b" not in line
    assert "a\\x1b[2Jb" in line


def test_the_axis_counts_in_steps_that_people_count_in() -> None:
    assert (
        axis(Scale(start=0, seconds=10, columns=50)) == f"|0s{' ' * 7}|2s{' ' * 7}|4s{' ' * 7}|6s{' ' * 7}|8s"
    )
    assert axis(Scale(start=0, seconds=7200, columns=40)).split() == ["|0s", "|30m", "|60m", "|90m"]


def test_times_on_the_axis_are_short() -> None:
    assert [ago(each) for each in (0, 0.05, 0.5, 90, 900, 7200, 9000)] == [
        *("0s", "50ms", "500ms", "90s", "15m", "2h", "2h30"),
    ]


def test_how_long_it_took_leaves_waiting_for_others_out() -> None:
    assert (
        took(bar("a", "done", ("blocked", 0, 9), ("queued", 9, 9.5), ("running", 9.5, 9.75)), until=NOON)
        == "750 ms"
    )
    assert took(bar("a", "unreached", ("blocked", 0, 9)), until=NOON) == ""


def test_the_legend_explains_what_there_is_and_nothing_else() -> None:
    text = legend(BUILT).plain
    assert "░ queued" in text
    assert "▚ retrying" in text
    assert "‖" not in text
    assert "failed" not in text


@settings(max_examples=100)
@given(
    spans=st.lists(
        st.tuples(st.sampled_from(SPANS), st.floats(0, 10), st.one_of(st.none(), st.floats(0, 5))), max_size=6
    ),
    width=st.integers(1, 160),
    state=st.sampled_from(STATES),
)
def test_no_line_is_wider_than_the_terminal_and_no_span_is_out_of_it(
    spans: list[tuple[str, float, float | None]], width: int, state: str
) -> None:
    told = [(kind, start, None if long is None else start + long) for kind, start, long in spans]
    lines = drawn(timeline(bar("net", state, *told), as_of=NOON + 30), width)
    assert all(cell_len(line) <= max(width, 40) for line in lines)


def test_the_shortest_span_can_be_seen() -> None:
    scale = Scale(start=0, seconds=1000, columns=10)
    spans = [
        Span(kind="running", start=0, end=500),
        Span(kind="retrying", start=500, end=500.1),
        Span(kind="running", start=500.1, end=1000),
    ]
    kinds = [cell.kind for cell in cells_of(spans, scale, until=1000) if cell is not None]
    assert kinds == ["running"] * 5 + ["retrying"] + ["running"] * 4
