"""What every store promises to those who look on: an operation whole, and the events of all stacks."""

import pytest

from orchestrator.errors import NotFound
from orchestrator.model.messages import END
from orchestrator.store import tables
from orchestrator.store.nodes.claims import Ending
from orchestrator.views.facts import Facts, NodeFact
from tests.unit.orchestrator.store.conftest import Bench
from tests.unit.orchestrator.store.updating import begin_delete, created


def by_key(facts: Facts) -> dict[str, NodeFact]:
    return {node.key: node for node in facts.nodes if node.phase != END}


def test_an_operation_is_told_whole_while_it_is_under_way(bench: Bench) -> None:
    a, c = bench.begin({"a": set(), "b": {"a"}, "c": set()})
    began = bench.clock.now
    bench.run(a)
    bench.clock.pass_(5)
    bench.claim(c, worker="somebody")
    facts = bench.store.observations.facts("s-id", "s-t1")
    operation, nodes = facts.operation, by_key(facts)
    assert (operation.stack, operation.stack_id, operation.project) == ("s", "s-id", "p")
    assert (operation.action, operation.status, operation.stack_state) == (
        "CREATE",
        "IN_PROGRESS",
        "CREATE_IN_PROGRESS",
    )
    assert (operation.begun_at, operation.ended_at, operation.in_force) == (began, None, True)
    assert operation.deadline == began + 3600
    assert {key: node.state for key, node in nodes.items()} == {"a": "done", "b": "ready", "c": "running"}
    assert nodes["b"].no in nodes["a"].dependents
    assert nodes["c"].worker == "somebody"
    assert nodes["c"].due_at == began + 65
    assert {key: node.attempt for key, node in nodes.items()} == {"a": 1, "b": 0, "c": 1}
    done = nodes["a"]
    assert (done.type, done.physical_id, done.resource_id) == ("Test", "physical-a", "s-a")
    assert (done.resource_action, done.resource_status) == ("CREATE", "COMPLETE")
    assert [(event.resource, event.status) for event in facts.events] == [
        ("a", "IN_PROGRESS"),
        ("a", "COMPLETE"),
        ("c", "IN_PROGRESS"),
    ]
    assert facts.cursor == facts.events[-1].id
    assert facts.as_of == began + 5
    assert not facts.trimmed
    assert sum(node.phase == END for node in facts.nodes) == 1


def test_what_failed_says_why_and_what_depends_on_it_stays_blocked(bench: Bench) -> None:
    (a,) = bench.begin({"a": set(), "b": {"a"}})
    bench.finish(bench.claim(a), Ending.FAILED, reason="no room")
    facts = bench.store.observations.facts("s-id", "s-t1")
    assert (facts.operation.status, "no room" in facts.operation.reason) == ("FAILED", True)
    assert facts.operation.stack_state == "CREATE_FAILED"
    assert {key: node.state for key, node in by_key(facts).items()} == {"a": "failed", "b": "blocked"}
    assert (by_key(facts)["a"].reason, facts.events[-1].reason) == ("no room", "no room")


def test_a_past_operation_is_told_as_it_ended_and_the_one_in_force_beside_it(bench: Bench) -> None:
    created(bench, {"a": set()})
    begin_delete(bench)
    past = bench.store.observations.facts("s-id", "s-t1")
    assert (past.operation.action, past.operation.status, past.operation.in_force) == (
        "CREATE",
        "COMPLETE",
        False,
    )
    assert past.operation.ended_at is not None
    assert {event.action for event in past.events} == {"CREATE"}
    now = bench.store.observations.operation("s-id", "s-t2")
    assert (now.action, now.status, now.in_force) == ("DELETE", "IN_PROGRESS", True)
    assert bench.store.observations.operation("s-id", "s-t1") == past.operation


def test_an_operation_of_another_stack_is_not_found(bench: Bench) -> None:
    bench.begin({"a": set()})
    bench.begin({"a": set()}, stack="other")
    for traversal_id in ("other-t1", "nonsense"):
        with pytest.raises(NotFound, match="no traversal"):
            bench.store.observations.facts("s-id", traversal_id)


def test_an_operation_of_which_something_is_gone_says_so(bench: Bench) -> None:
    created(bench, {"a": set(), "b": {"a"}})
    observations = bench.store.observations
    bench.store.purger.trim_events("s-id", most=1)
    facts = observations.facts("s-id", "s-t1")
    assert (facts.trimmed, len(facts.nodes), len(facts.events)) == (True, 3, 0)
    with bench.store.database.write() as connection:
        connection.execute(tables.traversal.update().values(counted="{}"))
    assert not observations.facts("s-id", "s-t1").trimmed
    with bench.store.database.write() as connection:
        connection.execute(tables.node.delete().where(tables.node.c.phase == END))
    assert observations.facts("s-id", "s-t1").trimmed


@pytest.mark.parametrize(("outer", "middle"), [("outer", "middle"), ("middle", "outer")])
def test_a_stack_in_a_stack_is_told_with_those_it_is_in(bench: Bench, outer: str, middle: str) -> None:
    for stack in (outer, middle, "s"):
        bench.begin({"a": set()}, stack=stack)
    inside = {middle: (f"{outer}-id", f"{outer}-a"), "s": (f"{middle}-id", f"{middle}-a")}
    with bench.store.database.write() as connection:
        for name, (parent, row) in inside.items():
            values = {"parent_id": parent, "parent_resource": row, "root_id": f"{outer}-id"}
            connection.execute(tables.stack.update().where(tables.stack.c.name == name).values(**values))
    observations = bench.store.observations
    assert observations.operation("s-id", "s-t1").within == ((outer, f"{outer}-id"), (middle, f"{middle}-id"))
    facts = observations.facts(f"{middle}-id", f"{middle}-t1")
    assert by_key(facts)["a"].nested_stack_id == "s-id"
    assert by_key(observations.facts("s-id", "s-t1"))["a"].nested_stack_id is None


def test_events_of_all_stacks_follow_each_other_in_pages(bench: Bench) -> None:
    created(bench, {"a": set()})
    bench.begin({"x": set()}, stack="other")
    observations = bench.store.observations
    found, cursor = [], 0
    while page := observations.events_after(cursor, 2):
        found += page
        cursor = page[-1].id
    assert [event.id for event in found] == sorted(event.id for event in found)
    assert [(event.stack, event.resource, f"{event.action}_{event.status}") for event in found] == [
        ("s", "", "CREATE_IN_PROGRESS"),
        ("s", "a", "CREATE_IN_PROGRESS"),
        ("s", "a", "CREATE_COMPLETE"),
        ("s", "", "CREATE_COMPLETE"),
        ("other", "", "CREATE_IN_PROGRESS"),
    ]
    assert cursor == observations.horizon.look()
    assert {(event.project, event.stack_id, event.root_id) for event in found} == {
        ("p", "s-id", "s-id"),
        ("p", "other-id", "other-id"),
    }
    assert observations.events_after(0, 100, up_to=found[1].id) == found[:2]
