"""The pages about installed resource types."""

from collections.abc import Iterator
from contextlib import ExitStack

import httpx
import pytest

from orchestrator.config.settings import Settings
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
