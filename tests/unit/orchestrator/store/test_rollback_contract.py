"""What every store promises to rollbacks and cancels."""

import pytest

from orchestrator.model.messages import END
from orchestrator.store.nodes.claims import Ending
from tests.unit.orchestrator.store.conftest import Bench


@pytest.mark.parametrize("rollback", [True, False])
def test_a_rollback_is_owed_from_the_failure_until_the_last_words_are_said(
    bench: Bench, *, rollback: bool
) -> None:
    (a,) = bench.begin({"a": set()}, rollback=rollback)
    owes = bench.store.traversals.owes_rollback
    assert not owes(a.traversal_id)
    (end,) = bench.finish(bench.claim(a), Ending.FAILED, reason="no luck").ready
    assert owes(a.traversal_id) is rollback
    ending = bench.store.traversals.claim_end(end, worker="c")
    assert ending is not None
    assert bool(ending.options.get("rollback")) is rollback
    assert owes(a.traversal_id) is rollback
    bench.store.traversals.finish_end(ending)
    assert not owes(a.traversal_id)


def test_a_cancel_fails_what_is_under_way_and_owes_nothing(bench: Bench) -> None:
    (a,) = bench.begin({"a": set(), "b": {"a"}}, rollback=True)
    claim = bench.claim(a)
    end = bench.store.traversals.cancel(a.traversal_id, reason="enough", job_id="1")
    assert end is not None
    assert end.phase == END
    assert not bench.store.traversals.owes_rollback(a.traversal_id)
    stack = bench.store.stacks.find("s", project="p")
    assert (stack.status, stack.reason) == ("FAILED", "enough")
    job = bench.store.stacks.job("1")
    assert job is not None
    assert (job.status, job.stack_id) == ("accepted", "s-id")
    assert bench.finish(claim).accepted
    assert bench.store.traversals.cancel(a.traversal_id, reason="again", job_id="1") is None


@pytest.mark.parametrize("rollback", [False, True])
def test_whether_a_definition_was_to_be_rolled_back_is_known_afterwards(bench: Bench, rollback: bool) -> None:
    (a,) = bench.begin({"a": set()}, rollback=rollback)
    bench.finish(bench.claim(a), Ending.FAILED)
    assert bench.store.stacks.find("s", project="p").rollback is rollback
