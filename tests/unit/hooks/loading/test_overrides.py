"""What ships overrides what it means to: its names are compared here, and not whenever a class is made."""

import subprocess
import sys

import pytest

from hooks.events import NAMESPACE as EVENT_SINKS
from hooks.events import EventSink
from hooks.lifecycle import NAMESPACE as LIFECYCLE
from hooks.lifecycle import LifecyclePlugin
from hooks.loading.entries import installed_entries, load_entries
from hooks.loading.overrides import misspelt_overrides, override_mistakes
from orchestrator.plugins.client_plugin import NAMESPACE as CLIENTS
from orchestrator.plugins.client_plugin import ClientPlugin
from orchestrator.plugins.custom import NAMESPACE as CONSTRAINTS
from orchestrator.plugins.custom import CustomConstraint
from orchestrator.plugins.registry import NAMESPACE
from orchestrator.plugins.resource import Resource

CONTRACTS = {
    NAMESPACE: Resource,
    CLIENTS: ClientPlugin,
    CONSTRAINTS: CustomConstraint,
    LIFECYCLE: LifecyclePlugin,
    EVENT_SINKS: EventSink,
}


@pytest.mark.parametrize("group", CONTRACTS)
def test_nothing_that_ships_is_misspelt(group: str) -> None:
    contract, made = CONTRACTS[group], set()
    entries = [each for found in installed_entries(group).values() for each in found]
    for _, plugin, error in load_entries(entries):
        assert error is None
        made |= {
            each for each in plugin.__mro__ if issubclass(each, contract) and each not in contract.__mro__
        }
    assert made
    assert [mistake for kind in made for mistake in misspelt_overrides(kind, contract)] == []


class Contract:
    def carry_out(self, one: int, more: int = 0) -> int:
        return one + more


@pytest.mark.parametrize(
    ("source", "is_right"),
    [
        ("def carry_out(self, one, more=0): ...", True),
        ("def carry_out(self, other, more=1): ...", True),
        ("def carry_out(self, one, more): ...", False),
        ("def carry_out(self, one, *, more): ...", False),
        ("def carry_out(self, *all): ...", True),
        ("def carry_out(self, one, more, last=0): ...", False),
        ("def carry_out(self): ...", False),
        ("def carry_out(self, one, more=0, *, key): ...", False),
        ("def carry_out(self, one, more=0, *, key=0): ...", True),
    ],
)
def test_a_method_takes_what_it_is_called_with(source: str, is_right: bool) -> None:
    body: dict[str, object] = {}
    exec(source, {}, body)
    mistakes = list(override_mistakes(type("Kind", (Contract,), body), Contract))
    assert not mistakes if is_right else "carry_out" in mistakes[0]


def test_a_type_that_ships_is_made_without_comparing_names() -> None:
    program = "import sys; import workers.resources.core.none; sys.exit('difflib' in sys.modules)"
    assert subprocess.run([sys.executable, "-c", program]).returncode == 0
