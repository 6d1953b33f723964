"""In whatever order messages come, twice, late or never, and wherever a process dies: the invariants hold."""

from collections.abc import Mapping, Sequence
from functools import partial

from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from tests.scenarios.world import World, template_of

Graph = Mapping[str, Sequence[str]]
NAMES = [f"r{number}" for number in range(8)]


@st.composite
def graphs(draw: st.DrawFn) -> Graph:
    """Draw a dependency graph of up to eight resources; each requires only earlier ones."""
    size = draw(st.integers(1, len(NAMES)))
    return {
        NAMES[number]: sorted(draw(st.sets(st.sampled_from(NAMES[:number]), max_size=3))) if number else []
        for number in range(size)
    }


#: One move of the fate that plays against the engine.
moves = st.one_of(
    st.tuples(st.just("deliver"), st.integers(0, 50)),
    st.tuples(st.just("repeat"), st.integers(0, 50)),
    st.tuples(st.just("drop"), st.integers(0, 50)),
    st.tuples(st.just("crash"), st.integers(1, 12)),
    # As one message of all checks of an operation.
    st.tuples(st.sampled_from(["together", "repeat together", "late"]), st.integers(0, 50)),
    st.tuples(st.just("crash together"), st.integers(1, 40)),
    st.tuples(st.just("stall"), st.integers(0, 50)),
    st.tuples(st.just("go on"), st.just(0)),
    # Past a poll, past a redelivery, past a lease.
    st.tuples(st.just("sweep"), st.sampled_from([1, 11, 61])),
)
fates = st.lists(moves, max_size=60)
#: As many examples as the run asks for: ``--hypothesis-profile=thorough`` plays longer.
patient = settings(deadline=None, suppress_health_check=[HealthCheck.too_slow])


def play(world: World, fate: Sequence[tuple[str, int]]) -> None:
    """Let fate have its way with the messages."""
    for move, number in fate:
        if move == "sweep":
            world.survive(lambda number=number: world.sweep(after=number))  # type: ignore[misc]
        elif move == "go on":
            world.survive(world.wake_stalled)
        elif not world.messages:
            continue
        elif move == "stall":
            world.survive(lambda number=number: world.stall(number % len(world.messages)))  # type: ignore[misc]
        elif move == "drop":
            world.messages.pop(number % len(world.messages))
        elif move in ("crash", "crash together"):
            world.cloud.crash_after(number)
            world.survive(world.deliver if move == "crash" else world.deliver_together)
            world.cloud.crash_at = None
        elif move in ("together", "repeat together", "late"):
            is_repeated, is_late = move == "repeat together", move == "late"
            deliver = partial(world.deliver_together, number % len(world.messages))
            world.survive(partial(deliver, keep=is_repeated, late=is_late))
        else:
            index = number % len(world.messages)
            world.survive(lambda index=index, move=move: world.deliver(index, keep=move == "repeat"))  # type: ignore[misc]


def check_created(world: World, graph: Graph) -> None:
    assert world.state() == "CREATE_COMPLETE"
    # One live object a resource, and never was there another.
    assert sorted(world.made_names()) == sorted(graph)
    # Requirements before dependents.
    position = {name: index for index, name in enumerate(world.made_names())}
    assert all(position[other] < position[name] for name, others in graph.items() for other in others)
    # The final state is the template's.
    rows = {
        row.name: row
        for row in world.store.stacks.resources(world.store.stacks.find("s", project="default").id)
    }
    assert {name: (row.action, row.status) for name, row in rows.items()} == dict.fromkeys(
        graph, ("CREATE", "COMPLETE")
    )
    assert {row.physical_id for row in rows.values()} == set(world.cloud.objects)
    ids = {row.id: name for name, row in rows.items()}
    assert {name: sorted(ids[each] for each in row.requires) for name, row in rows.items()} == {
        name: sorted(others) for name, others in graph.items()
    }


@patient
@given(graph=graphs(), fate=fates, by=st.sampled_from(["depends_on", "get_attr"]), together=st.booleans())
def test_a_stack_is_created_whatever_happens_to_messages_and_processes(
    graph: Graph, fate: Sequence[tuple[str, int]], by: str, together: bool
) -> None:
    world = World(together=together)
    world.create(template_of(graph, by=by))
    play(world, fate)
    world.settle()
    check_created(world, graph)
    if by == "get_attr":
        values = {value.partition("+")[0]: value for _, value in world.cloud.objects.values()}
        for name, others in graph.items():
            assert values[name] == "+".join([name, *(values[other] for other in others)])
    world.close()


@patient
@given(graph=graphs(), fate=fates, polls=st.dictionaries(st.sampled_from(NAMES), st.integers(1, 30)))
def test_slow_and_busy_resources_end_as_the_template_says(
    graph: Graph, fate: Sequence[tuple[str, int]], polls: dict[str, int]
) -> None:
    world = World()
    world.cloud.polls = polls
    world.cloud.failing = dict.fromkeys(list(graph)[::3], 2)
    world.create(template_of(graph))
    play(world, fate)
    world.settle()
    check_created(world, graph)
    world.close()


@patient
@given(graph=graphs(), fate=fates, second=fates)
def test_a_stack_is_deleted_in_reverse_whatever_happens(
    graph: Graph, fate: Sequence[tuple[str, int]], second: Sequence[tuple[str, int]]
) -> None:
    world = World()
    stack_id = world.create(template_of(graph))
    world.settle()
    world.delete()
    play(world, fate)
    play(world, second)
    world.settle()
    assert world.state(stack_id) == "DELETE_COMPLETE"
    assert world.cloud.objects == {}
    position = {name: index for index, name in enumerate(world.unmade_names())}
    assert sorted(position) == sorted(graph)
    assert all(position[name] < position[other] for name, others in graph.items() for other in others)
    world.close()


@patient
@given(
    graph=graphs(),
    before=fates,
    after=fates,
    polls=st.dictionaries(st.sampled_from(NAMES), st.integers(1, 30)),
    together=st.booleans(),
)
def test_a_delete_in_the_middle_of_a_create_leaves_nothing(
    graph: Graph,
    before: Sequence[tuple[str, int]],
    after: Sequence[tuple[str, int]],
    polls: dict[str, int],
    together: bool,
) -> None:
    world = World(together=together)
    world.cloud.polls = polls
    stack_id = world.create(template_of(graph, by="get_attr"))
    play(world, before)
    world.delete()
    play(world, after)
    world.settle()
    assert world.state(stack_id) == "DELETE_COMPLETE"
    assert world.cloud.objects == {}
    world.close()


@patient
@given(graph=graphs(), fate=fates, victim=st.integers(0, 7))
def test_a_failure_is_told_and_touches_no_other_resource(
    graph: Graph, fate: Sequence[tuple[str, int]], victim: int
) -> None:
    world = World()
    failing = list(graph)[victim % len(graph)]
    world.cloud.failing = {failing: -1}
    stack_id = world.create(template_of(graph))
    play(world, fate)
    world.settle()
    stack = world.store.stacks.find("s", project="default")
    assert (stack.action, stack.status) == ("CREATE", "FAILED")
    assert stack.reason == f"Resource CREATE failed: resources.{failing}: no luck"
    rows = {row.name: row for row in world.store.stacks.resources(stack_id)}
    assert rows[failing].status == "FAILED"
    blocked = {name for name in graph if failing in graph[name]}
    assert all(rows[name].action == "INIT" for name in blocked)
    assert all(row.status == "COMPLETE" for name, row in rows.items() if name != failing)
    world.cloud.failing = {}
    world.delete()
    world.settle()
    assert world.cloud.objects == {}
    assert world.state(stack_id) == "DELETE_COMPLETE"
    world.close()


@patient
@given(graph=graphs(), instruction=st.integers(1, 40))
def test_a_coordinator_that_dies_in_a_job_leaves_it_whole_or_absent(graph: Graph, instruction: int) -> None:
    world = World()
    template = template_of(graph)
    world.cloud.crash_after(instruction)
    survived = world.survive(lambda: world.create(template, job_id="job"))
    world.cloud.crash_at = None
    if not survived:
        # The queue delivers the job again, as nobody acknowledged it.
        world.create(template, job_id="job")
    world.settle()
    check_created(world, graph)
    world.close()
