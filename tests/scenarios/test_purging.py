"""Whatever is purged between any two messages: the engine does what it would have done, message for message."""

import uuid
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from itertools import count
from typing import Any
from unittest.mock import patch

import pytest
import sqlalchemy as sa
from hypothesis import given, settings
from hypothesis import strategies as st

from orchestrator.config.settings import Settings
from orchestrator.engine.auto_purge import EVERY_SECONDS, Housekeeping
from orchestrator.errors import IsothermError
from orchestrator.model.messages import CheckOrder
from orchestrator.model.purge import Purge
from orchestrator.store.tables import metadata
from tests.scenarios.test_interleavings import moves, play
from tests.scenarios.test_nested import BIG_PAIR, PAIR, root
from tests.scenarios.test_update_interleavings import NAMES, Definition, changes, patient, polls
from tests.scenarios.world import World
from tests.thoroughness import examples

#: Each example is played twice, and purged after each message.
some = settings(parent=patient, max_examples=examples(6))
#: What people ask of stacks; see ``Player.ask``.
ASKED = ("become", "roll back", "cancel", "delete", "abandon", "check", "suspend", "resume")
#: Everything that may go, at once, and of the events as much as possible.
AT_ONCE = Purge(older_than_seconds=0, grace_seconds=0, max_events_per_stack=1)


#: Without the stack that is in others.
LONELY = "heat_template_version: 2021-04-16\nresources:\n  net: {type: Cloud::Object}\n"


def template_of(definition: Definition, retained: frozenset[str]) -> str:
    """Return the template of a definition; sizes are in files, and some resources are to be left behind."""
    lines = ["heat_template_version: 2021-04-16", "resources:"]
    for name, wanted in definition.items():
        parts = [wanted.value, *(f"{{get_attr: [{other}, value]}}" for other in wanted.of)]
        lines += [f"  {name}:", "    type: Cloud::Object"]
        if name in retained:
            lines.append("    deletion_policy: Retain")
        if wanted.after:
            lines.append(f"    depends_on: [{', '.join(wanted.after)}]")
        lines.append(
            f"    properties: {{value: {{list_join: ['+', [{', '.join(parts)}]]}}, "
            f"size: {{get_file: {wanted.size}.txt}}}}"
        )
    return "\n".join([*lines, ""])


def files_of(definition: Definition) -> dict[str, str]:
    return {f"{wanted.size}.txt": wanted.size for wanted in definition.values()}


@dataclass(frozen=True)
class Version:
    """What a stack may be asked to become."""

    template: str
    files: Mapping[str, str]


@dataclass(frozen=True)
class Story:
    """What is asked of stacks, what fate does meanwhile, and what goes wrong."""

    #: Each what is asked (see ``Player.ask``), of which stack, and with which version; or a move of fate; or a rest.
    steps: Sequence[Any]
    polls: Mapping[str, int] = field(default_factory=dict)
    failing: frozenset[str] = frozenset()
    failing_updates: frozenset[str] = frozenset()
    failing_deletes: frozenset[str] = frozenset()


@st.composite
def versions(draw: st.DrawFn) -> list[Version]:
    """Draw definitions that follow each other; some resources are to be left behind."""
    retained = draw(st.frozensets(st.sampled_from(NAMES), max_size=2))
    return [Version(template_of(each, retained), files_of(each)) for each in draw(changes())]


#: Of a stack in a stack: its values, how it is made, and whether it is there at all.
nested_version = st.builds(
    lambda size, value, pair, is_there: Version(
        root(size=size, value=value) if is_there else LONELY, {"pair.yaml": pair, "s.txt": "s"}
    ),
    st.sampled_from("sl"),
    st.sampled_from("vw"),
    st.sampled_from([PAIR, BIG_PAIR]),
    st.integers(0, 3).map(bool),
)


@st.composite
def stories(draw: st.DrawFn) -> Story:
    choice = draw(st.one_of(versions(), st.lists(nested_version, min_size=2, max_size=4)))
    asked = st.tuples(
        st.one_of(st.just("become"), st.sampled_from(ASKED)),
        st.sampled_from(["s", "s", "t"]),
        st.sampled_from(choice),
    )
    rest = st.just(("rest",))
    names = st.frozensets(st.sampled_from([*NAMES, "net", "disk", "server"]), max_size=2)
    return Story(
        steps=[
            ("become", "s", choice[0]),
            *draw(st.sampled_from([[], [("rest",)]])),
            *draw(st.lists(st.one_of(moves, asked, rest), min_size=1, max_size=15)),
        ],
        polls=draw(polls),
        failing=draw(names),
        failing_updates=draw(names),
        failing_deletes=draw(names),
    )


@contextmanager
def numbered_ids() -> Iterator[None]:
    """Let every new id follow from the one before, so that two runs of one story name everything alike."""
    numbers, random = count(1), uuid.uuid4
    uuid.uuid4 = lambda: uuid.UUID(int=next(numbers), version=4)
    try:
        yield
    finally:
        uuid.uuid4 = random


class Player:
    """Plays one story, and keeps what the engine did."""

    def __init__(self, story: Story, purge: Callable[[World], None]) -> None:
        self.story, self.purge = story, purge
        self.world = World()
        cloud = self.world.cloud
        cloud.polls = dict(story.polls)
        cloud.failing = dict.fromkeys(story.failing, -1)
        cloud.failing_updates = dict.fromkeys(story.failing_updates, True)
        cloud.failing_deletes = dict.fromkeys(story.failing_deletes, True)
        #: What was sent and what was refused, in order.
        self.trace: list[Any] = []
        self._watch()

    def _watch(self) -> None:
        publish, carry_out = self.world.publish, self.world.carry_out

        def published(orders: Sequence[CheckOrder]) -> None:
            self.trace += [order.to_wire() for order in orders]
            publish(orders)

        def carried_out(order: CheckOrder) -> None:
            self.between()
            carry_out(order)

        self.world.publish = published  # type: ignore[method-assign]
        self.world.carry_out = carried_out  # type: ignore[method-assign]

    def between(self) -> None:
        """Purge; what fate holds for the message that comes next is not for the purge."""
        cloud = self.world.cloud
        held, cloud.crash_at = cloud.crash_at, None
        passed = cloud._count
        self.purge(self.world)
        cloud.crash_at, cloud._count = held, passed

    def play(self) -> None:
        for step in self.story.steps:
            self.between()
            if step[0] in ASKED:
                try:
                    self.ask(*step)
                except IsothermError as error:
                    self.trace.append(str(error))
            elif step[0] == "rest":
                self.world.settle()
            else:
                play(self.world, [step])
        self.world.settle()
        self.between()

    def ask(self, what: str, name: str, version: Version) -> None:
        world = self.world
        match what:
            case "become":
                living = [row.name for row in world.store.stacks.all(project="default")]
                begin = world.update if name in living else world.create
                begin(version.template, name, files=version.files)
            case "roll back" | "cancel":
                world.cancel(name, rollback=what == "roll back")
            case _:
                getattr(world, what)(name)

    def end(self) -> Any:
        """Return what there is in the end, in the world and in the store."""
        stacks = self.world.store.stacks
        rows = [
            (
                stack.name,
                stack.action,
                stack.status,
                stack.reason,
                stack.template_id,
                stacks.resources(stack.id),
            )
            for stack in stacks.all(project="default", nested=True)
        ]
        return rows, self.world.cloud.log, self.world.cloud.objects, self.world.cloud.sizes


def played(story: Story, purge: Callable[[World], None]) -> Player:
    with numbered_ids():
        player = Player(story, purge)
        player.play()
    return player


def purge_all(world: World) -> None:
    for _ in world.store.purger.purge(AT_ONCE):
        pass


def leave_all(_world: World) -> None:
    """Purge nothing."""


def counted(world: World, wanted: Purge) -> Counter[str]:
    counts: Counter[str] = Counter()
    for removed in world.store.purger.purge(wanted):
        counts[removed.kind] += removed.count
    return +counts


@some
@given(story=stories())
def test_a_purge_between_any_two_messages_changes_nothing(story: Story) -> None:
    plain, purged = played(story, leave_all), played(story, purge_all)
    assert purged.trace == plain.trace
    assert purged.end() == plain.end()
    plain.world.close()
    purged.world.close()


@some
@given(story=stories(), instructions=st.lists(st.integers(1, 25), min_size=1, max_size=5))
def test_a_purge_may_die_at_any_instruction(story: Story, instructions: Sequence[int]) -> None:
    turn = count()

    def purge_and_die(world: World) -> None:
        world.cloud.crash_after(instructions[next(turn) % len(instructions)])
        world.survive(lambda: purge_all(world))
        world.cloud.crash_at = None

    plain, purged = played(story, leave_all), played(story, purge_and_die)
    assert purged.trace == plain.trace
    assert purged.end() == plain.end()
    # What an interrupted purge left, the next one finds; of what is deleted nothing stays.
    purge_all(purged.world)
    assert leftovers(purged.world) == set()
    plain.world.close()
    purged.world.close()


@some
@given(story=stories())
def test_a_dry_run_counts_what_a_purge_then_removes(story: Story) -> None:
    player = played(story, leave_all)
    dry = Purge(older_than_seconds=0, grace_seconds=0, max_events_per_stack=1, dry_run=True)
    would = counted(player.world, dry)
    assert counted(player.world, dry) == would
    assert counted(player.world, AT_ONCE) == would
    # Once is enough.
    assert counted(player.world, AT_ONCE) == Counter()
    assert leftovers(player.world) == set()
    player.world.close()


def leftovers(world: World) -> set[str]:
    """Return the tables that hold something of no living stack."""
    orphans = {
        "stack": "SELECT id FROM stack WHERE deleted_at IS NOT NULL",
        "traversal": "SELECT id FROM traversal WHERE stack_id NOT IN (SELECT id FROM stack)",
        "node": "SELECT no FROM node WHERE traversal_id NOT IN (SELECT id FROM traversal)",
        "resource": "SELECT id FROM resource WHERE stack_id NOT IN (SELECT id FROM stack)",
        "event": "SELECT id FROM event WHERE stack_id NOT IN (SELECT id FROM stack)",
        "job": "SELECT id FROM job",
        "template": "SELECT id FROM template WHERE id NOT IN (SELECT template_id FROM traversal) "
        "AND id NOT IN (SELECT template_id FROM stack) AND id NOT IN (SELECT template_id FROM resource) "
        "AND id NOT IN (SELECT completed_template_id FROM stack WHERE completed_template_id IS NOT NULL)",
    }
    found = set()
    with world.store.database.read() as connection:
        for table, sql in orphans.items():
            if connection.exec_driver_sql(sql).first() is not None:
                found.add(table)
        if not connection.exec_driver_sql("SELECT id FROM stack").all():
            rest = ("template", "file", "node", "event")
            found |= {name for name in rest if connection.exec_driver_sql(f"SELECT * FROM {name}").first()}
    return found


def test_what_a_stack_was_goes_and_what_it_needs_stays() -> None:
    template = (
        "heat_template_version: 2021-04-16\nresources:\n  r: {{type: Cloud::Object, properties: {{{}}}}}\n"
    )
    world = World()
    stack_id = world.create(template.format("value: a"))
    world.settle()
    for number in range(30):
        world.now += 1
        world.update(
            template.format(f"value: v{number}" if number % 3 == 0 else f"size: s{number}, value: v")
        )
        world.settle()
    counts = counted(world, AT_ONCE)
    assert counts["traversals"] >= 29
    assert counts["resources"] >= 10
    assert counts["templates"] >= 29
    row = world.store.stacks.resource(stack_id, "r")
    world.update(template.format("size: s29, value: v"))
    world.settle()
    assert world.store.stacks.resource(stack_id, "r") == row
    assert [each.action for each in world.store.past.traversals(stack_id, limit=100)][:2] == [
        "UPDATE",
        "UPDATE",
    ]
    world.close()


@pytest.mark.parametrize("most", [1, 7, 1000])
def test_events_beyond_the_newest_go_when_an_operation_is_over(most: int) -> None:
    template = "heat_template_version: 2021-04-16\nresources:\n  r: {{type: Cloud::Object, properties: {{size: {}}}}}\n"
    world = World(max_events_per_stack=most)
    stack_id = world.create(template.format("a"))
    world.settle()
    for size in "bcdef":
        world.now += 1
        world.update(template.format(size))
        world.settle()
    events = world.store.events.read(stack_id)
    assert len(events) == min(most, 24)
    assert (events[-1].resource, events[-1].action, events[-1].status) == ("", "UPDATE", "COMPLETE")
    # What is not told any more is still counted.
    *updates, create = world.store.past.traversals(stack_id, limit=10)
    assert create.counts["CREATE_COMPLETE"] == 1
    assert [each.counts["UPDATE_COMPLETE"] for each in updates] == [1] * 5
    world.close()


def test_a_sweep_purges_by_itself_what_was_over_for_long_enough() -> None:
    world = World(purge_after_days=1)
    world.create("heat_template_version: 2021-04-16\nresources:\n  r: {type: Cloud::Object}\n")
    world.settle()
    world.delete()
    world.settle()
    world.coordinator._housekeeping._look_at = 0
    world.sweep(after=86_400 - 1)
    assert leftovers(world) == {"stack", "job"}
    world.coordinator._housekeeping._look_at = 0
    world.sweep(after=3600 + 1)
    assert leftovers(world) == set()
    world.close()


def test_the_first_command_in_a_new_database_purges_nothing_and_later_ones_do() -> None:
    """Each command looks once whether a purge is due, and ends."""
    world = World(purge_after_days=1)

    def command(after: float) -> int:
        """Return how many purges it began."""
        world.coordinator._housekeeping = Housekeeping(world.store, world.coordinator._settings)
        with patch.object(world.store.purger, "purge", wraps=world.store.purger.purge) as purge:
            world.sweep(after=after)
        return purge.call_count

    assert [command(after) for after in (0, 1, EVERY_SECONDS - 2)] == [0, 0, 0]
    world.create("heat_template_version: 2021-04-16\nresources:\n  r: {type: Cloud::Object}\n")
    world.settle()
    world.delete()
    world.settle()
    assert [command(after) for after in (1, 1)] == [1, 0]
    assert leftovers(world) == {"stack", "job"}
    assert command(86_400) == 1
    assert leftovers(world) == set()
    world.close()


def test_a_busy_installation_does_not_grow_for_ever_by_default() -> None:
    """A stack is made and deleted every week for a year, and another is updated."""
    days = Settings.purge_after_days
    world = World(purge_after_days=days, max_events_per_stack=20)
    template = (
        "heat_template_version: 2021-04-16\n"
        "resources: {{r: {{type: Cloud::Object, properties: {{size: {0}}}}}}}\n"
    )
    world.create(template.format("w0"), name="kept")
    world.settle()
    rows = []
    for week in range(1, 53):
        world.create(template.format("a"), name="passing")
        world.settle()
        world.delete("passing")
        world.update(template.format(f"w{week}"), name="kept")
        world.settle()
        world.coordinator._housekeeping._look_at = 0
        # On a slow machine a purge would be interrupted, to be continued a week later.
        world.coordinator._housekeeping._clock = lambda: 1.0
        world.sweep(after=7 * 86_400)
        with world.store.database.read() as connection:
            counts = [sa.select(sa.func.count()).select_from(table) for table in metadata.sorted_tables]
            rows.append(sum(connection.execute(each).scalar_one() for each in counts))
    assert max(rows[26:]) <= max(rows[:20])
    world.close()
