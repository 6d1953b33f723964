"""Which maps are calls, in which version, and what happens to functions that are not there."""

from typing import Any

import pytest

from hooks.loading.entries import Loaded
from hooks.loading.entry import Entry
from orchestrator.definition import StackDefinition
from orchestrator.errors import PluginMistake
from orchestrator.template.functions import registry
from orchestrator.template.functions.base import Function
from orchestrator.template.functions.registry import as_functions, condition_functions_of, functions_of
from orchestrator.template.versions import CFN_AWS, CFN_HEAT, VERSIONS, TemplateVersion, find_version

#: The versions from and (exclusively) until which the language has each function.
TABLE: dict[str, tuple[str, str | None]] = {
    "get_param": ("2013-05-23", None),
    "get_resource": ("2013-05-23", None),
    "get_attr": ("2013-05-23", None),
    "get_file": ("2013-05-23", None),
    "resource_facade": ("2013-05-23", None),
    "str_replace": ("2013-05-23", None),
    "list_join": ("2013-05-23", None),
    "repeat": ("2015-04-30", None),
    "digest": ("2015-04-30", None),
    "str_split": ("2015-10-15", None),
    "map_merge": ("2016-04-08", None),
    "map_replace": ("2016-10-14", None),
    "yaql": ("2016-10-14", None),
    "if": ("2016-10-14", None),
    "filter": ("2017-02-24", None),
    "str_replace_strict": ("2017-02-24", None),
    "str_replace_vstrict": ("2017-09-01", None),
    "make_url": ("2017-09-01", None),
    "list_concat": ("2017-09-01", None),
    "list_concat_unique": ("2017-09-01", None),
    "contains": ("2017-09-01", None),
    # What HOT took over from CFN.
    "Ref": ("2010-09-09", "2014-10-16"),
    "Fn::GetAZs": ("2010-09-09", "2014-10-16"),
    "Fn::Join": ("2010-09-09", "2014-10-16"),
    "Fn::Split": ("2010-09-09", "2014-10-16"),
    "Fn::Replace": ("2010-09-09", "2014-10-16"),
    "Fn::Base64": ("2010-09-09", "2014-10-16"),
    "Fn::MemberListToMap": ("2010-09-09", "2014-10-16"),
    "Fn::ResourceFacade": ("2010-09-09", "2014-10-16"),
    "Fn::Select": ("2010-09-09", "2015-10-15"),
}
#: What is CFN's alone, up to (exclusively) the version that lacks it: there it is data.
CFN_TABLE = {
    "Fn::GetAtt": "2013-05-23",
    "Fn::FindInMap": "2013-05-23",
    "Fn::If": "2012-12-12",
}
#: The versions from which conditions have each function.
CONDITIONS_TABLE = {
    "get_param": "2016-10-14",
    "equals": "2016-10-14",
    "not": "2016-10-14",
    "and": "2016-10-14",
    "or": "2016-10-14",
    "contains": "2017-09-01",
    "yaql": "2017-09-01",
}
#: What conditions have in CFN's AWS format, which alone has conditions there.
CFN_CONDITIONS = {"Ref", "Fn::FindInMap", "Fn::Equals", "Fn::Not", "Fn::And", "Fn::Or", "Condition"}

ALL_VERSIONS = (CFN_AWS, CFN_HEAT, *VERSIONS)


@pytest.mark.parametrize("version", ALL_VERSIONS, ids=str)
def test_each_version_has_its_functions(version: TemplateVersion) -> None:
    expected = {
        name
        for name, (since, until) in TABLE.items()
        if since <= version.date and (until is None or version.date < until)
    } | {name for name, until in CFN_TABLE.items() if version.date < until}
    assert set(functions_of(version)) == expected
    in_conditions = {name for name, since in CONDITIONS_TABLE.items() if since <= version.date}
    assert set(condition_functions_of(version)) == (CFN_CONDITIONS if version == CFN_AWS else in_conditions)


@pytest.mark.parametrize("name", TABLE)
def test_before_its_first_version_a_function_is_data(call: Any, name: str) -> None:
    since, _ = TABLE[name]
    data = {name: [{"deeper": "x"}]}
    for version in ALL_VERSIONS:
        if version.date < since:
            assert call(data, version=version.date) == data


@pytest.mark.parametrize("name", [name for name, (_, until) in TABLE.items() if until])
def test_from_its_last_version_on_a_function_is_refused_as_removed(call: Any, name: str) -> None:
    _, until = TABLE[name]
    for version in VERSIONS:
        if until and version.date >= until:
            problem = call.refused({name: "x"}, version.date)
            assert problem.message == f"the function {name} was removed in heat_template_version {until}"


@pytest.mark.parametrize("name", CFN_TABLE)
def test_what_was_cfns_alone_is_data_ever_after(call: Any, name: str) -> None:
    for version in ALL_VERSIONS:
        if version.date >= CFN_TABLE[name]:
            assert call({name: "x"}, version=version.date) == {name: "x"}


@pytest.mark.parametrize(
    "data",
    [
        {"get_param": "x", "other": 1},
        {"equals": [1, 1]},
        {"not": True},
        {"Fn::GetAtt": ["a", "b"]},
        {"Fn::FindInMap": []},
        {"get_params": "x"},
        {"get_param": "x", "get_attr": []},
        {},
        [],
        [[{}]],
        None,
    ],
)
def test_everything_else_is_data(call: Any, data: Any) -> None:
    assert call(data) == data


def test_calls_are_found_at_any_depth_and_inside_calls(call: Any) -> None:
    value = {
        "a": [{"b": {"list_join": ["-", [{"str_replace": {"template": "x", "params": {"x": "y"}}}, "z"]]}}]
    }
    assert call(value) == {"a": [{"b": "y-z"}]}


def test_a_call_in_a_key_is_data(call: Any) -> None:
    assert call({"{get_param: x}": 1}) == {"{get_param: x}": 1}


class Shout(Function):
    name = "shout"

    def call(self, arguments: Any, stack: StackDefinition) -> Any:
        return f"{arguments}!"


def test_packages_bring_functions_by_name() -> None:
    assert as_functions([("shout", Shout)]) == {"shout": Shout}


@pytest.mark.parametrize(
    ("found", "message"),
    [
        ([("shout", str)], "no subclass of Function"),
        ([("shout", "text")], "no subclass of Function"),
        ([("whisper", Shout)], "called 'shout'"),
        ([("shout", Shout), ("shout", Shout)], "two packages provide 'shout'"),
    ],
)
def test_a_package_that_breaks_the_contract_is_named(found: list[tuple[str, Any]], message: str) -> None:
    with pytest.raises(PluginMistake, match=message):
        as_functions(found)


@pytest.mark.parametrize("name", ["newton", "2016-10-14"])
def test_a_code_name_is_its_date(name: str) -> None:
    version = find_version(name)
    assert version is not None
    assert str(version) == "2016-10-14 (newton)"


def test_a_function_that_cannot_be_loaded_is_named_with_its_package() -> None:
    entry = Entry("get_file", "orchestrator.template.functions.files:GetFile", registry.NAMESPACE)
    with pytest.raises(
        PluginMistake, match=r"'get_file' \(.* of isotherm\) cannot be loaded: no such module"
    ):
        registry._required(Loaded(entry, error=ImportError("no such module")))
