"""What engines of this kind are known to get wrong, and what shows that this one does not.

The stories that are told nowhere else are here, and in ``test_update_traps``, ``test_operation_traps`` and
``test_plugin_traps``. Each entry names a fault, and below it the tests that would notice it.

What is stored

- Of two operations at once, the one that lost is accepted all the same, and does nothing.
    test_update_faults::test_of_two_updates_at_once_the_one_that_comes_last_is_what_the_stack_becomes
    test_contract::test_of_two_racing_operations_one_takes_the_stack
- Whoever gets a lock late writes what it saw before over what others did meanwhile.
    test_traps::test_what_an_older_step_wrote_down_is_what_a_newer_one_starts_from
    test_traps::test_a_worker_that_comes_too_late_writes_nothing
    test_contract::test_two_signals_at_once_both_count
- The id of an object is lost when the database fails as it is written: nobody ever deletes the object.
    test_traps::test_an_object_whose_id_could_not_be_stored_is_found_again
- Some keys of people's own values are taken for the engine's notation.
    test_traps::test_a_key_of_any_form_travels_as_it_is
- A row that a newer operation counts on is removed, and that operation never ends.
    test_update_traps::test_what_was_never_begun_may_go_while_a_newer_update_wants_it
    test_update_faults::test_what_an_older_update_takes_away_while_a_newer_one_is_planned_is_made_again

What travels

- Which end of the graph comes first is mixed up.
    test_interleavings::test_a_stack_is_created_whatever_happens_to_messages_and_processes
    test_interleavings::test_a_stack_is_deleted_in_reverse_whatever_happens
- A message that finds no row is dropped, and the stack hangs.
    test_traps::test_a_message_for_what_is_not_there_hangs_nothing
    test_stories::test_an_emptied_broker_delays_and_harms_nothing
- A message that comes twice makes all that follow come twice.
    test_traps::test_a_message_that_comes_twice_makes_no_other_come_twice
- Each check reads the whole stack, so that the cost of all grows with the square of their number.
    test_traps::test_a_check_reads_nothing_of_the_stack_but_its_own_part
    test_update_cost::test_one_change_in_a_thousand_costs_two_messages_and_three_nodes
- Whatever waits keeps a worker; stacks that wait for stacks inside them keep all.
    test_stories::test_nobody_sleeps_in_a_worker_while_many_resources_are_built
    test_nested::test_nobody_holds_a_worker_while_a_child_is_under_way
- How far an action has come is known to one process alone, and dies with it.
    test_traps::test_what_is_under_way_outside_is_followed_by_whoever_is_there
- A create that is tried again is a deletion for a while, and a death then leaves a deleted resource.
    test_traps::test_a_create_that_is_tried_again_is_a_create_throughout
- What was asked of an operation as a whole (abandon, adopt, refresh) is lost on the way, for some resources or all.
    test_adoption::test_an_abandon_survives_a_death_at_any_instruction_and_touches_nothing
    test_adoption::test_an_abandon_ends_at_every_moment_of_another_operation_and_unmakes_nothing
    test_interrupted_adoptions::test_an_adoption_survives_a_death_at_any_instruction
    test_checks::test_a_refresh_looks_at_all_of_a_chain
    test_checks::test_a_refresh_repairs_whatever_dies_on_the_way

Updates

- A dependent that stays as it is goes on requiring what was replaced: a later deletion has no order.
    test_update_traps::test_a_dependent_that_stays_as_it_is_requires_the_new_one
- What is replaced seems to have been updated, until it is gone.
    test_update_traps::test_what_is_replaced_says_what_it_is_until_it_goes
- A replacement that cannot be made takes the original with it.
    test_update_traps::test_a_replacement_that_cannot_be_made_leaves_the_original_where_it_is
- A stack is in service only once everything old is gone; what cannot be taken away undoes all that works.
    test_update_traps::test_a_stack_is_in_service_before_what_was_replaced_is_gone
    test_unclean::test_everything_that_is_wanted_is_made_although_something_else_cannot_be_taken_away
    test_unclean::test_what_is_in_service_is_what_a_later_rollback_goes_back_to
    test_nested_unclean::test_nothing_is_undone_and_the_outermost_tells_why
- What could not be taken away comes back beside itself, as a second resource of its name.
    test_update_traps::test_what_cannot_be_taken_away_undoes_nothing_and_comes_back_as_nothing_else
- After a failure others still begin, or never will.
    test_update_traps::test_after_a_failure_nothing_new_begins_and_the_next_update_makes_the_rest
    test_updates::test_what_could_not_be_made_is_made_anew

Rollbacks

- A rollback goes to what was asked for last, which may never have worked.
    test_update_traps::test_a_rollback_brings_back_what_worked_and_not_what_was_asked_for_last
    test_updates::test_a_rollback_goes_back_beyond_updates_that_never_worked
- What a rollback adds is said to be there, and was never made.
    test_update_traps::test_a_rollback_claims_nothing_that_was_never_made
    test_update_traps::test_a_rollback_makes_what_it_brings_back
- Some other operation, a check for one, makes what failed the thing to go back to.
    test_checks::test_a_check_after_a_failed_update_does_not_make_its_definition_one_that_completed
- A rollback of a failed creation leaves resources, or takes the stack with it.
    test_updates::test_a_failed_create_leaves_nothing_where_that_was_asked
- A rollback of a failed adoption deletes what was there before.
    test_adoption::test_a_failed_adoption_that_is_rolled_back_leaves_everything_alone

Other operations

- A check or a suspend takes a stack over in the middle of an update, which stays half done.
    test_operations::test_nothing_is_begun_while_another_operation_is_under_way
    test_operations::test_a_rollback_that_is_owed_comes_first
- A snapshot is taken of what is half changed, or brought back over it.
    test_operation_traps::test_no_snapshot_is_taken_or_brought_back_in_the_middle_of_an_update
- The deletion of a stack waits for ever for a snapshot that is gone, or that cannot be deleted.
    test_operation_traps::test_a_deletion_ends_although_a_snapshot_is_gone_before_it_comes_to_it
    test_snapshots::test_snapshots_go_with_their_stack_whatever_dies
    test_snapshots::test_a_snapshot_that_cannot_be_deleted_keeps_no_stack_from_going
- A snapshot whose deletion fails is left as it is, by a mistake in that very part.
    test_snapshots::test_a_snapshot_that_cannot_be_deleted_may_be_tried_again
    test_snapshots::test_the_deletion_of_a_snapshot_survives_a_death_at_any_instruction
- A stack that is deleted, or could not be, is checked, suspended or resumed.
    test_operation_traps::test_a_stack_that_could_not_be_deleted_is_good_for_a_delete_only
- What waits to be taken away is suspended as well.
    test_operation_traps::test_what_waits_to_be_taken_away_is_left_alone_by_a_suspend
- What was never made is suspended, and complete.
    test_operations::test_only_what_is_in_use_is_suspended
- What an update adds never stops before it is made, and what it removes never before it is deleted.
    test_hooks::test_a_resource_that_an_update_adds_stops_before_it_is_made
    test_hooks::test_a_resource_that_an_update_removes_stops_before_it_is_deleted

Plugins

- One attribute that cannot be read fails the resource that has it, and so the stack.
    test_plugin_traps::test_an_attribute_that_cannot_be_read_fails_those_who_need_it_and_not_its_resource
    test_unread_attributes::test_what_is_asked_of_a_stack_in_a_stack_is_told_to_be_missing_through_it
- Whether a definition holds a resource depends on when it is asked.
    test_plugin_traps::test_what_a_definition_holds_does_not_depend_on_when_it_is_asked
- Whoever asks for what is no requirement is told something wrong instead of that.
    test_plugin_traps::test_what_is_no_direct_requirement_is_not_answered_for
- Inside a stack in a stack, the resource that it is may be another one of that name.
    test_plugin_traps::test_inside_is_seen_the_resource_that_the_stack_is_and_no_other_of_its_name
- Lifecycle plugins are not asked at all, or not told how it ended.
    test_plugin_traps::test_plugins_are_asked_before_each_operation_and_told_how_it_ended
    test_plugin_traps::test_an_operation_that_is_superseded_is_told_too
    test_plugin_traps::test_an_operation_that_a_plugin_refuses_touches_nothing
- The wrong ones are told after a refusal, or an error keeps others from being told.
    test_lifecycle::test_a_refusal_is_told_in_the_plugins_words_and_nothing_is_there
    test_lifecycle::test_a_failing_post_op_hides_nothing_and_stops_nobody
    test_brackets::test_brackets_match_whoever_refuses_raises_is_late_or_dies
- A plugin can change the stack, and is given it under a misleading name.
    test_lifecycle::test_a_plugin_that_tries_to_change_what_it_is_shown_fails_and_changes_nothing
    test_meddling::test_whoever_goes_round_what_is_frozen_changes_what_nobody_else_is_shown_then_or_later
"""

import re
from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from orchestrator.errors import Unavailable
from orchestrator.model.messages import CheckOrder
from orchestrator.planning.rows import node_data_of
from tests.scenarios.deaths import die_everywhere
from tests.scenarios.telling import deliver_all, patched, rows_of, said
from tests.scenarios.test_update_faults import die_after_claim, step
from tests.scenarios.test_updates import present, template, value
from tests.scenarios.world import World
from workers.resources.core.value import Value

# -- who writes what -----------------------------------------------------------------------------------------------


@pytest.mark.parametrize("late", [False, True])
def test_what_an_older_step_wrote_down_is_what_a_newer_one_starts_from(late: bool) -> None:
    """A step reads the row when it takes the lock: nothing that it saw before is written over what others did."""
    world = World()
    stack_id = world.create(template({"a": value("1", "s")}))
    world.stall(0)
    world.update(template({"a": value("1", "l")}))
    if late:
        # The newer step has tried, and waits for the lock.
        deliver_all(world)
    world.wake_stalled()
    world.settle()
    assert world.state() == "UPDATE_COMPLETE"
    (row,) = world.store.stacks.resources(stack_id)
    assert [*world.cloud.objects] == [row.physical_id]
    assert present(world) == {"a": ("1", "l")}
    assert world.cloud.log == [("make", "a"), ("change", "a")]


def test_a_worker_that_comes_too_late_writes_nothing() -> None:
    """What took over after the lease ended has the word; the id that the late one knows is not stored."""
    world = World()
    patched(world, find=lambda self: None)
    stack_id = world.create(template({"a": value("1")}))
    world.stall(0)
    world.sweep(after=61)
    deliver_all(world)
    (row,) = world.store.stacks.resources(stack_id)
    world.wake_stalled()
    world.settle()
    assert world.store.stacks.resources(stack_id) == [row]


@pytest.mark.parametrize("then", ["goes on", "is deleted"])
def test_an_object_whose_id_could_not_be_stored_is_found_again(then: str) -> None:
    """The database fails just when the id is to be written: the object is no orphan."""
    world = World()
    stack_id = world.create(template({"a": value("1"), "b": "depends_on: a"}))
    finishes = {name: vars(world.store.nodes)[name] for name in ("finish", "finish_batch")}

    def fails(*_: Any, **__: Any) -> Any:
        raise Unavailable("the database is away")

    vars(world.store.nodes).update(dict.fromkeys(finishes, fails))
    with pytest.raises(Unavailable):
        world.deliver()
    vars(world.store.nodes).update(finishes)
    assert len(world.cloud.objects) == 1
    assert world.store.stacks.resource(stack_id, "a").physical_id is None
    if then == "is deleted":
        world.delete()
        world.settle()
        assert world.state(stack_id) == "DELETE_COMPLETE"
        assert world.cloud.objects == {}
    else:
        world.settle()
        assert world.state() == "CREATE_COMPLETE"
        assert world.made_names() == ["a", "b"]


def test_a_key_of_any_form_travels_as_it_is() -> None:
    """Nothing in a value is taken for the engine's own notation."""
    world = World({"OS::Heat::Value": Value})
    odd = {"tuple:('a', 1)": {"tuple:(2)": [{"tuple:()": "x"}]}}
    source = f"""\
heat_template_version: wallaby
resources:
  a: {{type: OS::Heat::Value, properties: {{value: {odd!r}}}}}
  b: {{type: OS::Heat::Value, properties: {{value: {{get_attr: [a, value]}}}}}}
outputs:
  all: {{value: {{get_attr: [b, value]}}}}
"""
    stack_id = world.create(source)
    world.settle()
    (b,) = rows_of(world, stack_id)["b"]
    assert b.properties == {"value": odd}
    assert node_data_of(b).attributes == {("value",): odd}


# -- messages ------------------------------------------------------------------------------------------------------


def test_a_message_for_what_is_not_there_hangs_nothing() -> None:
    """Messages carry no state: one that finds nothing is dropped, and whatever is due is sent again."""
    world = World()
    world.create(template({"a": value("1"), "b": "depends_on: a"}))
    (order,) = world.messages
    strange: list[CheckOrder] = [
        replace(order, no=99),
        replace(order, traversal_id="gone"),
        replace(order, stack_id="gone", traversal_id="gone"),
    ]
    world.messages[:] = strange
    deliver_all(world)
    assert world.made_names() == []
    world.settle()
    assert world.state() == "CREATE_COMPLETE"
    assert world.made_names() == ["a", "b"]


@pytest.mark.parametrize("resources", [{"a": (), "b": ("a",), "c": ("a",), "d": ("b", "c"), "e": ("d",)}])
def test_a_message_that_comes_twice_makes_no_other_come_twice(
    resources: Mapping[str, Sequence[str]],
) -> None:
    """However often a step is announced, what follows is announced once."""

    def orders(*, twice: bool) -> list[str]:
        world = World()
        bodies = {
            name: f"depends_on: [{', '.join(others)}]" if others else "" for name, others in resources.items()
        }
        world.create(template(bodies))
        sent = []
        while world.messages:
            # One step at a time: a worker that carries on by itself would leave no messages to count.
            order = world.messages[0]
            sent.append(f"{order.phase} {order.key}")
            for _ in range(2 if twice else 1):
                world.messages.insert(0, order)
                step(world)
            world.messages.remove(order)
        assert world.state() == "CREATE_COMPLETE"
        assert sorted(world.made_names()) == sorted(resources)
        return sent

    assert sorted(orders(twice=True)) == sorted(orders(twice=False))


def test_a_check_reads_nothing_of_the_stack_but_its_own_part() -> None:
    """What a step costs does not grow with the stack: no template is read once the plan stands."""
    world = World()

    def read(*_: Any) -> Any:
        raise AssertionError("a check reads a whole template")

    world.create(template({"a": value("1"), "b": value("{get_attr: [a, value]}"), "c": "depends_on: b"}))
    world.store.templates.load = read  # type: ignore[assignment]
    world.store.stacks.resources = read  # type: ignore[assignment]
    deliver_all(world)
    assert world.state() == "CREATE_COMPLETE"


def test_what_is_under_way_outside_is_followed_by_whoever_is_there() -> None:
    """What a step must remember is stored: the next look is another worker's, and nothing is begun again."""
    world = World()
    world.cloud.polls = {"a": 300}
    began = world.now
    world.create(template({"a": value("1")}))
    deliver_all(world)
    world.sweep(after=200.0)
    die_after_claim(world)
    world.settle()
    assert world.state() == "CREATE_COMPLETE"
    assert world.made_names() == ["a"]
    # Counted from the beginning, not from the death.
    assert 300 <= world.now - began < 300 + 61


@die_everywhere
def test_a_create_that_is_tried_again_is_a_create_throughout(instruction: int) -> None:
    """No state on the way says that the resource is, or is being, deleted; wherever a worker dies."""
    world = World()
    world.cloud.failing = {"a": 3}
    stack_id = world.create(template({"a": value("1")}))
    world.cloud.crash_after(instruction)
    world.survive(world.settle)
    world.cloud.crash_at = None
    world.settle()
    assert world.state() == "CREATE_COMPLETE"
    assert len(world.cloud.objects) == 1
    assert {each.partition("_")[0] for each in said(world, stack_id, "a")} == {"CREATE"}


# -- the table -----------------------------------------------------------------------------------------------------


def test_every_test_of_the_table_is_there() -> None:
    root = Path(__file__).parents[1]
    named = re.findall(r"(\w+)::(\w+)", __doc__ or "")
    assert len(named) > 50
    missing = [
        f"{file}::{name}"
        for file, name in named
        if not any(f"def {name}(" in path.read_text() for path in root.rglob(f"{file}.py"))
    ]
    assert missing == []
