"""What every store promises to updates: effective actions, what goes on, replacements, quiet nodes."""

import pytest

from orchestrator.model.messages import CLEANUP, CONVERGE, END, JOIN, CheckOrder
from orchestrator.store import tables
from orchestrator.store.nodes.claims import Ending
from tests.unit.orchestrator.store.conftest import Bench
from tests.unit.orchestrator.store.updating import (
    RECORDED,
    begin_delete,
    begin_update,
    created,
    end,
    keys,
    node_of,
    pass_on,
    rows_of,
    update_of,
)

# -- claim -----------------------------------------------------------------------------------------------------


def test_what_is_still_to_be_made_is_created_although_an_update_was_planned(bench: Bench) -> None:
    bench.begin({"a": set()})
    (order,) = begin_update(bench, {"a": set()})
    claim = bench.claim(order)
    assert (claim.action, claim.was) == ("CREATE", ("INIT", "COMPLETE"))


def test_a_create_that_was_interrupted_is_gone_on_with(bench: Bench) -> None:
    (a,) = bench.begin({"a": set()})
    end(bench, bench.claim(a), Ending.WAITING)
    (order,) = begin_update(bench, {"a": set()})
    claim = bench.claim(order)
    assert (claim.action, claim.was) == ("CREATE", ("CREATE", "IN_PROGRESS"))
    assert (claim.started, claim.token) == (True, "token")


def test_what_was_made_is_updated(bench: Bench) -> None:
    created(bench, {"a": set()})
    (order,) = begin_update(bench, {"a": set()})
    claim = bench.claim(order)
    assert (claim.action, claim.was, claim.started) == ("UPDATE", ("CREATE", "COMPLETE"), False)
    row = bench.store.stacks.resource("s-id", "a")
    assert (row.action, row.status) == ("UPDATE", "IN_PROGRESS")


def test_a_row_whose_type_another_takes_the_place_of_is_of_that_from_the_beginning(bench: Bench) -> None:
    created(bench, {"a": set(), "b": set()})
    (order, _) = begin_update(bench, {"a": set(), "b": set()}, other_types={"a": "Other"})
    claim = bench.claim(order)
    assert (claim.order.key, claim.type, claim.action) == ("a", "Other", "UPDATE")
    assert {row.name: row.type for row in bench.store.stacks.resources("s-id")} == {"a": "Other", "b": "Test"}


def test_an_update_that_was_interrupted_keeps_its_token_and_when_it_began(bench: Bench) -> None:
    created(bench, {"a": set()})
    (first,) = begin_update(bench, {"a": set()})
    began = bench.claim(first)
    end(bench, began, Ending.WAITING)
    bench.clock.pass_(5)
    (second,) = begin_update(bench, {"a": set()}, number=3)
    claim = bench.claim(second)
    assert (claim.action, claim.was, claim.token) == ("UPDATE", ("UPDATE", "IN_PROGRESS"), "token")
    assert claim.started_at == began.started_at


def test_a_waiting_step_keeps_the_reference_id_that_others_know(bench: Bench) -> None:
    created(bench, {"a": set()})
    (order,) = begin_update(bench, {"a": set()})
    end(bench, bench.claim(order), Ending.WAITING)
    assert bench.store.stacks.resource("s-id", "a").reference_id == "reference-a"


def test_what_failed_stays_failed_while_it_is_worked_on_and_however_often(bench: Bench) -> None:
    (a,) = bench.begin({"a": set()})
    end(bench, bench.claim(a), Ending.FAILED)
    (order,) = begin_update(bench, {"a": set()})
    claim = bench.claim(order)
    assert (claim.action, claim.was) == ("UPDATE", ("CREATE", "FAILED"))
    bench.clock.pass_(61)
    again = next(each for each in bench.sweep() if each.phase == CONVERGE)
    claim = bench.claim(again)
    assert (claim.action, claim.was) == ("UPDATE", ("CREATE", "FAILED"))
    end(bench, claim, Ending.DONE)
    row = bench.store.stacks.resource("s-id", "a")
    assert (row.action, row.status) == ("UPDATE", "COMPLETE")


def test_what_an_older_traversal_took_away_is_told_to_be_gone(bench: Bench) -> None:
    created(bench, {"a": set()})
    (gone,) = begin_update(bench, {})
    old = bench.claim(gone)
    (order,) = begin_update(bench, {"a": set()}, number=3)
    assert bench.store.nodes.claim(order, worker="w") is None
    woken = next(each for each in end(bench, old, Ending.DONE).ready if each.phase == CONVERGE)
    claim = bench.claim(woken)
    assert (claim.action, claim.was) == ("UPDATE", ("DELETE", "COMPLETE"))


# -- what goes on ----------------------------------------------------------------------------------------------


def test_a_node_goes_on_when_what_it_ended_was_begun_for_another_definition(bench: Bench) -> None:
    (a,) = bench.begin({"a": set()})
    end(bench, bench.claim(a), Ending.WAITING)
    (order,) = begin_update(bench, {"a": set()})
    finished = end(bench, bench.claim(order), Ending.NEXT)
    assert [(each.phase, each.key) for each in finished.ready] == [(CONVERGE, "a")]
    claim = bench.claim(finished.ready[0])
    assert (claim.action, claim.was, claim.started) == ("UPDATE", ("CREATE", "COMPLETE"), False)
    assert [(each.phase, each.key) for each in end(bench, claim, Ending.DONE).ready] == [(JOIN, "a")]


def test_a_replacement_takes_the_name_and_what_was_goes_when_all_have_moved_over(bench: Bench) -> None:
    created(bench, {"a": set()})
    (order,) = begin_update(bench, {"a": set()})
    finished = end(bench, bench.claim(order), Ending.REPLACE)
    old, new = sorted(bench.store.stacks.resources("s-id"), key=lambda row: row.id == "replacement")
    assert (old.action, old.status, old.replaced_by) == ("CREATE", "COMPLETE", "replacement")
    assert (new.action, new.status, new.requires) == ("INIT", "COMPLETE", old.requires)
    assert not node_of(bench, "a", CLEANUP).quiet
    claim = bench.claim(finished.ready[0])
    assert (claim.action, claim.resource_id, claim.fragment["old"]) == ("CREATE", "replacement", False)
    (cleanup,) = end(bench, claim, Ending.DONE).ready
    assert (cleanup.phase, bench.claim(cleanup).resource_id) == (CLEANUP, "s-a")


@pytest.mark.parametrize("ending", [Ending.NEXT, Ending.REPLACE, Ending.RETRY])
def test_a_superseded_traversal_does_not_go_on_and_wakes_who_waits(bench: Bench, ending: Ending) -> None:
    created(bench, {"a": set()})
    (order,) = begin_update(bench, {"a": set()})
    old = bench.claim(order)
    (newer,) = begin_update(bench, {"a": set()}, number=3)
    assert bench.store.nodes.claim(newer, worker="w") is None
    finished = end(bench, old, ending)
    assert [(each.traversal_id, each.key) for each in finished.ready] == [("s-t3", "a")]
    (row,) = bench.store.stacks.resources("s-id")
    assert row.replaced_by is None
    assert row.action == ("UPDATE" if ending is Ending.NEXT else "CREATE")
    assert row.status == "COMPLETE"
    assert node_of(bench, "a", CONVERGE).state == "superseded"


@pytest.mark.parametrize("ending", [Ending.NEXT, Ending.REPLACE, Ending.RETRY])
def test_a_failed_traversal_does_not_go_on_and_comes_to_rest(bench: Bench, ending: Ending) -> None:
    created(bench, {"a": set(), "b": set()})
    orders = {order.key: order for order in begin_update(bench, {"a": set(), "b": set()})}
    claim = bench.claim(orders["a"])
    end(bench, bench.claim(orders["b"]), Ending.FAILED)
    end(bench, claim, ending)
    bench.clock.pass_(1000)
    assert [each.phase for each in bench.sweep()] == [END]
    assert len(bench.store.stacks.resources("s-id")) == 2


def test_what_waits_for_another_try_at_what_has_not_begun_never_begins_once_its_traversal_failed(
    bench: Bench,
) -> None:
    created(bench, {"a": set(), "b": set()})
    orders = {order.key: order for order in begin_update(bench, {"a": set(), "b": set()})}
    assert end(bench, bench.claim(orders["a"]), Ending.RETRY).ready == ()
    assert node_of(bench, "a", CONVERGE).state == "waiting"
    end(bench, bench.claim(orders["b"]), Ending.FAILED)
    bench.clock.pass_(1000)
    assert [each.phase for each in bench.sweep()] == [END]


def test_a_plan_that_does_not_know_a_replacement_is_not_begun(bench: Bench) -> None:
    created(bench, {"a": set()})
    (order,) = begin_update(bench, {"a": set()})
    end(bench, bench.claim(order), Ending.REPLACE)
    assert begin_update(bench, {"a": set()}, number=3, known=["s-a"]) == ()
    assert bench.store.stacks.find("s", project="p").traversal_id == "s-t2"
    assert node_of(bench, "a", CONVERGE).state == "ready"
    assert begin_delete(bench, number=3)


# -- quiet nodes -----------------------------------------------------------------------------------------------


def test_what_depends_on_what_stayed_the_same_is_passed_on(bench: Bench) -> None:
    created(bench, {"a": set(), "b": {"a"}, "c": {"b"}})
    (order,) = begin_update(bench, {"a": set(), "b": {"a"}, "c": {"b"}}, clean=["b", "c"])
    ready = end(bench, bench.claim(order), Ending.DONE, changed=False).ready
    assert {each.phase for each in ready} == {JOIN}
    assert keys(pass_on(bench, ready)) == [(END, "")]


def test_what_depends_on_what_changed_is_visited_and_what_depends_on_that_only_if_it_changes(
    bench: Bench,
) -> None:
    created(bench, {"a": set(), "b": {"a"}, "c": {"b"}})
    (order,) = begin_update(bench, {"a": set(), "b": {"a"}, "c": {"b"}}, clean=["b", "c"])
    (b,) = pass_on(bench, end(bench, bench.claim(order), Ending.DONE, changed=True).ready)
    assert (b.phase, b.key) == (CONVERGE, "b")
    ready = end(bench, bench.claim(b), Ending.DONE, changed=False).ready
    assert keys(pass_on(bench, ready)) == [(END, "")]


def test_that_something_changed_goes_through_joins(bench: Bench) -> None:
    many = {f"r{number:03}": set[str]() for number in range(100)}
    created(bench, {**many, "last": set(many)})
    orders = begin_update(bench, {**many, "last": set(many)}, clean=["last"])
    left: list[CheckOrder] = []
    for order in orders:
        changed = order.key == "r042"
        left += pass_on(bench, end(bench, bench.claim(order), Ending.DONE, changed=changed).ready)
    assert keys(left) == [(CONVERGE, "last")]


def test_a_quiet_node_gives_what_is_on_record(bench: Bench) -> None:
    created(bench, {"a": set(), "b": {"a"}, "c": {"b"}})
    (order,) = begin_update(bench, {"a": set(), "b": {"a"}, "c": {"b"}}, clean=["b"])
    (c,) = pass_on(bench, end(bench, bench.claim(order), Ending.DONE, changed=False).ready)
    claim = bench.claim(c)
    assert bench.store.nodes.inputs(claim) == [RECORDED]
    assert claim.recorded == RECORDED


def test_a_resource_that_stays_the_same_has_the_new_definition_once_it_is_passed_on(bench: Bench) -> None:
    created(bench, {"a": set(), "b": {"a"}, "c": set()})
    (order,) = begin_update(bench, {"a": set(), "b": {"a"}, "c": set()}, clean=["b", "c"])
    ready = end(bench, bench.claim(order), Ending.DONE, changed=False).ready
    history = bench.store.histories.read("s-id", "s-t2")
    assert {key: fragment.get("n") for key, fragment in history.applied.items()} == {
        "s-a": 2,
        "s-b": None,
        "s-c": None,
    }
    pass_on(bench, ready)
    history = bench.store.histories.read("s-id", "s-t2")
    assert {key: fragment.get("n") for key, fragment in history.applied.items()} == {
        "s-a": 2,
        "s-b": 2,
        "s-c": None,
    }
    assert history.planned == history.applied


def test_what_is_done_from_the_start_gives_what_is_on_record(bench: Bench) -> None:
    created(bench, {"a": set(), "b": {"a"}})
    (order,) = begin_update(bench, {"a": set(), "b": {"a"}}, clean=["a"])
    assert order.key == "b"
    sent = CheckOrder(
        stack_id="s-id", traversal_id="s-t2", no=order.no, key="b", phase=CONVERGE, stack="s", node_data=None
    )
    assert bench.store.nodes.inputs(bench.claim(sent)) == [RECORDED]


def test_a_quiet_node_whose_message_was_lost_is_published_again_as_a_join(bench: Bench) -> None:
    created(bench, {"a": set(), "b": {"a"}})
    (order,) = begin_update(bench, {"a": set(), "b": {"a"}}, clean=["b"])
    end(bench, bench.claim(order), Ending.DONE, changed=False)
    bench.clock.pass_(11)
    again = bench.sweep()
    assert keys(again) == [(JOIN, "a"), (JOIN, "b")]
    assert keys(pass_on(bench, again)) == [(END, "")]
    assert not bench.store.nodes.release_join(again[0]).accepted


def test_a_node_that_has_work_is_no_join_whoever_says_so(bench: Bench) -> None:
    created(bench, {"a": set(), "b": {"a"}})
    (order,) = begin_update(bench, {"a": set(), "b": {"a"}}, clean=["b"])
    (b,) = pass_on(bench, end(bench, bench.claim(order), Ending.DONE, changed=True).ready)
    assert not bench.store.nodes.release_join(b).accepted
    assert bench.store.nodes.claim(b, worker="w") is not None


# -- what is planned with --------------------------------------------------------------------------------------


def test_the_history_tells_what_was_planned_from_what_was_done(bench: Bench) -> None:
    created(bench, {"a": set(), "b": {"a"}})
    (order,) = begin_update(bench, {"a": set(), "b": {"a"}})
    assert bench.store.histories.read("s-id", "s-t2").unsettled == {"s-a", "s-b"}
    end(bench, bench.claim(order), Ending.DONE)
    history = bench.store.histories.read("s-id", "s-t2")
    assert {key: fragment.get("n") for key, fragment in history.planned.items()} == {"s-a": 2, "s-b": 2}
    assert {key: fragment.get("n") for key, fragment in history.applied.items()} == {"s-a": 2, "s-b": None}


def test_a_failed_traversal_changes_nothing_more_than_it_has_begun(bench: Bench) -> None:
    created(bench, {"a": set(), "b": set(), "c": set()})
    orders = {order.key: order for order in begin_update(bench, {"a": set(), "b": set(), "c": set()})}
    bench.claim(orders["a"])
    end(bench, bench.claim(orders["b"]), Ending.FAILED)
    assert bench.store.histories.read("s-id", "s-t2").unsettled == {"s-a"}


@pytest.mark.parametrize("expected", ["s-t0", "s-t9"])
def test_update_that_expects_another_operation_begins_nothing(bench: Bench, expected: str) -> None:
    created(bench, {"a": set()})
    new = update_of(bench, {"a": set(), "b": set()})
    assert bench.store.traversal_starts.begin_next(new, expected=expected) is None
    assert bench.store.stacks.find("s-id", project="p").traversal_id == "s-t1"
    assert [row.name for row in rows_of(bench)] == ["a"]


def test_resources_of_a_tree_are_counted_without_those_that_are_gone(bench: Bench) -> None:
    created(bench, {"a": set(), "b": set(), "c": set()})
    bench.begin({"x": set()}, stack="other")
    gone = (
        tables.resource.update()
        .where(tables.resource.c.name == "a")
        .values(action="DELETE", status="COMPLETE")
    )
    inside = tables.stack.update().where(tables.stack.c.id == "other-id").values(root_id="s-id")
    with bench.store.database.write() as connection:
        connection.execute(gone)
        connection.execute(inside)
    bench.begin({"y": set()}, stack="zebra")
    tree = bench.store.families.in_tree("s-id")
    assert {row.id for row in tree} == {"s-id", "other-id"}
    assert bench.store.families.count_in_tree("s-id", besides="none") == 3
    assert bench.store.families.count_in_tree("s-id", besides="s-id") == 1


def test_trouble_at_any_depth_is_that_of_the_row_above_it(bench: Bench) -> None:
    """The rows of the stack itself are named, whose nested stacks need a visit."""
    created(bench, {"a": set(), "b": set()})
    above = {
        "in-a": ("s-id", "s-a"),
        "in-b": ("s-id", "s-b"),
        "deep": ("in-a-id", "in-a-x"),
        "deeper": ("deep-id", "deep-x"),
    }
    for depth, (name, (parent, row)) in enumerate(above.items(), 1):
        bench.begin({"x": set()}, stack=name)
        place = {"parent_id": parent, "parent_resource": row, "root_id": "s-id", "depth": depth}
        with bench.store.database.write() as connection:
            connection.execute(
                tables.stack.update()
                .where(tables.stack.c.id == f"{name}-id")
                .values(status="COMPLETE", **place)
            )
            connection.execute(tables.resource.update().values(status="COMPLETE"))
    root = bench.store.stacks.find("s-id", project="p")
    assert bench.store.families.troubled(root) == frozenset()
    unhealthy = (
        tables.resource.update().where(tables.resource.c.stack_id == "deeper-id").values(unhealthy=True)
    )
    with bench.store.database.write() as connection:
        connection.execute(unhealthy)
    assert bench.store.families.troubled(root) == {"s-a"}


def test_attribute_that_could_not_be_read_has_its_reason_and_no_value(bench: Bench) -> None:
    created(bench, {"a": set()})
    entries = [(["read"], 1), (["unread"], None, "the disk is full")]
    packed = bench.store.codec.pack(entries, ("resource", "attributes", "s-a"))
    with bench.store.database.write() as connection:
        connection.execute(tables.resource.update().values(attributes=packed))
    (row,) = bench.store.stacks.resources("s-id")
    assert [tuple(path) for path, _ in row.attributes] == [("read",)]
    assert [(tuple(path), reason) for path, reason in row.unread] == [(("unread",), "the disk is full")]
