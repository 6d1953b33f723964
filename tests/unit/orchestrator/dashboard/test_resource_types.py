"""The pages about installed resource types, constraints, functions and hooks."""

from collections.abc import Iterator
from contextlib import ExitStack

import httpx
import pytest
import yaml

from orchestrator.config.settings import Settings
from orchestrator.dashboard.handlers.catalogue import (
    Entry,
    constraint_entries,
    function_entries,
    hook_entries,
)
from orchestrator.dashboard.handlers.resource_types import described_type, listed_types, property_rows
from orchestrator.errors import NotFound
from orchestrator.store.store import Store
from tests.unit.orchestrator.dashboard.serving import client, served


@pytest.fixture(scope="module")
def asked(distributed: Settings) -> Iterator[httpx.Client]:
    with ExitStack() as stack:
        dashboard = stack.enter_context(served(distributed, Store.of(distributed)))
        yield stack.enter_context(client(dashboard))


def test_types_are_found_by_name_and_description() -> None:
    assert {"OS::Heat::RandomString", "OS::Heat::Value"} <= {name for name, _, _ in listed_types("")}
    (one,) = listed_types(" randomSTRING ")
    assert one[0] == "OS::Heat::RandomString"
    assert "OS::Heat::AutoScalingGroup" in {name for name, _, _ in listed_types("by one definition")}
    assert listed_types("no such type") == []


def test_a_property_says_what_changing_it_does_and_those_inside_do_not(settings: Settings) -> None:
    described = described_type(settings, "OS::Heat::RandomString")
    rows = {row[0]: row[1:] for row in property_rows(described["properties"], changes=True)}
    depth, kind, given, sentences = rows["length"]
    assert (depth, kind, given) == (0, "integer", "optional")
    assert "A change replaces the resource." in sentences
    assert "Default: `32`." in sentences
    assert any("512" in each for each in sentences)
    inner = next(sentences for path, (depth, _, _, sentences) in rows.items() if depth)
    assert "A change replaces the resource." not in inner
    with pytest.raises(NotFound, match="did you mean 'OS::Heat::RandomString'"):
        described_type(settings, "OS::Heat::RandomSting")


def test_the_list_leads_to_a_page_with_properties_attributes_and_an_example(asked: httpx.Client) -> None:
    listed = asked.get("/stacks/types", params={"search": "RandomString"})
    assert 'href="/stacks/types/OS%3A%3AHeat%3A%3ARandomString"' in listed.text
    assert 'value="RandomString"' in listed.text
    assert "No installed type" in asked.get("/stacks/types", params={"search": '"<b>'}).text
    page = asked.get("/stacks/types/OS::Heat::RandomString")
    assert page.status_code == 200
    for part in (
        "<code>length</code>",
        "A change replaces the resource.",
        "heat_template_version",
        "Attributes",
    ):
        assert part in page.text
    missing = asked.get("/stacks/types/OS::Heat::RandomSting")
    assert missing.status_code == 404
    assert "did you mean &#x27;OS::Heat::RandomString&#x27;" in missing.text


def entry(groups: list[tuple[str, list[Entry]]], name: str) -> Entry:
    (found,) = [each for _, some in groups for each in some if each.name == name]
    return found


def test_a_constraint_names_its_client_and_the_properties_that_it_is_on() -> None:
    flavor = entry(constraint_entries(), "nova.flavor")
    assert "by the client openstack" in flavor.aside
    assert ("OS::Nova::Server", "flavor") in flavor.users
    assert yaml.safe_load(flavor.example) == {"constraints": [{"custom_constraint": "nova.flavor"}]}


def test_a_function_says_which_versions_have_it() -> None:
    groups = function_entries()
    select = entry(groups, "Fn::Select")
    assert "AWSTemplateFormatVersion from 2010-09-09" in select.aside
    assert "heat_template_version from 2013-05-23 until" in select.aside
    assert entry(groups, "get_param").example.startswith("get_param:")


def test_a_hook_shows_its_options_and_no_value_of_the_settings(settings: Settings) -> None:
    section = {
        "webhook": {"enabled": True, "url": "https://plum.example.org/", "secrets": ["quince-4713" * 2]}
    }
    configured = settings.with_values(event_sinks=section, lifecycle=section)
    groups = hook_entries(configured)
    assert [heading for heading, _ in groups] == ["Lifecycle plugins", "Event sinks"]
    hooks = {each.name: each for each in dict(groups)["Event sinks"]}
    assert hooks["webhook"].aside.startswith("enabled; isotherm ")
    assert hooks["log"].aside.startswith("disabled; ")
    assert "url" in {name for name, _, _ in hooks["webhook"].options}
    assert "plum" not in str(groups)
    assert "quince" not in str(groups)


@pytest.mark.parametrize(
    ("path", "search", "has", "lacks"),
    [
        ("constraints", "nova.flavor", 'id="nova.flavor"', 'id="nova.keypair"'),
        ("functions", "GET_PARAM", 'id="get_param"', 'id="digest"'),
        ("hooks", "webhook", 'id="webhook"', 'id="1-log"'),
    ],
)
def test_what_is_installed_is_listed_searched_and_linked(
    path: str, search: str, has: str, lacks: str, asked: httpx.Client
) -> None:
    assert f'href="/stacks/{path}"' in asked.get("/stacks/types").text
    whole = asked.get(f"/stacks/{path}").text
    assert has in whole
    assert 'href="/stacks/types"' in whole
    found = asked.get(f"/stacks/{path}", params={"search": search}).text
    assert has in found
    assert lacks in whole
    assert lacks not in found
    assert "None has this" in asked.get(f"/stacks/{path}", params={"search": '"<b>'}).text
