"""The page of the public API and the classes that it describes have the same members."""

import re
from dataclasses import is_dataclass
from importlib import import_module
from typing import Any

import pytest

from isotherm import functions
from orchestrator import definition
from orchestrator.config.limits import Limits
from orchestrator.definition import StackDefinition
from orchestrator.template.functions import registry
from orchestrator.template.template import Template
from tests.unit.docs.pages import ROOT

PAGE = (ROOT / "docs" / "public-api.md").read_text()
#: The classes whose members the page lists.
CLASSES = ("StackDefinition", "ResourceProxy", "NodeData", "ParentResourceProxy", "Function")
#: What Python itself calls, by how the page writes it.
WRITTEN = {"__contains__": "name in stack"}


def section(name: str) -> str:
    found = re.search(rf"^### {name}\n(.*?)(?=^##|\Z)", PAGE, flags=re.MULTILINE | re.DOTALL)
    assert found is not None, name
    return found[1]


def promised(name: str) -> list[str]:
    """Return the members in the table of a class, as written."""
    cells = re.findall(r"^\| (`.+?) \|", section(name), flags=re.MULTILINE)
    return [member for cell in cells for member in re.findall(r"`([^`]+)`", cell)]


def for_the_engine(name: str) -> list[str]:
    found = re.search(r"^For the engine alone: (.+?)\.$", section(name), flags=re.MULTILINE | re.DOTALL)
    return re.findall(r"`(\w+)`", found[1]) if found else []


def members(name: str) -> set[str]:
    """Return the public members of a class, those that its objects alone have among them."""
    kind = kind_of(name)
    found = {*dir(kind), *kind.__annotations__, *(vars(a_call()) if kind is functions.Function else ())}
    special = {each for each in WRITTEN if each in vars(kind)}
    return {each for each in found if not each.startswith("_")} | special


def kind_of(name: str) -> Any:
    return functions.Function if name == "Function" else getattr(definition, name)


def a_call() -> Any:
    source = "heat_template_version: wallaby\noutputs: {o: {value: {get_file: a}}}"
    template = Template.parse(source, file="t.yaml", files={"a": ""}, limits=Limits())
    (call,) = template.outputs["o"].expression.calls
    return call


def bare(member: str) -> str:
    special = {written: name for name, written in WRITTEN.items()}
    return special.get(member, member.partition("(")[0])


@pytest.mark.parametrize("name", CLASSES)
def test_the_page_has_every_public_member_and_no_other(name: str) -> None:
    listed = [*map(bare, promised(name)), *for_the_engine(name)]
    assert sorted(listed) == sorted(members(name)), (
        "a new member needs a row, or a place among those for the engine"
    )


@pytest.mark.parametrize("name", CLASSES)
def test_what_the_page_calls_can_be_called_and_the_rest_cannot(name: str) -> None:
    kind = kind_of(name)
    for member in promised(name):
        if member in WRITTEN.values():
            continue
        found = getattr(kind, bare(member), None)
        is_method = callable(found) and not isinstance(found, type)
        assert ("(" in member) == is_method, member


def test_every_class_that_a_stack_leads_to_is_on_the_page() -> None:
    views = {name for name, each in vars(definition).items() if is_view(each)}
    # What the engine reads lazily is shown as members of the others.
    assert views - {"StackSource"} == {*CLASSES} - {"Function"}
    # A machine has node data as well, which packages for agents import by this name.
    assert views - {"StackSource", "NodeData"} <= {*functions.__all__}


def is_view(each: object) -> bool:
    return isinstance(each, type) and is_dataclass(each) and each.__module__ == definition.__name__


def test_the_groups_of_entry_points_that_are_promised_have_a_module_each() -> None:
    assert registry.NAMESPACE == "isotherm.functions"
    assert import_module(registry.NAMESPACE) is functions


@pytest.fixture
def example(monkeypatch: pytest.MonkeyPatch) -> Any:
    """Return the function of the page, installed."""
    code = next(
        text for text in re.findall(r"```python\n(.*?)```", PAGE, flags=re.DOTALL) if "(Function)" in text
    )
    space: dict[str, Any] = {"__name__": "acme_lines"}
    exec(code, space)  # the page's own
    kind = space["FirstLine"]
    installed = registry.as_functions([*registry.all_functions().items(), (kind.name, kind)])
    monkeypatch.setattr(registry, "all_functions", lambda: installed)
    registry.functions_of.cache_clear()
    yield kind
    registry.functions_of.cache_clear()


@pytest.mark.parametrize(
    ("written", "expected"),
    [
        ('{first_line: "a\\nb"}', "a"),
        ("{first_line: {get_param: p}}", "one"),
        ("{first_line: {list_join: [x, [a, b]]}}", "axb"),
    ],
)
def test_the_function_of_the_page_works(example: Any, written: str, expected: str) -> None:
    source = (
        "heat_template_version: wallaby\n"
        "parameters: {p: {type: string}}\n"
        f"outputs: {{o: {{value: {written}}}}}"
    )
    values = {"p": "one\ntwo"}
    template = Template.parse(source, file="t.yaml", files={}, limits=Limits(), values=values)
    stack = StackDefinition(name="s", id="", parameters=values)
    assert template.outputs["o"].resolve(stack) == expected
    assert example.examples[0].result == "a"
