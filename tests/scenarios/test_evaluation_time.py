"""All that one job evaluates shares one time limit."""

from contextlib import suppress
from itertools import count
from typing import Any

import pytest

from hooks.lifecycle import Annotations, LifecyclePlugin
from hooks.stack import FrozenStack
from orchestrator.errors import InvalidInput
from orchestrator.model.messages import StackJob
from orchestrator.sandbox import budget
from tests.scenarios.world import World

CALLS = 50
TEMPLATE = "heat_template_version: wallaby\nresources:\n" + "".join(
    f"  r{number}: {{type: 'Cloud::Object', properties: {{value: {{list_join: ['-', [a, b]]}}}}}}\n"
    for number in range(CALLS)
)


class Clock:
    """Time that passes with every look at it."""

    now = 0.0

    def thread_time(self) -> float:
        self.now += 1.0
        return self.now

    monotonic = thread_time


class Reader(LifecyclePlugin):
    """Reads the values of all properties, which are evaluated for it."""

    name = "reader"
    read = 0

    def do_pre_op(self, _context: Any, stack: FrozenStack, *_: Any) -> Annotations:
        self.read = sum(resource.properties["value"] == "a-b" for resource in stack.resources.values())
        return Annotations()

    def do_post_op(self, *_: Any) -> None:
        """Do nothing."""


def begin(seconds: float, monkeypatch: pytest.MonkeyPatch, *, reads: bool) -> int:
    world = World(evaluation_seconds=seconds)
    reader = Reader()
    world.plug(*([reader] if reads else []))
    monkeypatch.setattr(budget, "time", Clock())
    world.coordinator.begin(StackJob(name="s", template=TEMPLATE))
    return reader.read


def test_evaluations_of_a_job_share_their_time(monkeypatch: pytest.MonkeyPatch) -> None:
    for seconds in count(100, 25):
        with suppress(InvalidInput):
            begin(seconds, monkeypatch, reads=False)
            break
    # Enough for the validation, and for a good part of what the plugin reads: the rest is unknown to it.
    assert begin(seconds, monkeypatch, reads=True) < CALLS
    assert begin(3 * seconds, monkeypatch, reads=True) == CALLS
