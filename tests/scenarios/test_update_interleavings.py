"""Whatever is asked of a stack, at whatever moment, and whatever dies on the way: it becomes what was asked last."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import pairwise

from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from tests.scenarios.test_interleavings import fates, play
from tests.scenarios.world import World
from tests.thoroughness import examples

NAMES = [f"r{number}" for number in range(8)]


@dataclass(frozen=True)
class Wanted:
    """One resource of a definition."""

    value: str
    size: str
    #: By depends_on, and by get_attr in its value: of a value, and of a size, which changes in place.
    after: tuple[str, ...] = ()
    of: tuple[str, ...] = ()
    like: tuple[str, ...] = ()


Definition = Mapping[str, Wanted]


@st.composite
def definitions(draw: st.DrawFn, *, most: int = 8) -> Definition:
    """Draw a definition; which resource comes before which is drawn too, so that edges turn around."""
    order = draw(st.permutations(NAMES[:most]))
    names = order[: draw(st.integers(1, most))]
    definition = {}
    for position, name in enumerate(names):
        before = st.sets(st.sampled_from(names[:position]), max_size=2) if position else st.just(set[str]())
        definition[name] = Wanted(
            value=draw(st.sampled_from("vw")),
            size=draw(st.sampled_from("sl")),
            after=tuple(sorted(draw(before))),
            of=tuple(sorted(draw(before))),
            like=tuple(sorted(draw(before))),
        )
    return definition


@st.composite
def changes(draw: st.DrawFn) -> list[Definition]:
    """Draw a definition and some that follow: a bit of it changed, taken away or added, or another altogether."""
    sequence = [draw(definitions())]
    for _ in range(draw(st.integers(1, 3))):
        if draw(st.integers(0, 3)) == 0:
            sequence.append(draw(st.one_of(definitions(), st.sampled_from(sequence))))
            continue
        last = dict(sequence[-1])
        name = draw(st.sampled_from(sorted(last)))
        old = last[name]
        match draw(st.sampled_from(["value", "size", "edges", "gone"])):
            case "value":
                last[name] = replace(old, value=draw(st.sampled_from("vwx")))
            case "size":
                last[name] = replace(old, size=draw(st.sampled_from("slx")))
            case "edges":
                last[name] = Wanted(old.value, old.size)
            case "gone" if len(last) > 1 and not any(name in requirements(last, each) for each in last):
                del last[name]
        sequence.append(last)
    return sequence


def template_of(definition: Definition) -> str:
    """Return the template of a definition; sizes are parameters, so that the same text may mean another thing."""
    lines = ["heat_template_version: 2021-04-16", "parameters:", "  unused: {type: string, default: ''}"]
    lines += [f"  size_{name}: {{type: string}}" for name in definition]
    lines.append("resources:")
    for name, wanted in definition.items():
        parts = [
            wanted.value,
            *(f"{{get_attr: [{other}, value]}}" for other in wanted.of),
            *(f"{{get_attr: [{other}, measure]}}" for other in wanted.like),
        ]
        lines.append(f"  {name}:")
        lines.append("    type: Cloud::Object")
        if wanted.after:
            lines.append(f"    depends_on: [{', '.join(wanted.after)}]")
        lines.append(
            f"    properties: {{value: {{list_join: ['+', [{', '.join(parts)}]]}}, "
            f"size: {{get_param: size_{name}}}}}"
        )
    return "\n".join([*lines, ""]) if definition else "heat_template_version: 2021-04-16\nresources: {}\n"


def parameters_of(definition: Definition) -> dict[str, str]:
    return {f"size_{name}": wanted.size for name, wanted in definition.items()}


def value_of(definition: Definition, name: str) -> str:
    """Return the value that a resource is to have, by those it is made of."""
    wanted = definition[name]
    values = (value_of(definition, other) for other in wanted.of)
    return "+".join([wanted.value, *values, *(definition[other].size for other in wanted.like)])


def requirements(definition: Definition, name: str) -> set[str]:
    wanted = definition[name]
    return {*wanted.after, *wanted.of, *wanted.like}


@dataclass
class Watch:
    """What must never happen, looked for at every object that is made or unmade."""

    world: World
    makers: list[str] = field(default_factory=list)

    def __post_init__(self) -> None:
        make = self.world.cloud.make

        def watched(row: str, name: str, value: str) -> str:
            self.makers.append(row)
            return make(row, name, value)

        self.world.cloud.make = watched  # type: ignore[method-assign]

    def check(self) -> None:
        assert len(self.makers) == len(set(self.makers)), "an object was made twice for one row"


def check_became(world: World, stack_id: str, definition: Definition) -> None:
    """Check that the stack, and the cloud, are the definition and nothing else."""
    rows = world.store.stacks.resources(stack_id)
    assert sorted(row.name for row in rows) == sorted(definition)
    by_name = {row.name: row for row in rows}
    assert {row.physical_id for row in rows} == set(world.cloud.objects)
    for name, wanted in definition.items():
        row = by_name[name]
        assert row.physical_id is not None
        assert row.status == "COMPLETE"
        assert row.replaced_by is None
        assert world.cloud.objects[row.physical_id] == (row.id, value_of(definition, name))
        assert world.cloud.sizes[row.physical_id] == wanted.size
        assert set(row.requires) == {by_name[other].id for other in requirements(definition, name)}


def check_unmade(world: World, stack_id: str, definition: Definition) -> None:
    """Delete the stack, and check that everything goes after what depended on it."""
    world.cloud.log.clear()
    world.delete()
    world.settle()
    assert world.state(stack_id) == "DELETE_COMPLETE"
    assert world.cloud.objects == {}
    position = {name: index for index, name in enumerate(world.unmade_names())}
    assert sorted(position) == sorted(definition)
    assert all(
        position[name] < position[other] for name in definition for other in requirements(definition, name)
    )


patient = settings(max_examples=examples(10), deadline=None, suppress_health_check=[HealthCheck.too_slow])
polls = st.dictionaries(st.sampled_from(NAMES), st.integers(1, 30), max_size=4)


def become(world: World, definition: Definition, *, rollback: bool = False) -> None:
    world.update(template_of(definition), parameters=parameters_of(definition), rollback=rollback)


def begin(world: World, definition: Definition) -> str:
    return world.create(template_of(definition), parameters=parameters_of(definition))


@patient
@given(sequence=changes())
def test_updates_one_after_the_other_touch_nothing_but_what_changed(sequence: Sequence[Definition]) -> None:
    world = World()
    watch = Watch(world)
    stack_id = begin(world, sequence[0])
    world.settle()
    for before, after in pairwise(sequence):
        ids = {row.name: row.physical_id for row in world.store.stacks.resources(stack_id)}
        world.cloud.log.clear()
        become(world, after)
        world.settle()
        assert world.state() == "UPDATE_COMPLETE"
        check_became(world, stack_id, after)
        same = {name for name in {*before} & {*after} if value_of(before, name) == value_of(after, name)}
        now = {row.name: row.physical_id for row in world.store.stacks.resources(stack_id)}
        assert {name: ids[name] for name in same} == {name: now[name] for name in same}
        resized = {name for name in same if before[name].size != after[name].size}
        replaced = {*before} & {*after} - same
        assert sorted(world.cloud.log) == sorted(
            [
                *(("change", name) for name in resized),
                *(("make", name) for name in replaced | {*after} - {*before}),
                *(("unmake", name) for name in replaced | {*before} - {*after}),
            ]
        )
    watch.check()
    check_unmade(world, stack_id, sequence[-1])
    world.close()


@patient
@given(sequence=changes(), played=st.lists(fates, min_size=5, max_size=5), polls=polls)
def test_a_stack_becomes_what_was_asked_last_whatever_happens_and_whenever_it_was_asked(
    sequence: Sequence[Definition], played: Sequence[Sequence[tuple[str, int]]], polls: dict[str, int]
) -> None:
    world = World()
    world.cloud.polls = polls
    watch = Watch(world)
    stack_id = begin(world, sequence[0])
    play(world, played[0])
    for definition, fate in zip(sequence[1:], played[1:], strict=False):
        become(world, definition)
        play(world, fate)
    world.settle()
    assert world.state() == "UPDATE_COMPLETE"
    check_became(world, stack_id, sequence[-1])
    watch.check()
    check_unmade(world, stack_id, sequence[-1])
    world.close()


@patient
@given(
    sequence=changes(),
    played=st.lists(fates, min_size=5, max_size=5),
    makes=st.dictionaries(st.sampled_from(NAMES), st.sampled_from([-1, 1]), max_size=3),
    updates=st.sets(st.sampled_from(NAMES), max_size=3),
    polls=polls,
)
def test_what_failed_is_healed_by_the_next_update(
    sequence: Sequence[Definition],
    played: Sequence[Sequence[tuple[str, int]]],
    makes: dict[str, int],
    updates: set[str],
    polls: dict[str, int],
) -> None:
    world = World()
    world.cloud.polls = polls
    world.cloud.failing = makes
    world.cloud.failing_updates = dict.fromkeys(updates, True)
    watch = Watch(world)
    stack_id = begin(world, sequence[0])
    play(world, played[0])
    for definition, fate in zip(sequence[1:], played[1:], strict=False):
        become(world, definition)
        play(world, fate)
    world.settle()
    assert world.state() in ("UPDATE_COMPLETE", "UPDATE_FAILED")
    world.cloud.failing, world.cloud.failing_updates = {}, {}
    become(world, sequence[-1])
    world.settle()
    assert world.state() == "UPDATE_COMPLETE"
    check_became(world, stack_id, sequence[-1])
    watch.check()
    check_unmade(world, stack_id, sequence[-1])
    world.close()


@patient
@given(sequence=changes(), played=st.lists(fates, min_size=5, max_size=5), polls=polls)
def test_a_delete_at_any_moment_of_any_update_leaves_nothing(
    sequence: Sequence[Definition], played: Sequence[Sequence[tuple[str, int]]], polls: dict[str, int]
) -> None:
    world = World()
    world.cloud.polls = polls
    stack_id = begin(world, sequence[0])
    play(world, played[0])
    for definition, fate in zip(sequence[1:], played[1:], strict=False):
        become(world, definition)
        play(world, fate)
    world.delete()
    play(world, played[0])
    world.settle()
    assert world.state(stack_id) == "DELETE_COMPLETE"
    assert world.cloud.objects == {}
    world.close()
