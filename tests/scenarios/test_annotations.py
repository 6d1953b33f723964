"""What lifecycle plugins say of resources reaches their types, which ask the store only when they look."""

from collections.abc import Iterator
from contextlib import closing, contextmanager
from typing import Any

import pytest

from hooks.errors import ReadOnly
from hooks.lifecycle import Annotations, LifecycleContext, LifecyclePlugin
from hooks.stack import FrozenStack
from orchestrator.config.settings import Settings
from orchestrator.plugins.resource import Resource
from orchestrator.plugins.steps import PropertyChanges
from orchestrator.queries.stacks import StackQueries
from tests.counting import heard
from tests.scenarios.test_nested import FILES, root
from tests.scenarios.test_updates import template, value
from tests.scenarios.world import World


class Placement(LifecyclePlugin):
    """Says where things go, and remembers what it was shown."""

    name = "placement"

    def __init__(self, said: Annotations | None = None) -> None:
        super().__init__()
        self.said = said
        self.shown: list[FrozenStack] = []

    def do_pre_op(
        self,
        context: LifecycleContext,
        stack: FrozenStack,
        current_stack: FrozenStack | None,
        action: str,
    ) -> Annotations | None:
        self.shown.append(stack)
        return self.said


class Placed(Resource):
    """Goes where it is told to."""

    seen: list[Any]

    def handle_create(self) -> None:
        self._look()

    def handle_update(self, changes: PropertyChanges) -> None:
        self._look()

    def handle_check(self) -> None:
        self._look()

    def _look(self) -> None:
        self.seen.append(self.annotations)
        self.seen[-1].get("placement")


def placed() -> type[Placed]:
    """Return a type that remembers what it saw, in a list of its own."""
    return type("Placed", (Placed,), {"seen": []})


PLACED = "heat_template_version: 2021-04-16\nresources: {a: {type: Placed}}\n"


@contextmanager
def asked_for_annotations() -> Iterator[list[str]]:
    """Collect the statements that read annotations."""
    asked: list[str] = []
    with heard(lambda sql: asked.append(sql) if "FROM annotation" in sql and "SELECT" in sql else None):
        yield asked


def test_a_type_reads_what_plugins_said_of_its_resource_and_cannot_change_it() -> None:
    kind, plugin = placed(), Placement(Annotations(resources={"a": {"host": {"name": "n1"}}, "b": {"x": 1}}))
    with closing(World(types={"Placed": kind})) as world:
        world.plug(plugin)
        world.create(PLACED)
        world.settle()
        assert kind.seen == [{"placement": {"host": {"name": "n1"}}}]
        (seen,) = kind.seen
        for part in (seen, seen["placement"], seen["placement"]["host"]):
            with pytest.raises(ReadOnly):
                part.update(name="n2")
        plugin.said = Annotations(resources={"a": {"host": {"name": "n2"}}})
        world.check()
        world.settle()
        plugin.said = None
        world.check()
        world.settle()
    assert kind.seen[1:] == [{"placement": {"host": {"name": "n2"}}}] * 2


def test_nobody_asks_for_annotations_before_a_type_looks() -> None:
    kind = placed()
    with closing(World(types={"Placed": kind})) as world:
        world.plug(Placement(Annotations(resources={"a": {"host": "n1"}})))
        with asked_for_annotations() as asked:
            world.create(template({"a": value("1")}))
            world.settle()
            assert asked == []
            world.create(PLACED, "t")
            world.settle()
    assert len(asked) == 1
    assert kind.seen == [{"placement": {"host": "n1"}}]


def test_people_see_what_plugins_said_of_a_stack_and_its_resources() -> None:
    said = Annotations(stack={"euros": 7}, resources={"a": {"host": "n1"}, "gone": {"host": "n2"}})
    with closing(World()) as world:
        world.plug(Placement(said))
        world.create(template({"a": value("1"), "b": value("1")}))
        world.settle()
        showing = StackQueries(Settings(), world.store)
        assert showing.stack("s").to_dict()["annotations"] == {"placement": {"euros": 7}}
        assert showing.resource("s", "a").to_dict()["annotations"] == {"placement": {"host": "n1"}}
        told = {each.name: each.to_dict()["annotations"] for each in showing.resources("s")}
        assert told == {"a": {"placement": {"host": "n1"}}, "b": {}}
        deep = {each.name: each.annotations for each in showing.resources("s", depth=2)}
        assert deep == told


def test_where_no_plugin_said_anything_there_is_nothing_to_read() -> None:
    kind = placed()
    with closing(World(types={"Placed": kind})) as world:
        world.create(PLACED)
        world.settle()
    assert [dict(each) for each in kind.seen] == [{}]


def test_a_stack_in_a_stack_is_shown_with_the_tags_of_the_outermost_and_where_it_is() -> None:
    plugin = Placement()
    with closing(World()) as world:
        world.plug(plugin)
        stack_id = world.create(root(), files=FILES, tags=("prod", "eu"))
        world.settle()
        outer, inner = plugin.shown
        assert (outer.id, outer.root_id, outer.parent_id) == (stack_id, stack_id, "")
        assert (inner.root_id, inner.parent_id) == (stack_id, stack_id)
        assert outer.tags == inner.tags == ("prod", "eu")
        (row,) = world.store.families.children(stack_id)
        assert row.tags == ()
        world.check()
        world.settle()
    assert [each.tags for each in plugin.shown[2:]] == [("prod", "eu")] * 2
