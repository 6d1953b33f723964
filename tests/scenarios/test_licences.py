"""The lifecycle plugin ``license`` around the engine: what its server holds is what there is, whatever happens."""

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from contextlib import closing, contextmanager, suppress
from dataclasses import dataclass

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from hooks.errors import Refusal
from hooks.lifecycle import LifecyclePlugin
from orchestrator.errors import Conflict, NotFound, Unavailable
from tests.scenarios.test_interleavings import moves, play
from tests.scenarios.test_updates import template, value
from tests.scenarios.world import World
from tests.services.licence_server import Break, LicenceServer
from tests.thoroughness import examples

TYPE = "Cloud::Object"


@pytest.fixture
def server() -> Iterator[LicenceServer]:
    with LicenceServer({TYPE: 3}) as started:
        yield started


def resources(values: Mapping[str, str]) -> str:
    return template({name: value(text) for name, text in values.items()})


def test_a_stacks_licences_from_its_beginning_to_its_end(server: LicenceServer) -> None:
    world = World()
    world.plug(server.plugin())
    stack = world.create(resources({"a": "1", "b": "1"}))
    assert (server.held(stack), world.cloud.objects) == ({TYPE: 2}, {})
    world.settle()
    with pytest.raises(Conflict, match=r"'license': Cloud::Object: 4 licences would be in use, there are 3$"):
        world.update(resources({"a": "1", "b": "1", "c": "1", "d": "1"}))
    assert server.held(stack) == {TYPE: 2}
    world.cloud.failing = {"c": -1}
    world.update(resources({"a": "1", "b": "1", "c": "1"}))
    assert server.held(stack) == {TYPE: 3}
    world.settle()
    assert (world.state(), server.held(stack)) == ("UPDATE_FAILED", {TYPE: 2})
    world.cloud.failing_deletes = {"a": True}
    world.update(resources({"a": "2", "b": "1"}))
    world.settle()
    assert (world.state(), server.held(stack)) == ("UPDATE_FAILED", {TYPE: 3})
    world.delete()
    assert server.held(stack) == {TYPE: 3}
    world.settle()
    assert server.licences.shown() == {}
    assert world.cloud.objects == {}


# -- whatever happens ----------------------------------------------------------------------------------------------


@dataclass(frozen=True, kw_only=True)
class Step:
    """What is asked of a stack, what goes wrong with it, and what fate does before the next is asked."""

    order: str
    stack: str
    values: Mapping[str, str]
    rollback: bool
    failing: frozenset[str]
    failing_updates: frozenset[str]
    failing_deletes: frozenset[str]
    #: Whether another plugin refuses what is asked, once licences were acquired for it.
    is_refused: bool
    #: What becomes of the next messages to the licence server.
    breaks: Sequence[Break]
    #: None: all comes to rest.
    fate: Sequence[tuple[str, int]] | None


ORDERS = (
    *("become", "become", "become", "become", "delete", "check", "suspend", "resume"),
    *("cancel", "snapshot", "restore", "abandon"),
)
names = st.frozensets(st.sampled_from("abc"), max_size=2)


def steps(
    breaks: st.SearchStrategy[Break], fates: st.SearchStrategy[tuple[str, int]]
) -> st.SearchStrategy[Step]:
    return st.builds(
        Step,
        order=st.sampled_from(ORDERS),
        stack=st.sampled_from("sst"),
        values=st.dictionaries(st.sampled_from("abc"), st.sampled_from("12"), min_size=1),
        rollback=st.booleans(),
        failing=names,
        failing_updates=names,
        failing_deletes=names,
        is_refused=st.integers(0, 3).map(lambda number: number == 3),
        breaks=st.lists(breaks, max_size=4),
        fate=st.none() | st.lists(fates, max_size=8),
    )


class Moody(LifecyclePlugin):
    """Refuses while it is told to."""

    name = "moody"
    after = ("license",)

    def __init__(self) -> None:
        super().__init__()
        self.refuses = False

    def do_pre_op(self, *_: object) -> None:
        if self.refuses:
            raise Refusal("not now")


@contextmanager
def played(story: Sequence[Step], **options: str) -> Iterator[tuple[World, LicenceServer]]:
    """Carry out a story; when all its operations are over, the server can be reached."""
    with LicenceServer({TYPE: 4}) as server, closing(World()) as world:
        moody = Moody()
        world.plug(server.plugin(**options), moody)
        for step in story:
            moody.refuses = step.is_refused
            carry_out(world, server, step)
        moody.refuses = False
        come_to_rest(world)
        server.breaking = lambda _: Break.NOTHING
        world.cloud.failing_deletes.clear()
        yield world, server


def carry_out(world: World, server: LicenceServer, step: Step) -> None:
    world.cloud.failing = dict.fromkeys(step.failing, -1)
    world.cloud.failing_updates = dict.fromkeys(step.failing_updates, True)
    world.cloud.failing_deletes = dict.fromkeys(step.failing_deletes, True)
    left = iter(step.breaks)
    server.breaking = lambda _: next(left, Break.NOTHING)
    # As they may be refused, by the engine or by the licence server.
    with suppress(Conflict, NotFound, Unavailable):
        world.survive(lambda: order(world, step))
    if step.fate is None:
        come_to_rest(world)
    else:
        play(world, step.fate)


def order(world: World, step: Step) -> None:
    match step.order:
        case "become":
            try:
                world.update(resources(step.values), step.stack, rollback=step.rollback)
            except NotFound:
                world.create(resources(step.values), step.stack, rollback=step.rollback)
        case "cancel":
            world.cancel(step.stack, rollback=step.rollback)
        case "snapshot" | "restore":
            getattr(world, step.order)("backup", step.stack)
        case operation:
            getattr(world, operation)(step.stack)


def come_to_rest(world: World) -> None:
    while not world.survive(world.settle):
        pass
    # Whoever left an operation without beginning it holds it no longer than this.
    world.sweep(after=1000)
    world.settle()


def look_at_each(world: World) -> None:
    world.cloud.failing_operations.clear()
    for stack in world.store.stacks.all(project="default"):
        # These can be followed by nothing else.
        only = {"SUSPEND": world.resume, "DELETE": world.delete}.get(stack.action)
        if only is not None:
            only(stack.name)
            come_to_rest(world)
        with suppress(NotFound):
            world.check(stack.name)
            come_to_rest(world)


def there(world: World) -> dict[str, int]:
    """Return how many objects each stack has."""
    stacks = {
        row.id: stack.id
        for stack in world.store.stacks.all(project="default")
        for row in world.store.stacks.resources(stack.id)
    }
    # What was abandoned is there still, and no stack's.
    return dict(Counter(stacks[row] for row, _ in world.cloud.objects.values() if row in stacks))


def held(server: LicenceServer) -> dict[str, int]:
    return {stack: counts[TYPE] for stack, counts in server.licences.shown().items()}


# Whoever finds a fault gets the time to make the example small.
@settings(max_examples=examples(15), deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(st.lists(steps(st.just(Break.NOTHING), moves), min_size=1, max_size=6))
def test_licences_are_held_for_what_there_is_whatever_fails_or_dies(story: list[Step]) -> None:
    with played(story) as (world, server):
        now, holding = there(world), held(server)
        for stack in world.store.stacks.all(project="default"):
            if stack.status == "FAILED":
                # What was still being made when it failed counts, whatever became of it.
                assert holding.pop(stack.id, 0) >= now.pop(stack.id, 0)
        assert holding == now
        look_at_each(world)
        assert held(server) == there(world)


# Whoever finds a fault gets the time to make the example small.
@settings(max_examples=examples(15), deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(
    st.lists(
        steps(st.sampled_from(Break), moves.filter(lambda move: move[0] != "crash")), min_size=1, max_size=6
    ),
    st.sampled_from(["refuse", "allow"]),
)
def test_server_that_was_away_holds_what_there_is_once_each_stack_was_looked_at(
    story: list[Step], on_error: str
) -> None:
    with played(story, on_error=on_error) as (world, server):
        look_at_each(world)
        # What it could not be told of stacks that are gone, it is told with those that are there.
        world.create(resources({}), "another")
        come_to_rest(world)
        world.check("another")
        come_to_rest(world)
        assert held(server) == there(world)
