"""The end of an operation is over after its callbacks, whatever a resource type raises in them."""

from collections.abc import Iterator
from contextlib import closing
from typing import Any

import pytest
from structlog.testing import capture_logs

from orchestrator.definition import AttributePath
from orchestrator.model.messages import SignalJob
from tests.scenarios.groups import TYPES, members
from tests.scenarios.test_scaling import scaled
from tests.scenarios.test_updates import template, value
from tests.scenarios.world import World
from workers.resources.core.groups.auto_scaling_group import AutoScalingGroup

#: What an attribute may turn out to be that no row can have.
ODD = {"an object": object(), "an endless number": 2**70, "half a letter": "\ud800"}


class Moody(AutoScalingGroup):
    """A group that raises, or has attributes that cannot be stored, once a test sets so."""

    raises_in = ""
    odd: Any = None

    def __init__(self, **arguments: Any) -> None:
        if self.raises_in == "__init__":
            raise RuntimeError("not today")
        super().__init__(**arguments)

    def attribute_at(self, path: AttributePath) -> object:
        if self.raises_in == "attribute_at":
            raise RuntimeError("not today")
        return super().attribute_at(path) if self.odd is None else self.odd


@pytest.fixture
def world() -> Iterator[World]:
    with (
        capture_logs(),
        closing(World({**TYPES, "OS::Heat::AutoScalingGroup": type("Own", (Moody,), {})})) as made,
    ):
        yield made


def end_of_all(world: World) -> None:
    """Let all come to its end, with as many processes as that takes, and no more than a few."""
    for _ in range(5):
        try:
            world.settle()
        except Exception as error:  # noqa: BLE001  # a worker logs it, and leaves the order to the sweep
            last = error
        else:
            return
    raise AssertionError("repeated for ever") from last


def grow(world: World) -> Any:
    """Make a group of one, and return its type when a signal makes it larger."""
    world.create(scaled())
    world.settle()
    world.coordinator.signal(SignalJob(name="s", resource="up"))
    return world.coordinator._types["OS::Heat::AutoScalingGroup"]


@pytest.mark.parametrize("where", ["__init__", "attribute_at"])
def test_a_type_that_raises_when_its_attributes_are_read_again_repeats_no_end(
    world: World, where: str
) -> None:
    grow(world).raises_in = where
    end_of_all(world)
    assert world.state() == "CREATE_COMPLETE"
    assert len(members(world)) == 2


@pytest.mark.parametrize("kind", ODD)
def test_an_attribute_that_no_row_can_have_repeats_no_end(world: World, kind: str) -> None:
    grow(world).odd = ODD[kind]
    end_of_all(world)
    assert world.state() == "CREATE_COMPLETE"
    assert len(members(world)) == 2


@pytest.mark.parametrize("hook", ["validate", "validate_written", "translation_rules"])
def test_a_rollback_that_meets_a_bug_of_a_type_is_not_tried_for_ever(world: World, hook: str) -> None:
    world.create(template({"a": value("1", "s")}))
    world.settle()
    world.cloud.failing_updates = {"a": True}
    world.update(template({"a": value("1", "l")}), rollback=True)

    def broken(*_: object) -> None:
        raise RuntimeError("not today")

    setattr(world.coordinator._types["Cloud::Object"], hook, broken)
    end_of_all(world)
    stack = world.store.stacks.find("s", project="default")
    assert world.state() == "UPDATE_FAILED"
    assert stack.reason.endswith("it is not rolled back: RuntimeError: not today")
