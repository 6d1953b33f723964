"""Every decision of docs/properties-groups.md on API versions, held by a test of its own."""

from typing import Any

import pytest

from orchestrator.errors import NotVerified, PluginMistake, Unavailable
from orchestrator.plugins.client_plugin import ClientPlugin
from orchestrator.plugins.groups import (
    API_VERSIONS,
    XOR,
)
from orchestrator.plugins.properties import PropertyNotVerified
from orchestrator.plugins.registry import refuse_unknown_clients
from orchestrator.plugins.resource import Resource
from orchestrator.plugins.validating import property_faults, valid_properties
from tests.unit.orchestrator.plugins.cases import case
from tests.unit.orchestrator.plugins.test_group_decisions import (
    EITHER,
    Speaking,
    kind_of,
    mistake,
    said,
    versioned,
)


@case("which API version")
def test_versions_are_compared_by_their_numbers() -> None:
    assert said(versioned(["2.9"]), {"a": "x"}, "2.9.0") == []
    assert said(versioned(["2.9"]), {"a": "x"}, "v2.9") == []
    assert said(versioned([">=2.9"]), {"a": "x"}, "2.10") == []
    assert said(versioned(["2.9"]), {"a": "x"}, "2.90") != []


@case("ranges of API versions")
@pytest.mark.parametrize(
    ("listed", "inside", "outside"),
    [
        (["2.1", "2.3"], ["2.1", "2.3"], ["2.2", "2", "2.1.1"]),
        (["2.1-2.90"], ["2.1", "2.9", "2.90"], ["2.0", "2.91", "3"]),
        ([">=2.1,<3"], ["2.1", "2.999"], ["2.0", "3", "3.1"]),
        ([">=2.1, <3, !=2.5"], ["2.4"], ["2.5"]),
        (["~=2.1"], ["2.1", "2.9"], ["3.0", "2.0"]),
        (["==2.*"], ["2.0", "2.7"], ["3.0"]),
        (["1", ">=3"], ["1.0", "3"], ["2", ""]),
    ],
    ids=str,
)
def test_versions_are_listed_one_by_one_as_spans_or_as_ranges(
    listed: list[str], inside: list[str], outside: list[str]
) -> None:
    assert [version for version in inside if said(versioned(listed), {"a": "x"}, version)] == []
    assert [version for version in outside if not said(versioned(listed), {"a": "x"}, version)] == []


@case("the form of API versions")
@pytest.mark.parametrize(
    ("declared", "message"),
    [
        (versioned(["2.x"]), ".VERSIONS[0]: expected a version such as"),
        (versioned(["2.1", ""]), ".VERSIONS[1]: expected a version such as"),
        (versioned(["2024-01-01"]), ".VERSIONS[0]: expected a version such as"),
        (versioned(["=>2.1"]), ".VERSIONS[0]: expected a version such as"),
        (versioned([">=2.1,"]), ".VERSIONS[0]: expected a version such as"),
        (versioned(["~=2"]), ".VERSIONS[0]: expected a version such as"),
        (versioned(["latest"]), ".VERSIONS[0]: expected a version such as"),
        (versioned(["2.90-2.1"]), ".VERSIONS[0]: no version satisfies '2.90-2.1'"),
        (versioned([">=3,<2"]), ".VERSIONS[0]: no version satisfies '>=3,<2'"),
        (versioned([2.1]), ".VERSIONS[0]: expected a text such as '2.1', found 2.1"),
        (versioned(["2.1", "2.1"]), ".VERSIONS[1]: it is there already"),
        (versioned([]), ".VERSIONS: expected a list of versions, found an empty one"),
        (versioned("2.1"), ".VERSIONS: expected a list of versions, found '2.1'"),
        (versioned(paths=[]), ".PROPERTIES: expected a list of paths, found an empty one"),
        (versioned(paths=["a"]), ".PROPERTIES[0]: expected a path, which is a list, found 'a'"),
        ({API_VERSIONS: []}, ": expected a map of CLIENT_PLUGIN, VERSIONS, PROPERTIES, found a list"),
        ({API_VERSIONS: {}}, ": expected CLIENT_PLUGIN, VERSIONS, PROPERTIES; CLIENT_PLUGIN is missing"),
        ({API_VERSIONS: {"VERSION": []}}, ": there is no 'VERSION' here (did you mean 'VERSIONS'?)"),
    ],
)
def test_malformed_versions_are_found_when_the_class_is_defined(declared: Any, message: str) -> None:
    assert mistake(declared).startswith(f"properties_groups_schema[0].API_VERSIONS{message}")


@case("a property that the API version does not have")
def test_a_property_that_the_version_does_not_have_is_refused() -> None:
    group = versioned(["2.26-2.90", ">=3"], paths=[["a"], ["b"]])
    assert said(group, {"a": "x"}, "2.1") == [
        "a: expected a only with API versions 2.26 to 2.90 or >=3 of the client plugin 'cloud', found version 2.1"
    ]
    assert said(group, {"a": "x", "b": "x"}, "2.1")[0].startswith("expected a and b only with API versions")


@case("versioned properties that are not given")
@pytest.mark.parametrize("given", [{}, {"a": None}, {"b": "x"}], ids=str)
def test_nobody_is_asked_for_a_version_unless_a_property_is_given(given: dict[str, Any]) -> None:
    clients = Speaking()
    assert property_faults(kind_of(versioned()), given, clients=clients) == []
    assert clients.cloud.asked == 0


@case("a system without API versions")
def test_a_system_without_versions_has_none_of_them() -> None:
    [sentence] = said(versioned([">=0"]), {"a": "x"}, "")
    assert sentence.endswith("found a system without versions")


@case("a version that is none")
def test_a_client_plug_in_that_tells_no_version_breaks_its_contract() -> None:
    with pytest.raises(PluginMistake, match="the client plugin 'cloud' is invalid: 'newest' is no version"):
        said(versioned(), {"a": "x"}, "newest")


@case("before other systems are called")
def test_where_no_system_may_be_asked_versions_are_left_out() -> None:
    assert said(versioned(["9"]), {"a": "x"}) == []


@case("the client plugin")
@pytest.mark.parametrize("plugin", ["", None, 7, int, Resource, ClientPlugin, b"cloud"])
def test_a_client_plugin_is_given_by_its_name_or_as_a_class_with_one(plugin: Any) -> None:
    where = "properties_groups_schema[0].API_VERSIONS.CLIENT_PLUGIN"
    expected = "expected the name of a client plugin, or its class"
    assert mistake(versioned(plugin=plugin)) == f"{where}: {expected}, found {plugin!r}"


@case("the client plugin")
def test_the_class_of_a_client_plugin_stands_for_its_name() -> None:
    class Cloud(ClientPlugin):
        name = "cloud"

    by_class, by_name = kind_of(versioned(plugin=Cloud)), kind_of(versioned(plugin="cloud"))
    assert by_class.properties_groups == by_name.properties_groups
    clients = Speaking("2.0")
    [error] = property_faults(by_class, {"a": "x"}, clients=clients)
    assert "of the client plugin 'cloud', found version 2.0" in str(error)
    with pytest.raises(PluginMistake, match="'cloud', which is not installed"):
        refuse_unknown_clients("Kind", by_class)


@case("API_VERSIONS inside another group")
def test_versions_are_a_group_of_their_own() -> None:
    assert mistake({XOR: [["b"], versioned()]}) == (
        "properties_groups_schema[0].XOR[1]: API_VERSIONS cannot be inside another group: "
        "make it a group of its own beside this one"
    )
    assert "PROPERTIES[0]: expected a list of names" in mistake(versioned(paths=[EITHER]))
    # The two together say what is wanted.
    kind = kind_of(EITHER, versioned(["9"]))
    assert property_faults(kind, {"b": "x"}, clients=Speaking()) == []
    assert len(property_faults(kind, {"a": "x"}, clients=Speaking())) == 1


@case("a client plugin that fails")
@pytest.mark.parametrize(
    "failure", [ConnectionError("no route"), Unavailable("no route"), NotVerified("no route")], ids=repr
)
def test_a_version_that_nobody_can_tell_makes_nothing_wrong(failure: Exception) -> None:
    for look in (property_faults, valid_properties):
        with pytest.raises(PropertyNotVerified, match=r"^properties\.a: .*no route") as doubt:
            look(kind_of(versioned()), {"a": "x"}, clients=Speaking(failure))
        assert doubt.value.retryable
        assert doubt.value.fault.path == ("a",)
