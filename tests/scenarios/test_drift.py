"""Drift: changes of objects behind the engine's back, seen by observations and mended by repairs."""

from collections.abc import Iterator
from contextlib import closing

import pytest

from orchestrator.engine.protection_marks import protect
from orchestrator.errors import Conflict, InvalidInput
from orchestrator.model.drift import Standing
from orchestrator.model.messages import EnvironmentSource
from orchestrator.model.observation_policy import ObservationPolicy
from orchestrator.store.stacks.drifts import DriftRow
from tests.scenarios.deaths import die_everywhere
from tests.scenarios.groups import TYPES
from tests.scenarios.world import World

TEMPLATE = """\
heat_template_version: 2021-04-16
parameters: {secret: {type: string, hidden: true, default: hush}}
resources:
  a:
    type: Cloud::Object
    properties: {value: v, size: s}
  b:
    type: Cloud::Object
    properties: {value: {get_attr: [a, measure]}, size: m}
  c:
    type: Cloud::Object
    properties: {value: {get_param: secret}}
"""
ROOT = {"project": "default"}
HOUR = 3600.0


@pytest.fixture
def world() -> Iterator[World]:
    with closing(World()) as made:
        made.create(TEMPLATE)
        made.settle()
        yield made


def stack_id(world: World) -> str:
    return world.store.stacks.find("s", **ROOT).id


def object_of(world: World, name: str) -> str:
    found = world.store.stacks.resource(stack_id(world), name).physical_id
    assert found is not None
    return found


def set_policy(world: World, **policy: object) -> None:
    due = world.now if policy["mode"] != "off" else None
    world.store.observation_turns.set_policy(stack_id(world), ObservationPolicy.of(policy), due_at=due)


def observe(world: World) -> list[DriftRow]:
    """Observe the stack on demand; return the drift on record."""
    world.detect()
    world.settle()
    return drift(world)


def drift(world: World) -> list[DriftRow]:
    return world.store.drifts.of_tree(stack_id(world))


def shown(rows: list[DriftRow]) -> list[tuple[object, ...]]:
    return [(row.path, row.key, row.finding.recorded, row.finding.observed) for row in rows]


def events(world: World) -> list[tuple[str, str, str]]:
    found = world.store.events.read(stack_id(world), limit=1000)
    return [(each.resource, each.status, each.reason) for each in found if each.action == "DRIFT"]


def run(world: World, *, observations: int = 1) -> None:
    """Let the schedule run until the stack was observed so many times more and nothing is under way."""
    world.looks_for_drift = True
    for _ in range(observations):
        turn = world.store.observation_turns.read(stack_id(world))
        assert turn is not None
        assert turn.due_at is not None
        world.sweep(after=max(0.0, turn.due_at - world.now) + 2)
        world.settle()
        # A repair that the observation decided begins with the next sweep.
        world.sweep(after=2)
        world.settle()


def test_a_changed_value_is_recorded_with_both_values_until_it_is_changed_back(world: World) -> None:
    assert observe(world) == []
    before = world.cloud.log[:]
    world.cloud.sizes[object_of(world, "a")] = "l"
    assert shown(observe(world)) == [("a", "size", "s", "l")]
    first = world.now
    world.now += 60
    (row,) = observe(world)
    assert (row.since <= first, row.seen_at >= first + 60, row.times) == (True, True, 2)
    assert row.standing is Standing.REPORTED
    assert world.cloud.log == before
    assert world.state() == "CREATE_COMPLETE"
    world.cloud.sizes[object_of(world, "a")] = "s"
    assert observe(world) == []
    assert events(world) == [
        ("a", "DETECTED", "size: recorded 's', observed 'l'; reported"),
        ("a", "RESOLVED", "the object is as recorded"),
    ]


def test_another_change_is_told_again_and_the_same_is_not(world: World) -> None:
    for size in ("l", "l", "xl"):
        world.cloud.sizes[object_of(world, "a")] = size
        observe(world)
    assert [reason for _, _, reason in events(world)] == [
        "size: recorded 's', observed 'l'; reported",
        "size: recorded 's', observed 'xl'; reported",
    ]


def test_an_object_that_is_gone_is_recorded(world: World) -> None:
    del world.cloud.objects[object_of(world, "b")]
    (row,) = observe(world)
    assert (row.path, row.key, row.finding.is_gone) == ("b", "", True)
    assert events(world) == [("b", "DETECTED", "it is not there any more; reported")]


def test_a_hidden_value_is_recorded_nowhere(world: World) -> None:
    world.cloud.objects[object_of(world, "c")] = ("?", "leaked")
    (row,) = observe(world)
    assert (row.key, row.finding.hidden, row.finding.recorded, row.finding.observed) == (
        "value",
        True,
        None,
        None,
    )
    ((_, _, reason),) = events(world)
    assert "hush" not in reason
    assert "leaked" not in reason


def test_a_default_is_shown_beside_a_reference_and_a_secret(world: World) -> None:
    beside = TEMPLATE.replace(", size: m", "")
    world.update(beside)
    world.settle()
    for name in "bc":
        world.cloud.sizes[object_of(world, name)] = "l"
    assert shown(observe(world)) == [("b", "size", "", "l"), ("c", "size", "", "l")]


def test_what_the_policy_ignores_is_no_drift_and_earlier_drift_of_it_is_over(world: World) -> None:
    world.cloud.sizes[object_of(world, "a")] = "l"
    world.cloud.sizes[object_of(world, "b")] = "l"
    assert len(observe(world)) == 2
    set_policy(world, mode="detect", ignore=["a/size", "b"])
    assert observe(world) == []


def test_a_stack_under_way_is_not_observed_and_an_operation_takes_the_place_of_an_observation(
    world: World,
) -> None:
    world.cloud.sizes[object_of(world, "a")] = "l"
    world.detect()
    (order,) = world.messages
    world.check()
    with pytest.raises(Conflict, match="CHECK_IN_PROGRESS"):
        world.detect()
    world.carry_out(order)
    assert drift(world) == []
    turn = world.store.observation_turns.read(stack_id(world))
    assert turn is not None
    assert (turn.trouble, turn.is_begun) == ("stack 's' is CHECK_IN_PROGRESS", False)


def test_an_operation_that_begins_while_objects_are_read_discards_what_was_found(
    world: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    world.cloud.sizes[object_of(world, "a")] = "l"
    world.detect()
    (order,) = world.messages
    read = world.store.stacks.resources_in_tree

    def read_and_check(root_id: str) -> object:
        rows = read(root_id)
        world.check()
        return rows

    monkeypatch.setattr(world.store.stacks, "resources_in_tree", read_and_check)
    world.carry_out(order)
    assert drift(world) == []
    turn = world.store.observation_turns.read(stack_id(world))
    assert turn is not None
    assert turn.trouble == "an operation began meanwhile"


def test_a_stack_that_cannot_be_read_is_observed_at_its_next_time_and_no_sooner(
    world: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    def broken(root_id: str) -> object:
        raise LookupError("a row of another version")

    set_policy(world, mode="detect", interval_seconds=900)
    monkeypatch.setattr(world.store.stacks, "resources_in_tree", broken)
    run(world)
    turn = world.store.observation_turns.read(stack_id(world))
    assert turn is not None
    assert turn.due_at is not None
    assert (turn.is_begun, turn.due_at <= world.now + 900) == (False, True)
    assert turn.trouble == "an error of type LookupError, which the log of the worker has"


def test_an_outdated_order_and_one_that_is_delivered_twice_change_nothing(world: World) -> None:
    world.detect()
    world.detect()
    first, second = world.messages
    world.cloud.sizes[object_of(world, "a")] = "l"
    world.carry_out(first)
    assert drift(world) == []
    for _ in range(2):
        world.carry_out(second)
    (row,) = drift(world)
    assert row.times == 1


def test_the_schedule_observes_once_in_each_interval_and_loses_nothing_with_a_message(world: World) -> None:
    set_policy(world, mode="detect", interval_seconds=900)
    world.cloud.sizes[object_of(world, "a")] = "l"
    run(world, observations=3)
    (row,) = drift(world)
    assert row.times == 3
    # The first was due at once, the second within an interval, the third an interval later.
    assert 900 <= row.seen_at - row.since <= 1810
    turn = world.store.observation_turns.read(stack_id(world))
    assert turn is not None
    assert turn.due_at is not None
    world.sweep(after=turn.due_at - world.now + 2)
    assert [order.phase for order in world.messages] == ["observe"]
    world.messages.clear()
    run(world)
    assert drift(world)[0].times == 4


def test_a_repair_changes_only_what_drifted_and_makes_again_what_is_gone(world: World) -> None:
    set_policy(world, mode="repair")
    world.cloud.sizes[object_of(world, "a")] = "l"
    del world.cloud.objects[object_of(world, "b")]
    kept = object_of(world, "a"), object_of(world, "c")
    world.cloud.log.clear()
    run(world)
    assert world.state() == "UPDATE_COMPLETE"
    assert sorted(world.cloud.log) == [("change", "a"), ("make", "b")]
    assert (object_of(world, "a"), object_of(world, "c")) == kept
    assert world.cloud.sizes[kept[0]] == "s"
    assert [row.standing for row in drift(world)] == [Standing.REPAIRING] * 2
    run(world)
    assert drift(world) == []
    assert [status for _, status, _ in events(world)] == ["DETECTED", "DETECTED", "RESOLVED", "RESOLVED"]


@pytest.mark.parametrize(("allowed", "log"), [(False, []), (True, [("make", "c"), ("unmake", "c")])])
def test_a_repair_replaces_only_where_the_policy_allows_it(
    world: World, allowed: bool, log: list[tuple[str, str]]
) -> None:
    set_policy(world, mode="repair", replace=allowed)
    old = object_of(world, "c")
    world.cloud.objects[old] = (world.cloud.objects[old][0], "other")
    world.cloud.log.clear()
    run(world)
    assert world.cloud.log == log
    (row,) = drift(world)
    assert row.standing is (Standing.REPAIRING if allowed else Standing.REPORTED)
    run(world)
    assert len(drift(world)) == (0 if allowed else 1)


def test_what_is_gone_is_only_reported_if_the_policy_says_so(world: World) -> None:
    set_policy(world, mode="repair", gone="report")
    del world.cloud.objects[object_of(world, "b")]
    world.cloud.log.clear()
    run(world, observations=2)
    assert world.cloud.log == []
    (row,) = drift(world)
    assert (row.standing, row.why) == (Standing.REPORTED, "the policy makes nothing again that is gone")


def test_an_endless_fight_is_stopped_and_reported(world: World) -> None:
    set_policy(world, mode="repair", repairs_per_hour=100)
    world.cloud.log.clear()
    for _ in range(8):
        world.cloud.sizes[object_of(world, "a")] = "l"
        run(world)
    assert world.cloud.log == [("change", "a")] * 3
    (row,) = drift(world)
    assert row.standing is Standing.LEFT_ALONE
    assert row.why == "it drifted again after 3 repairs within 24 hours: another system changes it"
    assert sum("left alone" in reason for _, _, reason in events(world)) == 1
    # Another chance.
    set_policy(world, mode="repair")
    run(world)
    assert world.cloud.log == [("change", "a")] * 4


def test_more_repairs_than_an_hour_may_have_wait(world: World) -> None:
    set_policy(world, mode="repair", repairs_per_hour=1)
    for name in "ab":
        world.cloud.sizes[object_of(world, name)] = "l"
    world.cloud.log.clear()
    run(world)
    assert len(world.cloud.log) == 1
    assert sorted(row.standing for row in drift(world)) == [Standing.POSTPONED, Standing.REPAIRING]
    begun = world.now
    while len(world.cloud.log) < 2:
        run(world)
        assert world.now < begun + 2 * HOUR
    assert world.now > begun + HOUR - 900
    assert sorted(world.cloud.log) == [("change", "a"), ("change", "b")]


def test_a_stack_whose_operation_failed_is_not_repaired(world: World) -> None:
    set_policy(world, mode="repair")
    world.cloud.failing_updates["a"] = True
    world.update(TEMPLATE.replace("size: s", "size: xs"))
    world.settle()
    assert world.state() == "UPDATE_FAILED"
    world.cloud.sizes[object_of(world, "b")] = "l"
    world.cloud.log.clear()
    run(world)
    (row,) = drift(world)
    assert (row.path, row.standing) == ("b", Standing.POSTPONED)
    assert row.why == "the stack is UPDATE_FAILED: update it first"
    assert world.cloud.log == []


SMALL = """\
heat_template_version: 2021-04-16
resources:
  a: {type: Cloud::Object, properties: {size: s}}
  b: {type: Cloud::Object}
"""


@die_everywhere
def test_a_repair_survives_every_crash(instruction: int) -> None:
    with closing(World()) as world:
        world.create(SMALL)
        world.settle()
        set_policy(world, mode="repair")
        world.cloud.sizes[object_of(world, "a")] = "l"
        del world.cloud.objects[object_of(world, "b")]
        world.cloud.log.clear()
        world.cloud.crash_after(instruction)
        while not (world.survive(lambda: run(world)) and is_over(world)):
            assert world.now < 1_100_000
        assert world.cloud.sizes[object_of(world, "a")] == "s"
        assert object_of(world, "b") in world.cloud.objects
        assert len(world.cloud.objects) == 2
        assert set(world.cloud.log) == {("change", "a"), ("make", "b")}
        assert {each.status for each in world.store.stacks.resources(stack_id(world))} == {"COMPLETE"}


def is_over(world: World) -> bool:
    """Whether there is no drift; no process of the engine dies at this look."""
    at, world.cloud.crash_at = world.cloud.crash_at, None
    try:
        return drift(world) == []
    finally:
        world.cloud.crash_at = at


NESTED = """\
heat_template_version: 2021-04-16
resources:
  group:
    type: OS::Heat::ResourceGroup
    properties:
      count: 2
      resource_def: {type: Cloud::Object, properties: {value: "v%index%", size: s}}
  beside: {type: Cloud::Object}
"""


def test_drift_in_nested_stacks_is_recorded_by_path_and_repaired_in_its_place() -> None:
    with closing(World(types=TYPES)) as world:
        world.create(NESTED)
        world.settle()
        set_policy(world, mode="repair")
        first, second = sorted(each for each in world.cloud.objects if not each.startswith("beside"))
        world.cloud.sizes[first] = "l"
        del world.cloud.objects[second]
        world.cloud.log.clear()
        run(world)
        assert [(row.path, row.key) for row in drift(world)] == [("group/0", "size"), ("group/1", "")]
        assert world.state() == "UPDATE_COMPLETE"
        assert sorted(world.cloud.log) == [("change", "0"), ("make", "1")]
        run(world)
        assert drift(world) == []


ENVIRONMENT = "observation: {mode: detect, interval_seconds: 600, ignore: [b]}\n"


def policy_of(world: World) -> ObservationPolicy:
    turn = world.store.observation_turns.read(stack_id(world))
    assert turn is not None
    return turn.policy


def given(text: str) -> tuple[EnvironmentSource, ...]:
    return (EnvironmentSource(file="env.yaml", source=text),)


def test_an_environment_sets_parts_of_the_policy_over_those_of_the_project() -> None:
    with closing(World(observation={"*": {"mode": "repair", "gone": "report"}, "other": {}})) as world:
        world.create(TEMPLATE, environments=given(ENVIRONMENT))
        world.settle()
        assert policy_of(world) == ObservationPolicy.of(
            {"mode": "detect", "interval_seconds": 600, "gone": "report", "ignore": ["b"]}
        )
        set_policy(world, mode="repair")
        world.update(TEMPLATE)
        world.settle()
        assert policy_of(world).mode == "repair"
        world.update(TEMPLATE, environments=given(ENVIRONMENT))
        world.settle()
        assert policy_of(world).mode == "detect"
        world.create(TEMPLATE, name="t", project="other")
        other = world.store.stacks.find("t", project="other")
        assert world.store.observation_turns.read(other.id) is None


def test_a_wrong_part_in_an_environment_is_refused_with_its_place(world: World) -> None:
    with pytest.raises(InvalidInput) as refused:
        world.update(TEMPLATE, environments=given("observation: {mode: detect, interval: 5}\n"))
    assert "env.yaml:1" in str(refused.value)
    assert "observation.interval: is no part of an observation policy" in str(refused.value)


def test_metadata_in_the_template_name_what_is_no_drift(world: World) -> None:
    ignoring = TEMPLATE.replace(
        "properties: {value: v, size: s}",
        "properties: {value: v, size: s}\n    metadata: {ignore_drift: [size]}",
    )
    world.update(ignoring)
    world.settle()
    world.cloud.sizes[object_of(world, "a")] = "l"
    world.cloud.sizes[object_of(world, "b")] = "l"
    assert [row.path for row in observe(world)] == ["b"]


def test_what_is_protected_is_changed_back_in_place_and_never_replaced(world: World) -> None:
    set_policy(world, mode="repair", replace=True)
    protect(world.store, world.store.stacks.find("s", **ROOT), ["a", "b"])
    world.cloud.sizes[object_of(world, "a")] = "l"
    del world.cloud.objects[object_of(world, "b")]
    world.cloud.log.clear()
    run(world)
    assert world.cloud.log == [("change", "a")]
    (gone,) = [row for row in drift(world) if row.path == "b"]
    assert gone.standing is Standing.REPORTED
    assert "a protected resource is not replaced" in gone.why


def test_what_the_environment_restricts_is_only_reported(world: World) -> None:
    restricted = "resource_registry: {resources: {a: {restricted_actions: update}}}\n"
    world.update(TEMPLATE, environments=given(restricted))
    world.settle()
    set_policy(world, mode="repair")
    world.cloud.sizes[object_of(world, "a")] = "l"
    run(world)
    (row,) = drift(world)
    assert row.standing is Standing.REPORTED
    assert "restricted_actions" in row.why
