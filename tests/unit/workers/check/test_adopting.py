"""What an object was when an update came before it was adopted."""

from typing import Any

import pytest

from orchestrator.config.limits import Limits
from orchestrator.model.messages import CheckOrder
from orchestrator.plugins.properties import Property, PropertyType
from orchestrator.plugins.resource import Resource
from orchestrator.plugins.steps import CANNOT_TELL
from orchestrator.store.nodes.claims import Claim
from orchestrator.template.template import Template
from tests.unit.workers.resources.core.made import make
from workers.check.adopting import properties_as_found, with_observed

TEMPLATE = """
heat_template_version: 2021-04-16
parameters: {p: {type: string, default: ''}}
resources:
  other: {type: Thing}
  it:
    type: Thing
    properties: {plain: text, given: {get_param: p}, made: {get_attr: [other, value]}}
"""
CONTEXT = {"name": "web", "id": "1", "project": "default", "parameters": {"p": "now"}}
OTHER = ["row-1", "other", "ADOPT", "COMPLETE", "physical", "reference", [[["value"], "of other"]]]


def found(
    *, certain: bool = True, changed: bool = False, inputs: Any = (OTHER,), **said: Any
) -> dict[str, Any]:
    template = Template.parse(TEMPLATE, file="t.yaml", files={}, limits=Limits())
    adopting = {
        "definition": template.resources["it"].fragment(),
        "files": {},
        "parameters": {"p": "then"},
        "certain": certain,
        **said,
    }
    claim = Claim(
        order=CheckOrder(stack_id="1", traversal_id="2", no=0, key="it"),
        attempt=1,
        action="ADOPT",
        now=0.0,
        retries=0,
        fragment={"adopting": adopting},
        wanted=(),
        dependents=(),
        requirements=(),
        resource_id="row-2",
        type="Thing",
        physical_id="there",
        properties=None,
        data={},
        metadata=None,
        token=None,
        started=False,
        started_at=0.0,
        changed=changed,
    )
    return properties_as_found(claim, inputs, CONTEXT, lambda digests: digests)


def test_an_object_is_what_it_was_said_to_be_with_the_values_of_then() -> None:
    assert found() == {"plain": "text", "given": "then", "made": "of other"}


@pytest.mark.parametrize("more", [{"certain": False}, {"changed": True}, {"inputs": ()}])
def test_what_is_made_of_something_that_has_changed_or_is_not_required_any_more_cannot_be_told(
    more: dict[str, Any],
) -> None:
    assert found(**more) == {"plain": "text", "given": "then"}


def test_of_a_definition_that_cannot_be_read_nothing_can_be_told() -> None:
    assert found(definition={"v": "1999-01-01"}) == {}


class Thing(Resource):
    """One property that may change in place, and one that may not."""

    properties_schema = {
        "soft": Property(type=PropertyType.STRING, update_allowed=True),
        "hard": Property(type=PropertyType.STRING),
    }


WANTED = {"soft": "wanted", "hard": "wanted"}


@pytest.mark.parametrize(
    ("observed", "told", "unknown"),
    [
        ({"soft": "seen", "hard": "seen"}, {"soft": "seen", "hard": "seen"}, set()),
        ({"hard": "seen"}, {"soft": "wanted", "hard": "seen"}, {"soft"}),
        (CANNOT_TELL, WANTED, {"soft"}),
        (None, WANTED, {"soft"}),
    ],
)
def test_what_is_seen_counts_and_nothing_is_thrown_away_on_a_suspicion(
    observed: Any, told: dict[str, str], unknown: set[str]
) -> None:
    resource = make(Thing, WANTED)
    assert with_observed(observed, WANTED, frozenset(WANTED), resource) == (told, frozenset(unknown))


def test_what_was_told_before_is_not_looked_at_again() -> None:
    observed = {"soft": "seen", "hard": "seen"}
    assert with_observed(observed, WANTED, frozenset({"soft"}), make(Thing, WANTED)) == (
        {"soft": "seen", "hard": "wanted"},
        frozenset(),
    )
