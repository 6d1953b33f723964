"""The page about hooks says of every end of an operation what plugins hear, and it is so."""

import inspect
import re
import tomllib
from collections.abc import Callable
from typing import Any

import pytest

from hooks import lifecycle
from hooks.builtin.actions import ACTIONS
from hooks.errors import Refusal
from hooks.hook import Hook
from hooks.lifecycle import LifecycleContext, LifecyclePlugin
from hooks.options import HookSettings
from orchestrator.errors import Conflict
from tests.scenarios.test_updates import template, value
from tests.scenarios.world import World
from tests.unit.docs.pages import ROOT
from tests.unit.docs.test_pages import DOCS, section, table

PAGE = (DOCS / "hooks.md").read_text()
AROUND = section(PAGE, "Calls around an operation")


class Listener(LifecyclePlugin):
    """Notes how operations ended."""

    name = "listener"

    def __init__(self) -> None:
        super().__init__()
        self.heard: list[tuple[str, str]] = []

    def do_post_op(self, context: LifecycleContext, *arguments: Any) -> None:
        *_, action, is_stack_failure = arguments
        assert is_stack_failure == (context.outcome != lifecycle.COMPLETE)
        self.heard.append((action, context.outcome))


class Refuser(LifecyclePlugin):
    """Comes later, and lets no stack rest."""

    name = "refuser"

    def do_pre_op(self, *arguments: Any) -> None:
        if arguments[-1] == "SUSPEND":
            raise Refusal("not today")

    def do_post_op(self, *arguments: Any) -> None:
        assert arguments[-2] != "SUSPEND", "whoever refuses is not told"


Heard = list[tuple[str, str]]
#: An update that changes the one resource of the stack.
LARGER = template({"a": value("1", "l")})


def completes(world: World) -> None:
    world.update(LARGER)


def fails(world: World) -> None:
    world.cloud.failing_updates = {"a": True}
    world.update(LARGER)


def takes_too_long(world: World) -> None:
    world.cloud.polls["b"] = 10_000
    world.update(template({"a": value("1", "s"), "b": value("2")}), timeout_minutes=1)


def is_cancelled(world: World) -> None:
    world.update(LARGER)
    world.cancel(rollback=False)


def is_overtaken(world: World) -> None:
    world.update(LARGER)
    world.delete()


def is_cancelled_and_rolled_back(world: World) -> None:
    world.update(LARGER)
    world.cancel()


def is_rolled_back(world: World) -> None:
    world.cloud.failing_updates = {"a": True}
    world.update(LARGER, rollback=True)


def is_refused(world: World) -> None:
    with pytest.raises(Conflict):
        world.suspend()


STORIES: list[tuple[str, Callable[[World], None], Heard]] = [
    ("it completes", completes, [("UPDATE", "complete")]),
    ("it fails", fails, [("UPDATE", "failed")]),
    ("it times out, or is cancelled", takes_too_long, [("UPDATE", "failed")]),
    ("it times out, or is cancelled", is_cancelled, [("UPDATE", "failed")]),
    ("it is superseded by", is_overtaken, [("UPDATE", "superseded"), ("DELETE", "complete")]),
    (
        "it is superseded by",
        is_cancelled_and_rolled_back,
        [("UPDATE", "superseded"), ("ROLLBACK", "complete")],
    ),
    ("it fails and is rolled back", is_rolled_back, [("UPDATE", "failed"), ("ROLLBACK", "complete")]),
    ("a plugin refuses", is_refused, [("SUSPEND", "refused")]),
]


@pytest.mark.parametrize(("row", "story", "heard"), STORIES, ids=[story.__name__ for _, story, _ in STORIES])
def test_what_plugins_hear_at_the_end_is_what_the_table_says(
    row: str, story: Callable[[World], None], heard: Heard
) -> None:
    assert any(said.startswith(row) for said, *_ in table(AROUND))
    world, listener = World(), Listener()
    world.plug(listener, Refuser())
    world.create(template({"a": value("1", "s")}))
    world.settle()
    listener.heard.clear()
    story(world)
    world.settle()
    assert sorted(listener.heard) == sorted(heard)


def test_the_page_names_every_action_and_every_outcome() -> None:
    named = re.findall(r"\b[A-Z]{5,}\b", AROUND.partition("Before")[0])
    assert set(named) == set(ACTIONS)
    outcomes = [lifecycle.COMPLETE, lifecycle.FAILED, lifecycle.SUPERSEDED, lifecycle.REFUSED]
    assert [each for each in outcomes if f"`{each}`" not in AROUND] == []


def test_the_page_names_what_the_settings_may_say_of_every_hook() -> None:
    rows = {row[0]: row[1] for row in table(section(PAGE, "Settings"))}
    assert set(HookSettings.model_fields) < set(rows)
    assert f"{Hook.time_limit_seconds:g}" in rows["time_limit_seconds"]


def test_the_page_lists_all_hooks_that_come_with_isotherm() -> None:
    points = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]["entry-points"]
    listed = re.findall(r"^\| `\[(\w+)\.(\w+)\]`", PAGE, flags=re.MULTILINE)
    shipped = [
        (group, name) for group in ("lifecycle", "event_sinks") for name in points[f"isotherm.{group}"]
    ]
    assert sorted(listed) == sorted(shipped)


def test_methods_take_what_the_page_says() -> None:
    taken = list(inspect.signature(LifecyclePlugin.do_post_op).parameters)
    assert taken == ["self", "context", "stack", "current_stack", "action", "is_stack_failure"]
    assert hasattr(LifecyclePlugin, "do_preview")
