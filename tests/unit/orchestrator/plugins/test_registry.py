"""The registry: types come from installed packages, and a broken one stops the process."""

import tomllib
from collections.abc import Callable
from importlib.metadata import EntryPoint
from pathlib import Path

import pytest

from orchestrator.errors import NotFound, PluginMistake
from orchestrator.plugins.registry import NAMESPACE, ResourceTypes
from orchestrator.plugins.resource import Resource

Install = Callable[..., str]


GOOD = "from orchestrator.plugins.resource import Resource\nclass Good(Resource):\n    pass\n"


def test_installed_types_are_found_by_name(install: Install) -> None:
    types = ResourceTypes.load(install("good", {"My::Good": "Good", "My::Alias": "Good"}, GOOD))
    assert list(types) == ["My::Alias", "My::Good"]
    assert issubclass(types.find("My::Good"), Resource)
    assert types["My::Alias"] is types["My::Good"]


def test_types_are_looked_for_once(install: Install) -> None:
    namespace = install("good", {"My::Good": "Good"}, GOOD)
    assert ResourceTypes.load(namespace) is ResourceTypes.load(namespace)


def test_type_that_cannot_be_imported_is_named(install: Install) -> None:
    namespace = install("bad", {"My::Bad": "Bad"}, "import no_such_module_anywhere\n")
    with pytest.raises(
        PluginMistake,
        match=r"'My::Bad' \(bad_.*:Bad, isotherm.test.* of bad-.*\) cannot be loaded: "
        r"No module named .no_such_module_anywhere",
    ):
        ResourceTypes.load(namespace)


def test_what_is_no_resource_type_is_refused(install: Install) -> None:
    namespace = install("bad", {"My::Bad": "Bad"}, "class Bad:\n    pass\n")
    with pytest.raises(PluginMistake, match=r"'My::Bad' \(.* of bad-.*\) is .* no subclass of Resource"):
        ResourceTypes.load(namespace)


VERSIONED = """
from orchestrator.plugins.groups import API_VERSIONS, CLIENT_PLUGIN, PROPERTIES, VERSIONS
from orchestrator.plugins.properties import Property, PropertyType
from orchestrator.plugins.resource import Resource
class Versioned(Resource):
    properties_schema = {{"a": Property(type=PropertyType.STRING)}}
    properties_groups_schema = [
        {{API_VERSIONS: {{CLIENT_PLUGIN: "{client}", VERSIONS: ["1"], PROPERTIES: [["a"]]}}}}
    ]
"""


def test_type_whose_groups_need_a_client_plug_in_that_is_not_there_is_refused(install: Install) -> None:
    entries = {"My::Type": "Versioned"}
    with pytest.raises(
        PluginMistake,
        match=r"'My::Type' .* client plugin 'htpt', which is not installed \(did you mean 'http'\?\)",
    ):
        ResourceTypes.load(install("typo", entries, VERSIONED.format(client="htpt")))


def test_type_whose_groups_need_a_client_plug_in_that_is_there_is_loaded(install: Install) -> None:
    assert "My::Type" in ResourceTypes.load(
        install("fine", {"My::Type": "Versioned"}, VERSIONED.format(client="http"))
    )


def test_name_that_two_packages_bring_is_refused(install: Install) -> None:
    install("one", {"My::Good": "Good"}, GOOD)
    namespace = install("two", {"My::Good": "Good"}, GOOD)
    with pytest.raises(
        PluginMistake, match=r"'My::Good' is brought by two packages, .* of one-.* and .* of two-"
    ):
        ResourceTypes.load(namespace)


def test_tree_that_is_not_installed_is_told_apart_from_an_unknown_type() -> None:
    with pytest.raises(PluginMistake, match="is isotherm itself installed"):
        ResourceTypes.load("isotherm.test.nobody-brings-these")


def test_on_demand_only_the_type_that_is_looked_up_is_loaded(install: Install) -> None:
    entries = {"My::Good": "Good", "My::Lost": "Lost"}
    types = ResourceTypes.on_demand(install("half", entries, GOOD))
    assert list(types) == ["My::Good", "My::Lost"]
    assert "My::Lost" in types
    assert "My::Other" not in types
    assert types.get("My::Other") is None
    assert issubclass(types.find("My::Good"), Resource)
    assert types["My::Good"] is types["My::Good"]
    for _ in range(2):
        with pytest.raises(
            PluginMistake, match=r"'My::Lost' \(half_.*:Lost, .* of half-.*\) cannot be loaded"
        ):
            types["My::Lost"]
    with pytest.raises(PluginMistake, match="'My::Lost'"):
        dict(types)


@pytest.mark.parametrize(
    ("entries", "source", "message"),
    [
        (
            {"My::Bad": "Bad"},
            "class Bad:\n    pass\n",
            r"'My::Bad' \(.* of bad-.*\) is .* no subclass of Resource",
        ),
        (
            {"My::Bad": "Versioned"},
            VERSIONED.format(client="htpt"),
            r"'My::Bad' .* client plugin 'htpt', which is not installed",
        ),
    ],
)
def test_on_demand_the_same_types_are_refused(
    entries: dict[str, str], source: str, message: str, install: Install
) -> None:
    types = ResourceTypes.on_demand(install("bad", entries, source))
    with pytest.raises(PluginMistake, match=message):
        types["My::Bad"]


def test_on_demand_a_name_that_two_packages_bring_is_refused(install: Install) -> None:
    install("one", {"My::Good": "Good"}, GOOD)
    types = ResourceTypes.on_demand(install("two", {"My::Good": "Good"}, GOOD))
    with pytest.raises(PluginMistake, match=r"'My::Good' is brought by two packages"):
        types["My::Good"]


def test_on_demand_a_tree_that_is_not_installed_is_told_apart_too() -> None:
    with pytest.raises(PluginMistake, match="is isotherm itself installed"):
        ResourceTypes.on_demand("isotherm.test.nobody-brings-these")


def test_nearest_type_is_named() -> None:
    types = ResourceTypes({"OS::Heat::None": Resource, "OS::Heat::Value": Resource})
    with pytest.raises(NotFound, match="'OS::Heat::Vaule'; did you mean 'OS::Heat::Value'"):
        types.find("OS::Heat::Vaule")
    with pytest.raises(NotFound, match=r"no resource type 'xyz'$"):
        types.find("xyz")


def declared() -> list[EntryPoint]:
    project = tomllib.loads((Path(__file__).parents[4] / "pyproject.toml").read_text())["project"]
    entries = project["entry-points"][NAMESPACE]
    return [EntryPoint(name, value, NAMESPACE) for name, value in entries.items()]


@pytest.mark.parametrize("entry", declared(), ids=lambda entry: str(entry.name))
def test_every_type_that_ships_can_be_loaded(entry: EntryPoint) -> None:
    assert issubclass(entry.load(), Resource)
