"""What a terminal shows of a graph while it is worked on."""

from hypothesis import given, settings
from hypothesis import strategies as st
from rich.cells import cell_len

from orchestrator.cli.live_tree import Branch, bar, bounded, branches, drawn
from orchestrator.views.operations import GraphPicture, Group
from orchestrator.views.vertex_states import STATES
from tests.unit.orchestrator.cli.pictures import graph_picture, plain, vertex


def shown(picture: GraphPicture, *, width: int = 80, lines: int = 24, **nested: GraphPicture) -> list[str]:
    return plain(drawn(branches(picture, nested), width=width, lines=lines))


def named(tree: list[Branch]) -> list[str]:
    return [branch.title for branch in tree]


def test_layers_in_which_nothing_happens_are_one_line() -> None:
    picture = graph_picture(
        *(vertex(f"done-{layer}", "done", layer) for layer in range(5)),
        *(vertex(f"busy-{layer}", "running", layer) for layer in (5, 6)),
        *(vertex(f"ahead-{layer}", "blocked", layer) for layer in range(7, 20)),
    )
    assert named(branches(picture)) == ["layers 1-5", "layer 6", "layer 7", "layers 8-20"]


def test_a_failure_is_never_folded_away() -> None:
    picture = graph_picture(vertex("a", "done", 0), vertex("b", "failed", 1), vertex("c", "unreached", 2))
    assert named(branches(picture)) == ["layer 1", "layer 2", "layer 3"]


def test_what_somebody_should_see_comes_first() -> None:
    states = ("done", "ready", "waiting", "running", "held", "retrying", "failed", "blocked", "unchanged")
    (branch,) = branches(graph_picture(*(vertex(f"is-{state}", state) for state in states)))
    assert [leaf.state for leaf in branch.leaves] == [
        *("failed", "retrying", "held", "running", "waiting", "ready"),
    ]
    ((_, leaves),) = bounded([branch], 3)
    assert [leaf.name for _, leaf in leaves] == ["is-failed", "is-retrying"]


def test_a_line_says_state_attempt_and_reason() -> None:
    line = shown(graph_picture(vertex("db", "retrying", attempt=3, reason="no\nroom")))[1]
    assert line == "│  ↻ db  retrying  attempt 3, no room"
    line = shown(graph_picture(vertex("db", "held", hook="pre-create")))[1]
    assert line == "│  ‖ db  held  at pre-create"


def test_a_layer_says_how_much_is_done_and_what_of_the_rest() -> None:
    picture = graph_picture(
        *(vertex(f"d{number}", "done") for number in range(60)),
        *(vertex(f"r{number}", "running") for number in range(3)),
        vertex("f", "failed"),
    )
    (line,) = shown(picture, lines=1)
    assert line.startswith("├─ layer 1  ━")
    assert line.endswith("60/64  ✗ 1  ▶ 3")
    (line,) = shown(picture, lines=1, width=100)
    assert line.endswith("60/64  ✗ 1 failed  ▶ 3 running")


def test_a_stack_in_a_stack_shows_how_far_it_is_and_what_is_in_it() -> None:
    inner = graph_picture(vertex("done", "done"), vertex("member", "running"))
    outer = graph_picture(vertex("group", "waiting", nested_stack_id="inner"))
    lines = shown(outer, inner=inner)
    assert lines[1].startswith("│  … group  ")
    assert "1/2  ▶ 1" in lines[1]
    assert lines[2] == "│     ▶ member  running"


def test_groups_are_shown_of_a_graph_too_large_to_show() -> None:
    groups = tuple(
        Group(id=f"{layer}/T", layer=layer, type="T", counts=counts, total=3, names=())
        for layer, counts in enumerate(({"done": 3}, {"done": 1, "running": 2}, {"blocked": 3}))
    )
    lines = shown(graph_picture(part="groups", groups=groups))
    assert [line.split("  ")[0] for line in lines] == ["├─ layer 1", "├─ layer 2", "│", "├─ layer 3"]
    assert lines[2].startswith("│  ▶ T  ")
    assert lines[2].endswith("1/3  ▶ 2")


def test_layers_for_which_there_is_no_room_are_counted() -> None:
    picture = graph_picture(*(vertex(f"r{layer}", "running", layer) for layer in range(30)))
    lines = shown(picture, lines=5)
    assert len(lines) == 5
    assert lines[-1] == "│  and 26 more layers"


def test_a_long_name_leaves_room_for_what_there_is_to_say_of_it() -> None:
    picture = graph_picture(vertex(f"{'a-name-' * 20}1", "running"))
    assert shown(picture)[1] == "│  ▶ a-name-a-name-a-name…ame-a-name-a-name-1  running"


def test_names_and_reasons_cannot_steer_a_terminal() -> None:
    text = "".join(shown(graph_picture(vertex("a\x1b[2J", "failed", reason="\x1b[31mred"))))
    assert "\x1b" not in text


def test_a_bar_is_full_only_when_all_is_done() -> None:
    assert bar({"done": 999, "blocked": 1}, 10).plain == "━" * 9 + "─"
    assert bar({"done": 500, "unchanged": 500}, 10).plain == "━" * 10
    assert bar({"done": 9999, "failed": 1}, 10).plain == "━" * 9 + "▞"
    assert bar({"done": 5, "running": 5}, 10, ascii_only=True).plain == "=====-----"
    assert bar({}, 4).plain == "────"


@settings(max_examples=100)
@given(
    vertices=st.lists(st.tuples(st.sampled_from(STATES), st.integers(0, 12)), max_size=40),
    width=st.integers(1, 130),
    lines=st.integers(0, 30),
    ascii_only=st.booleans(),
)
def test_it_keeps_to_its_room_whatever_there_is(
    vertices: list[tuple[str, int]], width: int, lines: int, ascii_only: bool
) -> None:
    picture = graph_picture(
        *(vertex(f"v{number}", state, layer) for number, (state, layer) in enumerate(vertices))
    )
    told = plain(drawn(branches(picture), width=width, lines=lines, ascii_only=ascii_only))
    assert len(told) <= lines
    assert all(cell_len(line) <= width for line in told)
    if ascii_only:
        assert all(line.isascii() for line in told)
    tree = branches(picture)
    assert sum(sum(branch.counts.values()) for branch in tree) == len(vertices)
