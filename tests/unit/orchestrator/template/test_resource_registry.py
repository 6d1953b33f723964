"""What resource types stand for, and what is said of single resources."""

import json
from dataclasses import replace
from fnmatch import fnmatchcase
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from orchestrator.errors import InvalidInput, Problem
from orchestrator.template.environment import Environment
from orchestrator.template.locations import is_template
from orchestrator.template.resource_registry import HOOKS, Registry
from tests.unit.orchestrator.template.environments import parsed


def read(*sections: dict[str, Any], base: str = "") -> Registry:
    environments = (parsed(json.dumps({"resource_registry": each}), base=base) for each in sections)
    return Environment().merge(*environments).registry


def refused(section: Any) -> Problem:
    with pytest.raises(InvalidInput) as caught:
        read(section)
    (problem,) = caught.value.problems
    return problem


# -- types -----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("section", "name", "actual"),
    [
        ({}, "A", "A"),
        ({"A": "B"}, "A", "B"),
        ({"A": "B"}, "B", "B"),
        ({"A": "A"}, "A", "A"),
        ({"A": "B", "B": "C"}, "A", "C"),
        ({"A": "B", "B": "A"}, "A", "B"),
        ({"A": "B", "B": "x.yaml"}, "A", "x.yaml"),
        ({"A": "x.template"}, "A", "x.template"),
        ({"A": "https://h/x.yaml"}, "A", "https://h/x.yaml"),
        ({"A": "x.yaml"}, "x.yaml", "x.yaml"),
        ({"*": "B"}, "x.yaml", "x.yaml"),
        # Many stand for many, and the rest of the name is kept.
        ({"O::N::*": "M::*"}, "O::N::Port", "M::Port"),
        ({"O::N*": "O::M*"}, "O::Net::Port", "O::Met::Port"),
        ({"O::N::*": "M::*"}, "O::Other", "O::Other"),
        ({"O::N::*": "M::*"}, "O::N::", "M::"),
        ({"O::*": "O::*"}, "O::X", "O::X"),
        ({"O::*": "O::Mine::*"}, "O::X", "O::Mine::X"),
        ({"O::*": "O::Mine::*"}, "O::Mine::X", "O::Mine::X"),
        ({"O::Mine::*": "O::*"}, "O::Mine::X", "O::X"),
        ({"A::*": "B::*", "B::*": "C::*"}, "A::X", "C::X"),
        ({"A::*": "B::*", "B::*": "A::*"}, "A::X", "B::X"),
        # Many stand for one, but the one only for itself.
        ({"O::*": "O::None"}, "O::X", "O::None"),
        ({"O::*": "O::None"}, "O::None", "O::None"),
        ({"*": "O::None"}, "X", "O::None"),
        ({"O::*": "x.yaml"}, "O::X", "x.yaml"),
        # The best match first.
        ({"O::*": "W", "O::X": "E"}, "O::X", "E"),
        ({"O::*": "W", "O::N::*": "L", "O*": "S"}, "O::N::X", "L"),
        ({"O::*": "W", "O::N::*": "L", "O*": "S"}, "O::X", "W"),
        ({"O::*": "M::*", "O::N::*": "O::N::None"}, "O::N::None", "M::N::None"),
        # A type may be called like a pattern.
        ({"O::*": "M::*"}, "O::*", "M::*"),
    ],
)
def test_a_type_stands_for_what_the_best_match_says(section: dict[str, str], name: str, actual: str) -> None:
    assert read(section).actual(name) == actual


def among(installed: str, section: dict[str, Any]) -> Registry:
    """Return the registry of an installation with these types."""
    return replace(read(section), installed=frozenset(installed.split()))


@pytest.mark.parametrize(
    ("installed", "section", "name", "actual"),
    [
        # The built-in type.
        ("O::X", {"O::*": "M::*"}, "O::X", "O::X"),
        ("O::X", {"*": "None"}, "O::X", "O::X"),
        ("O::X M::X", {"O::*": "M::*"}, "O::X", "M::X"),
        # The next match.
        ("O::N::X W", {"O::N::*": "L::*", "O::*": "W"}, "O::N::X", "W"),
        ("O::N::X S::N::X", {"O::N::*": "L", "O::*": "W::*", "O*": "S*"}, "O::N::X", "S::N::X"),
        ("O::N::X", {"O::N::*": "L::*", "O::*": "W"}, "O::N::X", "O::N::X"),
        # One that exists by further entries.
        ("C::X A::X", {"A::*": "B::*", "B::*": "C::*"}, "A::X", "C::X"),
        ("C A::X", {"A::*": "B::*", "B::X": "C"}, "A::X", "C"),
        ("A::X", {"A::*": "B::*", "B::X": "C"}, "A::X", "A::X"),
        ("A::X", {"A::*": "B::*", "B::X": "x.yaml"}, "A::X", "x.yaml"),
        ("A::X", {"A::*": "B::*", "B::*": "A::*"}, "A::X", "A::X"),
        ("B::X", {"A::*": "B::*", "B::*": "A::*"}, "A::X", "B::X"),
        # A resource's own entries before those for all.
        ("O::X G", {"O::*": "G", "resources": {"web": {"O::*": "M::*"}}}, "O::X", "G"),
        ("O::X G M", {"O::*": "G", "resources": {"web": {"O*": "M"}}}, "O::X", "M"),
        # A template file is there or is reported as missing.
        ("O::X", {"O::*": "x.yaml"}, "O::X", "x.yaml"),
        # What is named in full does not fall through.
        ("A W", {"A": "B", "A*": "W"}, "A", "B"),
        ("B", {"A": "B", "B": "A"}, "A", "B"),
        # Nothing exists: the best match is reported.
        ("", {"O::N::*": "L::*", "O::*": "W"}, "O::N::X", "L::X"),
        ("", {}, "O::X", "O::X"),
    ],
)
def test_a_wildcard_without_a_target_is_passed_over(
    installed: str, section: dict[str, Any], name: str, actual: str
) -> None:
    assert among(installed, section).actual(name, ("web",)) == actual


def test_inside_a_template_a_wildcard_without_a_target_is_passed_over_too() -> None:
    registry = among("O::X", {"T": "t.yaml", "O::*": "M::*"})
    assert registry.for_nested("web", "T").actual("O::X") == "O::X"
    # The template that a passed-over match leads to is left out inside itself.
    wild = among("O::X", {"O::X*": "Nope::*", "O::*": "t.yaml"})
    assert wild.actual("O::X") == "t.yaml"
    assert wild.for_nested("web", "O::X").actual("O::X") == "O::X"


def test_wildcards_that_lead_nowhere_by_many_ways_end() -> None:
    section = {f"{'A' * i}*": f"{'A' * j}B*" for i in range(1, 40) for j in (i, i + 1)}
    assert among("A" * 50, section).actual("A" * 50) == "A" * 50
    assert among("", section).actual("A" * 50)


@pytest.mark.parametrize(
    "section", [{"A::*": "B::A::*", "B::*": "A::B::*"}, {f"T{i}": f"T{i + 1}" for i in range(5000)}]
)
def test_a_chain_without_end_ends(section: dict[str, str]) -> None:
    registry = read(section)
    assert len(registry.actual("A::X")) < 1100
    assert registry.actual("T0") in {"T0", "T100"}


TYPES = st.lists(st.sampled_from(["A", "B", "::"]), min_size=1, max_size=4).map("".join)


@given(st.dictionaries(TYPES | TYPES.map("{}*".format) | st.just("*"), st.just("Target"), max_size=6), TYPES)
def test_wildcards_match_as_shell_patterns_do(section: dict[str, str], name: str) -> None:
    matching = [entry for entry in section if fnmatchcase(name, entry)]
    found = read(section).entries.types.entry_for(name)
    assert found == (max(matching, key=lambda entry: (entry == name, len(entry))) if matching else None)
    assert read(section).actual(name) == ("Target" if matching else name)


@given(st.dictionaries(TYPES | TYPES.map("{}*".format), TYPES | TYPES.map("{}*".format), max_size=6), TYPES)
def test_every_type_stands_for_something(section: dict[str, str], name: str) -> None:
    try:
        registry = read(section)
    except InvalidInput:
        return
    assert registry.actual(name)
    assert registry.actual(name, ("web",)) == registry.actual(name)
    # Only the type itself exists: it, or what is reported as missing.
    assert replace(registry, installed={name}).actual(name) in {name, registry.actual(name)}


@pytest.mark.parametrize(
    ("sections", "actual"),
    [
        ([{"A": "B"}, {"A": "C"}], "C"),
        ([{"A": "B"}, {"A": None}], "A"),
        ([{"A": None}, {"A": "B"}], "B"),
        ([{"A": "B"}, {"*": None}], "A"),
        ([{"A": "B"}, {"A*": None}], "A"),
        ([{"A*": "B"}, {"A*": None}], "A"),
        ([{"A*": "B"}, {"A": None}], "B"),
        ([{"A": "B"}, {"AB*": None}], "B"),
        ([{"A": "B"}, {"*": None, "A": "C"}], "C"),
        ([{"A": "B"}, {"*": None}, {"A": "C"}], "C"),
    ],
)
def test_null_takes_away_what_earlier_files_say(sections: list[dict[str, Any]], actual: str) -> None:
    assert read(*sections).actual("A") == actual


SECTIONS = st.dictionaries(
    st.sampled_from(["A", "AB", "A*", "*", "B"]), st.sampled_from(["A", "B", "C", None]), max_size=3
)
SAID = st.fixed_dictionaries(
    {
        "resources": st.dictionaries(
            st.sampled_from(["a", "b", "a*"]),
            st.none() | st.fixed_dictionaries({"hooks": st.sampled_from(HOOKS)}),
            max_size=3,
        )
    }
)


WHOLE = st.builds(lambda types, said: {**types, **said}, SECTIONS, SAID)


@given(WHOLE, WHOLE, WHOLE)
def test_merging_in_two_ways_comes_to_the_same(
    one: dict[str, Any], two: dict[str, Any], three: dict[str, Any]
) -> None:
    first, second, third = (read(each) for each in (one, two, three))
    assert first.merge(second).merge(third) == first.merge(second.merge(third)) == read(one, two, three)


@pytest.mark.parametrize(
    ("section", "path", "message", "hint"),
    [
        ([], "", "expected a map, found a list", ""),
        ({"A": 7}, "A", "or of a template file, found a number", ""),
        ({"A": ""}, "A", "found empty text", ""),
        ({"A": ["B"]}, "A", "found a list", ""),
        ({"A": {"B": "C"}}, "A", "found a map", "stand under 'resources'"),
        ({"resource": {"B": {}}}, "resource", "found a map", "did you mean 'resources'?"),
        ({"": "A"}, "", "the name of a type", ""),
        ({"O::*::X": "A"}, "O::*::X", "a '*' at the end", ""),
        ({"**": "A"}, "**", "a '*' at the end", ""),
        ({"O::*": "A::*::B"}, "O::*", "only at the end", ""),
        ({"A": "B::*"}, "A", "one type cannot stand for many", "did you mean 'A*'"),
        ({"x.yaml": "A"}, "x.yaml", "stands for itself", ""),
        ({"A": "x.yml"}, "A", "expected the name", "end in .yaml or .template"),
        ({"A": "https://h/x"}, "A", "expected the name", "end in .yaml or .template"),
        ({"base_url": 7}, "base_url", "expected a directory", ""),
        ({"hooks": "pre-create"}, "hooks", "single resources only", "under 'resources'"),
        ({"restricted_actions": {}}, "restricted_actions", "single resources only", ""),
        ({"resources": []}, "resources", "found a list", ""),
        ({"resources": {"web": "A"}}, "resources.web", "found text", ""),
        ({"resources": {"web": {"A": 7}}}, "resources.web.A", "found a number", ""),
        ({"resources": {"web": {"base_url": 7}}}, "resources.web.base_url", "expected a directory", ""),
        ({"resources": {"web*": {"A": "B"}}}, "resources.web*.A", "not in all that match", "each resource"),
        ({"resources": {"web": {"hooks": "pre-crate"}}}, "resources.web.hooks", "found 'pre-crate'", "'pre-create'?"),
        ({"resources": {"web": {"hooks": ["pre-create", 7]}}}, "resources.web.hooks[1]", "found a number", ""),
        ({"resources": {"web": {"hooks": {}}}}, "resources.web.hooks", "a list of these, found a map", ""),
        ({"resources": {"a": {"restricted_actions": "pdate"}}}, "resources.a.restricted_actions", "one of", "'update'"),
        ({"resources": {"web": {"db": {"hooks": "no"}}}}, "resources.web.db.hooks", "found 'no'", ""),
        ({"resources": {f"a{i}*": {} for i in range(101)}}, "resources", "101 names", "one pattern"),
    ],
)  # fmt: skip
def test_what_is_wrong_is_named_with_its_path(section: Any, path: str, message: str, hint: str) -> None:
    problem = refused(section)
    assert problem.path == (
        f"resource_registry.{path}" if path or isinstance(section, dict) else "resource_registry"
    )
    assert message in problem.message
    assert hint in problem.hint
    assert problem.position


# -- template files --------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("base", "section", "key", "written"),
    [
        ("", {"A": "x.yaml"}, "x.yaml", "x.yaml"),
        ("", {"A": "./x.yaml"}, "./x.yaml", "./x.yaml"),
        ("envs", {"A": "x.yaml"}, "envs/x.yaml", "x.yaml"),
        ("envs", {"A": "/srv/x.yaml"}, "/srv/x.yaml", "/srv/x.yaml"),
        ("", {"base_url": "t", "A": "x.yaml"}, "t/x.yaml", "t/x.yaml"),
        ("envs", {"base_url": "../t/", "A": "x.yaml"}, "t/x.yaml", "../t/x.yaml"),
        ("envs", {"base_url": ".", "A": "x.yaml"}, "envs/x.yaml", "x.yaml"),
        ("envs", {"base_url": "/srv", "A": "x.yaml"}, "/srv/x.yaml", "/srv/x.yaml"),
        ("envs", {"base_url": "https://h/t", "A": "x.yaml"}, "https://h/t/x.yaml", "https://h/t/x.yaml"),
        ("envs", {"base_url": "https://h/t/", "A": "/x.yaml"}, "https://h/x.yaml", "https://h/x.yaml"),
        ("https://h/e/", {"A": "x.yaml"}, "https://h/e/x.yaml", "x.yaml"),
        ("https://h/e/", {"base_url": "../t", "A": "x.yaml"}, "https://h/t/x.yaml", "../t/x.yaml"),
        ("envs", {"resources": {"web": {"A": "x.yaml"}}}, "envs/x.yaml", "x.yaml"),
        ("", {"base_url": "t", "resources": {"web": {"A": "x.yaml"}}}, "t/x.yaml", "t/x.yaml"),
        ("", {"resources": {"web": {"base_url": "t", "A": "x.yaml"}}}, "t/x.yaml", "t/x.yaml"),
        ("", {"base_url": "t", "resources": {"base_url": "u", "web": {"A": "x.yaml"}}}, "t/u/x.yaml", "t/u/x.yaml"),
    ],
)  # fmt: skip
def test_template_files_are_relative_to_the_environment_or_to_base_url(
    base: str, section: dict[str, Any], key: str, written: str
) -> None:
    registry = read(section, base=base)
    (target,) = registry.template_targets()
    assert (target.name, target.given.value) == (key, written)
    assert registry.actual("A", ("web",)) == key
    assert is_template(registry.actual("A", ("web",)))


def test_types_do_not_start_at_base_url() -> None:
    registry = read({"base_url": "t", "A": "B"}, base="envs")
    assert registry.actual("A") == "B"
    assert registry.template_targets() == ()
    assert not is_template("B")


# -- single resources ------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("name", "path", "actual"),
    [
        ("A", (), "B"),
        ("A", ("other",), "B"),
        ("A", ("web",), "W"),
        ("C", ("web",), "D"),
        ("N::X", ("web",), "M::X"),
        # What one resource says of many counts before what is said of one type everywhere.
        ("N::One", ("web",), "M::One"),
        ("N::One", ("other",), "E"),
        ("X", ("web",), "W"),
        ("A", ("web", "db"), "in.yaml"),
        ("A", ("web", "other"), "B"),
        ("A", ("db",), "B"),
        ("A", ("web", "db", "deep"), "Z"),
    ],
)
def test_what_is_said_of_a_resource_counts_before_what_is_said_of_all(
    name: str, path: tuple[str, ...], actual: str
) -> None:
    registry = read(
        {
            "A": "B",
            "C": "D",
            "N::One": "E",
            "X": "A",
            "resources": {
                "web": {"A": "W", "N::*": "M::*", "db": {"A": "in.yaml", "deep": {"A": "Z"}}},
            },
        }
    )
    assert registry.actual(name, path) == actual


SAID_OF = {
    "resources": {
        "web": {"hooks": "pre-create", "restricted_actions": ["update", "replace"]},
        "*_server": {"hooks": ["pre-update", "post-delete"], "restricted_actions": "replace"},
        "app_server": {"hooks": ["pre-create"], "db": {"hooks": "post-update"}},
        "app_*": {
            "db": {"hooks": "pre-delete", "restricted_actions": "update"},
            "d*": {"hooks": "post-create"},
        },
        "[ab]*": {"hooks": "post-delete"},
        "quiet": {"hooks": None},
    }
}


@pytest.mark.parametrize(
    ("path", "hooks", "restricted"),
    [
        ((), [], []),
        (("other",), [], []),
        (("web",), ["pre-create"], ["replace", "update"]),
        (("db_server",), ["post-delete", "pre-update"], ["replace"]),
        (("DB_SERVER",), [], []),
        (("app_server",), ["post-delete", "pre-create", "pre-update"], ["replace"]),
        (("bus",), ["post-delete"], []),
        (("quiet",), [], []),
        (("app_server", "db"), ["post-create", "post-update"], ["update"]),
        (("app_x", "db"), ["post-create", "pre-delete"], ["update"]),
        (("app_x", "disk"), ["post-create"], []),
        (("web", "db"), [], []),
        (("app_server", "db", "web"), [], []),
    ],
)
def test_hooks_and_restrictions_are_those_of_every_name_that_matches(
    path: tuple[str, ...], hooks: list[str], restricted: list[str]
) -> None:
    registry = read(SAID_OF)
    assert sorted(registry.hooks(path)) == hooks
    assert sorted(registry.restricted_actions(path)) == restricted
    if path:
        nested = registry
        for name in path[:-1]:
            nested = nested.for_nested(name, "Any")
        assert sorted(nested.hooks(path[-1:])) == hooks
        assert sorted(nested.restricted_actions(path[-1:])) == restricted


@given(st.text("ab*?[]!", max_size=5), st.text("ab*?[]!", min_size=1, max_size=5))
def test_names_with_a_star_match_as_shell_patterns_do(pattern: str, name: str) -> None:
    registry = read({"resources": {pattern: {"hooks": "pre-create"}}})
    matches = pattern == name or ("*" in pattern and fnmatchcase(name, pattern))
    assert bool(registry.hooks((name,))) == matches


@pytest.mark.parametrize(
    ("later", "hooks", "actual"),
    [
        ({"web": {"hooks": "pre-update"}}, ["pre-update"], "B"),
        ({"web": {"hooks": []}}, [], "B"),
        ({"web": {"hooks": None}}, [], "B"),
        ({"web": {"A": "C"}}, ["pre-create"], "C"),
        ({"web": {"A": None}}, ["pre-create"], "A"),
        ({"web": None}, [], "A"),
        ({"w*": None}, ["pre-create"], "B"),
        ({"other": {}}, ["pre-create"], "B"),
        (None, ["pre-create"], "B"),
    ],
)
def test_later_files_add_to_what_is_said_of_a_resource(later: Any, hooks: list[str], actual: str) -> None:
    first = {"resources": {"web": {"A": "B", "hooks": "pre-create"}}}
    registry = read(first, {"resources": later})
    assert (sorted(registry.hooks(("web",))), registry.actual("A", ("web",))) == (hooks, actual)


# -- nested stacks ---------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("section", "own", "inside", "actual"),
    [
        ({"A": "x.yaml"}, "A", "A", "A"),
        ({"A": "x.yaml", "B": "x.yaml"}, "A", "B", "x.yaml"),
        ({"A": "B", "B": "x.yaml"}, "A", "B", "B"),
        ({"A": "B", "B": "x.yaml"}, "A", "A", "B"),
        ({"A": "B"}, "A", "A", "B"),
        ({"O::*": "x.yaml"}, "O::A", "O::B", "O::B"),
        ({"O::*": "N::*", "N::A": "x.yaml"}, "O::A", "O::A", "N::A"),
        # One of the resource's own does not reach inside, so nothing else is left out.
        ({"A": "y.yaml", "resources": {"web": {"A": "x.yaml"}}}, "A", "A", "y.yaml"),
        ({"A": "y.yaml"}, "x.yaml", "A", "y.yaml"),
        ({"resources": {"web": {"A": "x.yaml", "db": {"A": "I"}}}}, "A", "A", "I"),
        ({"A": "x.yaml", "resources": {"w*": {"db": {"A": "I"}}}}, "A", "A", "I"),
    ],
)
def test_inside_a_template_its_own_type_is_what_it_would_be_without(
    section: dict[str, Any], own: str, inside: str, actual: str
) -> None:
    nested = read(section).for_nested("web", own)
    assert nested.actual(inside, ("db",)) == actual


def test_names_inside_a_template_start_at_its_directory() -> None:
    registry = read({"A": "x.yaml", "B": "https://h/t/b.yaml", "C": "sub/c.yaml"}, base="envs")
    assert registry.actual("near.yaml") == "near.yaml"
    nested = registry.for_nested("web", "A")
    assert nested.base == "envs"
    assert nested.actual("near.yaml") == "envs/near.yaml"
    assert nested.actual("../far.yaml") == "far.yaml"
    # What the registry names is seen from the environment still.
    assert nested.actual("C") == "envs/sub/c.yaml"
    deeper = nested.for_nested("x", "C").for_nested("y", "../d.yaml")
    assert deeper.base == "envs"
    assert registry.for_nested("web", "B").actual("near.yaml") == "https://h/t/near.yaml"
    # A group's members are described where the group is.
    assert nested.for_nested("group", "OS::Heat::ResourceGroup").base == "envs"


def test_what_is_said_of_resources_goes_one_level_down() -> None:
    registry = read(SAID_OF).for_nested("app_server", "A")
    assert sorted(registry.entries.resources) == ["d*", "db"]
    assert registry.for_nested("db", "A").entries.resources == {}
