"""How values and tables are written."""

import io
import json

import pytest
import yaml
from hypothesis import given
from hypothesis import strategies as st
from rich.console import Console

from orchestrator.cli import formats
from orchestrator.cli.formats import (
    Table,
    as_json,
    as_yaml,
    fields_table,
    moment,
    plain_lines,
    printable,
    show,
    show_tables,
    text_of,
)

LIST = Table(columns=("name", "state"), rows=[("web", "CREATE_COMPLETE"), ("データ", "CREATE_FAILED")])

texts = st.text(st.characters(exclude_categories=["Cs"])) | st.text("a\n \t:#-'{}[],&*!|>%@\"=<")
values = st.recursive(
    st.none() | st.booleans() | st.integers() | texts,
    lambda inner: st.lists(inner) | st.dictionaries(texts, inner),
)


def on_terminal(
    monkeypatch: pytest.MonkeyPatch, *tables: Table, width: int = 60, no_color: bool = False
) -> str:
    """Return what a terminal of this width gets."""
    screen = io.StringIO()
    console = Console(
        file=screen,
        force_terminal=True,
        color_system="standard",
        no_color=no_color,
        width=width,
        markup=False,
    )
    monkeypatch.setattr(formats, "terminal_for_results", lambda: console)
    show_tables(tables)
    return screen.getvalue()


@given(data=values)
def test_json_and_yaml_lose_nothing(data: object) -> None:
    assert json.loads(as_json(data)) == data
    assert yaml.safe_load(as_yaml(data)) == data


@given(text=st.text())
def test_nothing_that_is_shown_can_steer_a_terminal(text: str) -> None:
    shown = printable(text)
    assert all(character.isprintable() or character in "\n\t" for character in shown)
    assert as_json(text).isascii()


def test_plain_columns_are_aligned_by_width_on_screen() -> None:
    assert list(plain_lines(LIST)) == ["NAME    STATE", "web     CREATE_COMPLETE", "データ  CREATE_FAILED"]


def test_a_list_keeps_one_line_a_row() -> None:
    table = Table(columns=("name", "reason"), rows=[("web", "first\nsecond"), ("x", None)])
    assert list(plain_lines(table)) == ["NAME  REASON", "web   first second", "x"]


def test_fields_keep_their_lines_indented() -> None:
    table = fields_table({"name": "web", "key": "a\nb\n"})
    assert list(plain_lines(table)) == ["name  web", "key   a", "      b", ""]


def test_an_empty_list_is_its_header() -> None:
    assert list(plain_lines(Table(columns=("name", "state"), rows=[]))) == ["NAME  STATE"]


def test_values_are_text_as_it_is_and_json_otherwise() -> None:
    assert [text_of(value) for value in (None, "a", 1, True, {"ü": [None]})] == [
        "",
        "a",
        "1",
        "true",
        '{"ü": [null]}',
    ]


def test_moments_are_utc() -> None:
    assert moment(0.9) == "1970-01-01T00:00:00Z"


def test_a_terminal_gets_a_frame_and_colours(monkeypatch: pytest.MonkeyPatch) -> None:
    shown = on_terminal(monkeypatch, LIST)
    assert "╭" in shown
    assert "\x1b[32mCREATE_COMPLETE" in shown
    assert "\x1b[1;31mCREATE_FAILED" in shown


def test_no_color_is_honoured_on_a_terminal(monkeypatch: pytest.MonkeyPatch) -> None:
    assert "\x1b[3" not in on_terminal(monkeypatch, LIST, no_color=True)


def test_long_values_are_folded_not_cut_on_a_terminal(monkeypatch: pytest.MonkeyPatch) -> None:
    shown = on_terminal(monkeypatch, fields_table({"value": "x" * 200}))
    assert shown.count("x") == 200


def test_a_narrow_terminal_leaves_out_spare_columns_and_no_more(monkeypatch: pytest.MonkeyPatch) -> None:
    row = ("n1", "rack=r1,disk=ssd", "process,qemu", "long " * 40)
    table = Table(
        columns=("name", "labels", "hypervisors", "reason"), rows=[row], spare=("hypervisors", "labels")
    )
    for width, shown in ((80, {"labels", "hypervisors"}), (60, {"labels"}), (30, set())):
        header = on_terminal(monkeypatch, table, width=width).splitlines()[1]
        assert {name for name in ("labels", "hypervisors") if name in header} == shown
        assert "name" in header
        assert "reason" in header
    assert "hypervisors".upper() in next(iter(plain_lines(table))), "a pipe gets all of them"


def test_a_list_too_narrow_to_be_read_has_a_table_of_fields_for_each_row(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    identity = "98e6ca95-5434-5214-88e6-04ed47ca5bde"
    table = Table(columns=("name", "state", "id"), rows=[(name, "OK", identity) for name in ("web", "shop")])
    wide, narrow = (on_terminal(monkeypatch, table, width=width) for width in (40, 24))
    assert [wide.count(each) for each in ("name", "╭")] == [1, 1]
    assert [narrow.count(each) for each in ("name", "╭")] == [2, 2]
    assert narrow.splitlines()[-1] == "╰───────┴──────────────╯"
    assert "none" in on_terminal(monkeypatch, Table(columns=("name", "state"), rows=[]), width=5)


def test_a_terminal_says_none_for_an_empty_list(monkeypatch: pytest.MonkeyPatch) -> None:
    assert "none" in on_terminal(monkeypatch, Table(columns=("name",), rows=[]))


def test_markup_in_values_is_shown_as_it_is(monkeypatch: pytest.MonkeyPatch) -> None:
    assert "[red]x[/]" in on_terminal(monkeypatch, fields_table({"[b]name": "[red]x[/]"}, "a [i]title"))


def test_titles_separate_tables(capsys: pytest.CaptureFixture[str]) -> None:
    show("table", None, fields_table({"a": 1}), fields_table({"b": 2}, "more"))
    assert capsys.readouterr().out == "a  1\n\nmore\nb  2\n"


words = st.text("abcdefgh", min_size=1, max_size=12)


@given(rows=st.lists(st.tuples(words, *[st.lists(words, max_size=60).map(" ".join)] * 2), min_size=1))
def test_folded_cells_keep_every_word_and_the_width(rows: list[tuple[str, str, str]]) -> None:
    table = Table(columns=("name", "detail", "hint"), rows=rows, folded_to=60)
    lines = list(plain_lines(table))
    assert max(map(len, lines)) <= 60
    assert sorted(" ".join(lines).split())[3:] == sorted(" ".join(map(" ".join, rows)).split())


def test_a_word_that_is_too_long_for_its_column_stays_whole() -> None:
    path = "/a/" * 40
    table = Table(
        columns=("name", "detail"), rows=[("x", f"see {path} there")], folded_to=30, has_header=False
    )
    assert list(plain_lines(table)) == ["x  see", f"   {path}", "   there"]
