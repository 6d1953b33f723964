"""Which maps are calls, in which version, and what happens to functions that are not there."""

from importlib.metadata import EntryPoint
from typing import Any

import pytest

from orchestrator.definition import StackDefinition
from orchestrator.errors import PluginMistake
from orchestrator.template.functions import registry
from orchestrator.template.functions.base import Function
from orchestrator.template.functions.registry import as_functions, functions_of
from orchestrator.template.versions import FUNCTIONS, VERSIONS, find_version

#: The versions from and (exclusively) until which hot.md's table has each function that is not written yet.
LATER = {
    "resource_facade": ("2013-05-23", None),
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
    "Fn::Select": ("2013-05-23", "2015-10-15"),
    "Ref": ("2013-05-23", "2014-10-16"),
    "Fn::GetAZs": ("2013-05-23", "2014-10-16"),
    "Fn::Join": ("2013-05-23", "2014-10-16"),
    "Fn::Split": ("2013-05-23", "2014-10-16"),
    "Fn::Replace": ("2013-05-23", "2014-10-16"),
    "Fn::Base64": ("2013-05-23", "2014-10-16"),
    "Fn::MemberListToMap": ("2013-05-23", "2014-10-16"),
    "Fn::ResourceFacade": ("2013-05-23", "2014-10-16"),
}
HERE = {"get_param", "get_resource", "get_attr", "get_file", "str_replace", "list_join"}


@pytest.mark.parametrize("version", [version.date for version in VERSIONS])
@pytest.mark.parametrize("name", LATER)
def test_a_function_that_is_not_there_is_refused_where_the_version_has_it(
    call: Any, name: str, version: str
) -> None:
    since, until = LATER[name]
    if version < since:
        assert call({name: ["x"]}, version=version) == {name: ["x"]}
    elif until and version >= until:
        assert "was removed in heat_template_version " + until in call.refused({name: ["x"]}, version).message
    else:
        problem = call.refused({name: ["x"]}, version)
        assert problem.message == f"the function {name} is not supported yet"
        assert problem.path == f"resources.r.properties.p.{name}"
        assert problem.position is not None


def test_every_function_of_the_language_is_here_or_refused() -> None:
    assert set(FUNCTIONS) == HERE | set(LATER)


@pytest.mark.parametrize("version", VERSIONS)
def test_what_is_here_is_in_every_version(version: Any) -> None:
    assert set(functions_of(version)) >= HERE


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
    entry = EntryPoint("get_file", "orchestrator.template.functions.files:GetFile", registry.NAMESPACE)
    with pytest.raises(
        PluginMistake, match=r"'get_file' \(.* of isotherm\) cannot be loaded: no such module"
    ):
        registry._refuse(None, entry, ImportError("no such module"))
