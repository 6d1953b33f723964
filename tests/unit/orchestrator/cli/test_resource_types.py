"""``isotherm resource-type``, on the types that are really installed."""

import json

from orchestrator.cli.resource_type import describe_property
from orchestrator.plugins.constraints import Range
from orchestrator.plugins.properties import Property, PropertyType
from tests.unit.orchestrator.cli.fake_service import Terminal


def test_installed_types_are_listed_with_a_sentence_each(terminal: Terminal) -> None:
    listed = json.loads(terminal.run("resource-type", "list", "-f", "json").stdout)
    names = [entry["name"] for entry in listed]
    assert "OS::Heat::RandomString" in names
    assert names == sorted(names)
    assert all(entry["description"] for entry in listed)


def test_show_has_properties_with_their_rules_and_attributes(terminal: Terminal) -> None:
    shown = terminal.run("resource-type", "show", "OS::Heat::RandomString").stdout
    length = next(line for line in shown.splitlines() if line.startswith("length"))
    assert "integer" in length
    assert "must be" in length
    assert "\nattributes\n" in shown


def test_show_has_what_an_update_policy_may_say(terminal: Terminal) -> None:
    shown = terminal.run("resource-type", "show", "OS::Heat::ResourceGroup").stdout
    policy = shown.split("\nupdate policy\n")[1]
    assert "rolling_update.min_in_service" in policy
    assert "replaces" not in policy


def test_a_misspelt_type_names_the_nearest(terminal: Terminal) -> None:
    result = terminal.run("resource-type", "show", "OS::Heat::RandomStrin")
    assert result.exit_code == 2
    assert "'OS::Heat::RandomString'" in result.stderr


def test_a_schema_is_described_with_those_inside_it() -> None:
    port = Property(type=PropertyType.INTEGER, required=True, constraints=(Range(1, 65535),))
    ports = Property(type=PropertyType.LIST, schema=Property(type=PropertyType.MAP, schema={"port": port}))
    described = describe_property(ports)
    assert described["schema"]["schema"]["port"] == {
        "type": "integer",
        "description": "",
        "required": True,
        "default": None,
        "update_allowed": False,
        "immutable": False,
        "constraints": ["must be from 1 to 65535"],
    }
    json.dumps(described)
