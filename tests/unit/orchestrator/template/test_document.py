"""Text becomes plain data with positions, within limits, or problems."""

import json
from typing import Any

import pytest
import yaml
from hypothesis import given
from hypothesis import strategies as st

from orchestrator.config.limits import Limits
from orchestrator.config.settings import Settings
from orchestrator.errors import InvalidInput, Position, Problem
from orchestrator.template.document import Document, dotted, parse_document
from orchestrator.template.reading import shared_readings


def parse(source: str, **limits: Any) -> Document:
    return parse_document(source, file="t.yaml", limits=Limits(**limits))


def problems_of(source: str, **limits: Any) -> list[Problem]:
    with pytest.raises(InvalidInput) as caught:
        parse(source, **limits)
    return list(caught.value.problems)


def only_problem(source: str, **limits: int) -> Problem:
    (problem,) = problems_of(source, **limits)
    return problem


def at(line: int, column: int) -> Position:
    return Position(file="t.yaml", line=line, column=column)


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("2013-05-23", "2013-05-23"),
        ("2013-05-23 10:00:00", "2013-05-23 10:00:00"),
        ("yes", True),
        ("Off", False),
        ("~", None),
        ("", None),
        ("7", 7),
        ("0x10", 16),
        ("010", 8),
        ("1_000", 1000),
        ("-2.5", -2.5),
        ("1e5", "1e5"),
        ("'7'", "7"),
        ('"yes"', "yes"),
        ("!!str 7", "7"),
        ("!!int '7'", 7),
        ("! 7", "7"),
        ("OS::Heat::None", "OS::Heat::None"),
        ("|\n  two\n  lines\n", "two\nlines\n"),
        ("=", "="),
        ("18446744073709551615", 2**64 - 1),
    ],
)
def test_scalars_mean_what_yaml_says_but_dates_stay_text(text: str, value: Any) -> None:
    found = parse(f"a: {text}").data["a"]
    assert found == value
    assert type(found) is type(value)


@pytest.mark.parametrize(
    "text",
    ["18446744073709551616", "-9223372036854775809", ".inf", ".nan", "9" * 5000, "1:" * 90 + "1", "0x_"],
)
def test_numbers_that_cannot_be_kept_are_refused_where_they_stand(text: str) -> None:
    problem = only_problem(f"b: [1,\n  {text}]")
    assert problem.position == at(2, 3)
    assert problem.path == "b[1]"
    assert "in quotes" in problem.hint


KEYS = [
    ("80", "80", "a number"),
    ("0x50", "80", "a number"),
    ("1.50", "1.5", "a number"),
    ("-7", "-7", "a number"),
    ("on", "true", "a boolean"),
    ("No", "false", "a boolean"),
    ("true", "true", "a boolean"),
    ("~", "null", "null"),
]


@pytest.mark.parametrize(("written", "key", "kind"), KEYS)
def test_a_key_that_is_no_text_is_taken_as_json_writes_it(written: str, key: str, kind: str) -> None:
    document = parse(f"a:\n  - {written}: x\n    b: y")
    assert document.data == {"a": [{key: "x", "b": "y"}]}
    (warning,) = document.warnings
    assert warning.message == f"this key is {kind}, and is taken as the text {key!r}"
    assert (warning.path, warning.position) == (f"a[0].{key}", at(2, 5))
    assert "in quotes" in warning.hint
    # What is in it has its place, too.
    assert document.positions.at(("a", 0, key)) == at(2, 5)


@pytest.mark.parametrize("key", ["'80'", '"on"', "!!str 80", "2013-05-23", "y", "1e5", "<"])
def test_a_key_that_is_text_gets_no_warning(key: str) -> None:
    document = parse(f"{key}: x")
    assert document.warnings == ()
    assert list(document.data.values()) == ["x"]


@given(
    st.dictionaries(
        st.none() | st.booleans() | st.integers(-(2**63), 2**64 - 1) | st.text(), st.integers(0, 9)
    )
)
def test_keys_become_what_a_client_that_sends_json_makes_of_them(data: dict[Any, int]) -> None:
    sent = json.loads(json.dumps(data))
    if len(sent) < len(data):
        return
    document = parse(yaml.safe_dump(data))
    assert document.data == sent
    assert len(document.warnings) == sum(not isinstance(key, str) for key in data)


def test_two_spellings_of_a_key_are_one_key() -> None:
    problem = only_problem("80: a\n'80': b")
    assert "the key '80' comes twice" in problem.message
    assert problem.position == at(2, 1)


@pytest.mark.parametrize(("key", "kind"), [("[a]", "a list"), ("{a: b}", "a map")])
def test_a_map_or_a_list_is_no_key(key: str, kind: str) -> None:
    problem = only_problem(f"? {key}\n: x")
    assert problem.message == f"keys must be text, found {kind}"


@pytest.mark.parametrize(
    "text", ["!!binary aGk=", "!!python/object:os.system x", "!!int abc", "!!bool maybe", "!mine 1"]
)
def test_other_tags_are_refused(text: str) -> None:
    assert "tag" in only_problem(f"a: {text}").message


@pytest.mark.parametrize("text", ["!!set {a}", "!!omap [a: 1]", "!mine [1]"])
def test_containers_with_other_tags_are_refused(text: str) -> None:
    assert "tag" in only_problem(f"a: {text}").message


def test_json_numbers_and_escapes_are_those_of_json() -> None:
    source = r'{"a": 1e5, "b": "\ud83d\ude00", "c": "\\ud83d\/", "d": [true, null, -0.5], "e":{"f":1}}'
    assert parse(source).data == json.loads(source)


@given(
    st.dictionaries(
        st.text(max_size=20),
        st.recursive(
            st.none()
            | st.booleans()
            | st.integers(-(2**63), 2**63)
            | st.floats(allow_nan=False, allow_infinity=False)
            | st.text(),
            lambda inner: st.lists(inner) | st.dictionaries(st.text(max_size=20), inner),
            max_leaves=10,
        ),
    )
)
def test_json_gives_back_what_was_written(data: dict[str, Any]) -> None:
    assert parse(json.dumps(data)).data == data


def test_positions_are_those_of_keys_and_items() -> None:
    document = parse("a:\n  b:\n    - x\n    - {c: [1, 2]}\n")
    places = document.positions
    assert places.at(()) == at(1, 1)
    assert places.at(("a",)) == at(1, 1)
    assert places.at(("a", "b")) == at(2, 3)
    assert places.at(("a", "b", 0)) == at(3, 7)
    assert places.at(("a", "b", 1, "c")) == at(4, 8)
    assert places.at(("a", "b", 1, "c", 1)) == at(4, 15)


@pytest.mark.parametrize("path", [("a", "b", "none"), ("a", "b", 7), ("a", "b", 0, "deeper", 1)])
def test_what_is_not_there_has_the_position_of_its_nearest_ancestor(path: tuple[str | int, ...]) -> None:
    places = parse("a:\n  b: [x]").positions
    assert places.at(path) == (at(2, 7) if 0 in path else at(2, 3))


def test_columns_count_characters_not_bytes() -> None:
    assert parse("{é: 1, 😀: 2}").positions.at(("😀",)) == at(1, 8)


def test_paths_read_like_those_of_heat() -> None:
    assert dotted(("resources", "a", "properties", "list", 0, "key")) == "resources.a.properties.list[0].key"


def test_syntax_errors_carry_line_and_column() -> None:
    problem = only_problem("a: b\n c: d")
    assert problem.position == at(2, 3)
    assert "not valid YAML" in problem.message


def test_tabs_are_named_as_the_cause() -> None:
    problem = only_problem("a:\n\t- b")
    assert problem.position == at(2, 1)
    assert "tabs" in problem.hint


def test_control_characters_are_refused_where_they_stand() -> None:
    assert only_problem("a: é\nb: \x01").position == at(2, 4)


def test_half_a_surrogate_pair_is_refused_where_it_stands() -> None:
    assert only_problem("a: 1\nb: \ud800").position == at(2, 4)


def test_every_key_that_is_a_list_or_comes_twice_is_reported() -> None:
    problems = problems_of("a: 1\nb: {c: 1, c: 2}\na: 3\n8: x\non: y\n~: z\n[q]: w\nyes: v\n")
    assert [(str(p.position), p.path) for p in problems] == [
        ("t.yaml:2:11", "b.c"),
        ("t.yaml:3:1", "a"),
        ("t.yaml:7:1", ""),
        ("t.yaml:8:1", "true"),
    ]
    assert "line 2" in problems[0].message
    assert problems[2].message == "keys must be text, found a list"


def test_aliases_and_merge_keys_work() -> None:
    document = parse(
        "base: &base {x: 1, y: 2}\nuse:\n  <<: *base\n  y: 3\nboth: {<<: [*base, {z: 4, x: 9}]}\nsame: *base\n"
    )
    assert document.data["use"] == {"y": 3, "x": 1}
    assert document.data["both"] == {"x": 1, "y": 2, "z": 4}
    assert document.data["same"] == {"x": 1, "y": 2}
    assert document.positions.at(("use", "x")) == at(1, 14)


def test_a_quoted_merge_key_is_a_key() -> None:
    assert parse('"<<": 1').data == {"<<": 1}


def test_merging_what_is_no_map_is_refused() -> None:
    assert "merges a map" in only_problem("a: {<<: [1]}").message


@pytest.mark.parametrize("source", ["a: *nowhere", "a: &a [*a]", "a: &a {b: *a}"])
def test_an_alias_needs_an_anchor_that_ended_before_it(source: str) -> None:
    assert "refers to no anchor" in only_problem(source).message


def test_an_alias_bomb_is_refused_before_it_goes_off() -> None:
    levels = [f"a{i}: &a{i} [{', '.join([f'*a{i - 1}'] * 9)}]" for i in range(1, 20)]
    problem = only_problem("\n".join(["a0: &a0 [lol]", *levels]), max_bytes=100_000)
    assert "aliases expanded" in problem.message


def test_aliases_count_for_the_depth() -> None:
    source = "a: &a [[1]]\nb: &b [[*a]]\nc: [[*b]]"
    assert parse(source, max_depth=7).data["c"] == [[[[[[1]]]]]]
    assert only_problem(source, max_depth=6).message == "nested deeper than 6 levels"


def test_depth_is_limited_exactly() -> None:
    assert parse("[[[x]]]", max_depth=3).data == [[["x"]]]
    assert only_problem("[[[[x]]]]", max_depth=3).position == at(1, 4)


@pytest.mark.parametrize("source", ["[" * 200_000, "{a: " * 200_000, "- " * 200_000, '{"a":' * 200_000])
def test_no_depth_exhausts_the_interpreter(source: str) -> None:
    assert "nested deeper than 200 levels" in only_problem(source, max_depth=10**9).message


def test_size_is_limited_in_bytes() -> None:
    assert parse("a: é", max_bytes=5).data == {"a": "é"}
    assert "5 bytes; at most 4" in only_problem("a: é", max_bytes=4).message


def test_a_second_document_is_refused() -> None:
    assert only_problem("---\na: 1\n---\nb: 2").position == at(3, 1)


@pytest.mark.parametrize("source", ["", "\n", "# nothing\n", "---\n", "\ufeff"])
def test_an_empty_text_is_null(source: str) -> None:
    assert parse(source).data is None


def test_limits_are_those_of_the_settings() -> None:
    settings = Settings(max_template_bytes=1, max_resources_per_stack=2, max_template_depth=3)
    assert Limits.of(settings) == Limits(max_bytes=1, max_resources=2, max_depth=3)
    assert Limits.of(Settings()) == Limits()


def test_a_command_reads_a_text_once_within_the_same_limits() -> None:
    text = "a: {b: c}"
    with shared_readings():
        first = parse(text)
        assert parse("\ufeff" + text).data is first.data
        assert parse(text, max_depth=7).data is not first.data
        with shared_readings():
            assert parse(text).data is not first.data
        assert parse(text).data is first.data
    assert parse(text).data is not parse(text).data == first.data


def test_the_mistakes_of_a_text_that_is_read_once_are_found_each_time() -> None:
    with shared_readings():
        assert problems_of("a: 1\na: 2") == problems_of("a: 1\na: 2") != []
        assert problems_of("a: [") == problems_of("a: [") != []
