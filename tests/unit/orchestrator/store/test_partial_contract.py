"""What every store promises of updates with targets: what they leave is on record until the whole stack is complete."""

from dataclasses import replace

import pytest

from orchestrator.store.stacks.stacks import StackRow
from orchestrator.store.traversals.new_traversal import NewTraversal
from tests.unit.orchestrator.store.conftest import Bench
from tests.unit.orchestrator.store.updating import orders_of, update_of

LEFT = ("b", "it's")


@pytest.fixture
def at_rest(bench: Bench) -> Bench:
    bench.run_all(bench.begin({"a": set(), "b": set()}))
    return bench


def stack_of(bench: Bench) -> StackRow:
    return bench.store.stacks.find("s", project="p")


def begin(bench: Bench, *, number: int = 2, left: tuple[str, ...] = LEFT) -> NewTraversal:
    new = update_of(bench, {"a": set()}, number=number)
    new = replace(new, template_id=f"template-{number}", not_converged=("a", *left), left=left)
    begun = bench.store.traversal_starts.begin_next(new, expected=f"s-t{number - 1}")
    assert begun is not None
    return begun


def test_what_is_left_is_on_record_and_the_last_complete_definition_stays(at_rest: Bench) -> None:
    whole = stack_of(at_rest)
    assert whole.partial == ()
    new = begin(at_rest)
    assert stack_of(at_rest).partial == ("a", *LEFT)
    at_rest.run_all(orders_of(new))
    stack = stack_of(at_rest)
    assert (stack.action, stack.status, stack.partial) == ("UPDATE", "COMPLETE", LEFT)
    assert (stack.template_id, stack.completed_template_id) == ("template-2", whole.completed_template_id)
    assert not at_rest.store.stacks.in_service(stack)


def test_nothing_left_is_a_complete_definition(at_rest: Bench) -> None:
    at_rest.run_all(orders_of(begin(at_rest)))
    at_rest.run_all(orders_of(begin(at_rest, number=3, left=())))
    stack = stack_of(at_rest)
    assert (stack.partial, stack.completed_template_id) == ((), "template-3")
    assert at_rest.store.stacks.in_service(stack)


def test_an_update_of_the_whole_stack_empties_it_once_it_is_complete(at_rest: Bench) -> None:
    at_rest.run_all(orders_of(begin(at_rest)))
    new = replace(update_of(at_rest, {"a": set(), "b": set()}, number=3), template_id="template-3")
    assert at_rest.store.traversal_starts.begin_next(new, expected="s-t2") is not None
    assert stack_of(at_rest).partial == LEFT
    at_rest.run_all(orders_of(new))
    assert (stack_of(at_rest).partial, stack_of(at_rest).completed_template_id) == ((), "template-3")


def test_one_that_fails_leaves_what_it_was_to_visit_as_well(at_rest: Bench) -> None:
    whole = stack_of(at_rest)
    begin(at_rest)
    at_rest.store.traversals.cancel("s-t2", reason="why", job_id="cancel")
    stack = stack_of(at_rest)
    assert (stack.status, stack.partial) == ("FAILED", ("a", *LEFT))
    assert stack.completed_template_id == whole.completed_template_id
