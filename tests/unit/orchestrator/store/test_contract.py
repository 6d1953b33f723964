"""What every store promises: claim, finish, sweep, wake, traversals. One suite for all of them."""

import threading

import pytest
import sqlalchemy as sa

from orchestrator.errors import Conflict
from orchestrator.model.messages import CONVERGE, END, CheckOrder
from orchestrator.store.nodes.claims import Ending, Outcome
from tests.unit.orchestrator.store.conftest import Bench
from tests.unit.orchestrator.store.updating import begin_delete


def keys(orders: tuple[CheckOrder, ...] | list[CheckOrder]) -> list[str]:
    return sorted(order.key for order in orders if order.phase == CONVERGE)


def test_dependents_become_ready_when_the_last_requirement_is_done(bench: Bench) -> None:
    a, b = bench.begin({"a": set(), "b": set(), "c": {"a", "b"}})
    assert bench.run(a) == ()
    (c,) = bench.run(b)
    assert c.key == "c"
    assert c.node_data is not None
    assert len(c.node_data) == 2


def test_a_node_is_given_the_data_of_its_direct_requirements_only(bench: Bench) -> None:
    (a,) = bench.begin({"a": set(), "b": {"a"}, "c": {"b"}})
    (b,) = bench.run(a)
    (c,) = bench.run(b)
    inputs = bench.store.nodes.inputs(bench.claim(c))
    assert [data[1] for data in inputs] == ["b"]


def test_many_requirements_are_read_from_the_store_and_not_sent(bench: Bench) -> None:
    many = {f"r{number}": set[str]() for number in range(200)}
    ready = tuple(bench.begin({**many, "last": set(many)}))
    while not (len(ready) == 1 and ready[0].key == "last"):
        order, *rest = ready
        released = (
            bench.run(order) if order.phase == CONVERGE else bench.store.nodes.release_join(order).ready
        )
        ready = (*rest, *released)
    assert ready[0].node_data is None
    assert len(bench.store.nodes.inputs(bench.claim(ready[0]))) == 200


def test_only_one_of_two_claims_gets_the_node(bench: Bench) -> None:
    (a,) = bench.begin({"a": set()})
    assert bench.store.nodes.claim(a, worker="one") is not None
    assert bench.store.nodes.claim(a, worker="two") is None


def test_racing_claims_of_many_threads_have_one_winner(bench: Bench) -> None:
    (a,) = bench.begin({"a": set()})
    won: list[str] = []
    start = threading.Barrier(8)

    def race(name: str) -> None:
        start.wait()
        if bench.store.nodes.claim(a, worker=name) is not None:
            won.append(name)

    threads = [threading.Thread(target=race, args=(str(number),)) for number in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(won) == 1


def test_racing_finishes_release_a_dependent_exactly_once(bench: Bench) -> None:
    names = [f"r{number}" for number in range(8)]
    orders = bench.begin({**{name: set() for name in names}, "last": set(names)})
    claims = [bench.claim(order) for order in orders]
    released: list[CheckOrder] = []
    start = threading.Barrier(8)

    def finish(index: int) -> None:
        start.wait()
        released.extend(bench.finish(claims[index]).ready)

    threads = [threading.Thread(target=finish, args=(number,)) for number in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert keys(released) == ["last"]


def test_a_claim_records_the_intent_before_anything_happens(bench: Bench) -> None:
    (a,) = bench.begin({"a": set()})
    bench.claim(a)
    row = bench.store.stacks.resource("s-id", "a")
    assert (row.action, row.status) == ("CREATE", "IN_PROGRESS")


def test_a_finish_under_an_old_attempt_changes_nothing(bench: Bench) -> None:
    (a,) = bench.begin({"a": set(), "b": {"a"}})
    old = bench.claim(a)
    bench.clock.pass_(61)
    (again,) = bench.sweep()
    new = bench.claim(again)
    assert new.attempt == old.attempt + 1
    assert not bench.finish(old).accepted
    assert keys(bench.finish(new).ready) == ["b"]


def test_a_finish_twice_counts_once(bench: Bench) -> None:
    a, _ = bench.begin({"a": set(), "b": set(), "c": {"a", "b"}})
    claim = bench.claim(a)
    assert bench.finish(claim).accepted
    assert not bench.finish(claim).accepted
    assert bench.store.nodes.claim(a, worker="w") is None


def test_a_heartbeat_keeps_the_lease(bench: Bench) -> None:
    (a,) = bench.begin({"a": set()})
    claim = bench.claim(a)
    bench.clock.pass_(50)
    bench.store.nodes.heartbeat([(a.traversal_id, a.no, claim.attempt)])
    bench.clock.pass_(50)
    assert bench.sweep() == ()
    assert bench.finish(claim).accepted


def test_a_waiting_node_is_due_at_its_time_and_not_before(bench: Bench) -> None:
    (a,) = bench.begin({"a": set()})
    bench.finish(bench.claim(a), Ending.WAITING, seconds=30)
    bench.clock.pass_(29)
    assert bench.sweep() == ()
    bench.clock.pass_(2)
    (again,) = bench.sweep()
    claim = bench.claim(again)
    assert claim.started
    assert claim.token == "token"
    assert claim.physical_id == "physical-a"


def test_a_retry_forgets_the_token_and_counts(bench: Bench) -> None:
    (a,) = bench.begin({"a": set()})
    bench.finish(bench.claim(a), Ending.RETRY, seconds=3, reason="busy")
    assert bench.store.stacks.resource("s-id", "a").reason == "busy"
    bench.clock.pass_(4)
    claim = bench.claim(bench.sweep()[0])
    assert claim.retries == 1
    assert not claim.started


def test_a_retry_once_the_action_is_over_goes_on_from_its_token(bench: Bench) -> None:
    (a,) = bench.begin({"a": set()})
    outcome = Outcome(ending=Ending.RETRY, token={"made": 1}, is_over=True, physical_id="p", seconds=3.0)
    assert bench.store.nodes.finish(bench.claim(a), outcome).accepted
    bench.clock.pass_(4)
    claim = bench.claim(bench.sweep()[0])
    assert (claim.retries, claim.started, claim.token, claim.physical_id) == (1, True, {"made": 1}, "p")


def test_a_lost_message_is_published_again_ever_more_seldom(bench: Bench) -> None:
    bench.begin({"a": set()})
    bench.clock.pass_(11)
    assert keys(bench.sweep()) == ["a"]
    bench.clock.pass_(11)
    assert bench.sweep() == ()
    bench.clock.pass_(11)
    assert keys(bench.sweep()) == ["a"]


def test_next_due_tells_when_to_sweep_again(bench: Bench) -> None:
    assert bench.store.sweeper.next_due() is None
    bench.begin({"a": set()})
    assert bench.store.sweeper.next_due() == pytest.approx(10)
    bench.clock.pass_(20)
    assert bench.store.sweeper.next_due() == 0


def test_a_failure_fails_the_traversal_and_nothing_new_starts(bench: Bench) -> None:
    a, b = bench.begin({"a": set(), "b": set(), "c": {"b"}})
    (end,) = bench.finish(bench.claim(a), Ending.FAILED, reason="no luck").ready
    assert end.phase == END
    assert bench.store.nodes.claim(b, worker="w") is None
    stack = bench.store.stacks.find("s", project="p")
    assert (stack.status, stack.reason) == ("FAILED", "Resource CREATE failed: resources.a: no luck")
    bench.clock.pass_(1000)
    assert [order.phase for order in bench.sweep()] == [END]


def test_what_a_failed_traversal_has_begun_is_carried_to_its_end(bench: Bench) -> None:
    a, b = bench.begin({"a": set(), "b": set(), "c": {"b"}})
    bench.finish(bench.claim(b), Ending.WAITING, seconds=5)
    bench.finish(bench.claim(a), Ending.FAILED, reason="no luck")
    bench.clock.pass_(6)
    again = next(order for order in bench.sweep() if order.phase != END)
    (c,) = bench.finish(bench.claim(again)).ready
    assert bench.store.stacks.resource("s-id", "b").status == "COMPLETE"
    assert bench.store.nodes.claim(c, worker="w") is None


def test_the_end_is_ready_after_everything_and_completes_the_stack_once(bench: Bench) -> None:
    (a,) = bench.begin({"a": set()})
    assert not bench.store.traversals.complete(a.traversal_id)
    (end,) = bench.run(a)
    assert end.phase == END
    assert bench.store.traversals.claim_end(end, worker="c") is None
    assert bench.store.traversals.complete(end.traversal_id)
    assert not bench.store.traversals.complete(end.traversal_id)
    ending = bench.store.traversals.claim_end(end, worker="c")
    assert ending is not None
    assert ending.status == "COMPLETE"
    assert bench.store.traversals.claim_end(end, worker="d") is None
    bench.store.traversals.finish_end(ending)
    bench.clock.pass_(1000)
    assert bench.sweep() == ()
    assert bench.store.traversals.is_end_finished(end.traversal_id)


def test_last_words_are_said_again_when_the_coordinator_dies(bench: Bench) -> None:
    (a,) = bench.begin({"a": set()})
    (end,) = bench.run(a)
    bench.store.traversals.complete(end.traversal_id)
    assert bench.store.traversals.claim_end(end, worker="c") is not None
    bench.clock.pass_(61)
    (again,) = bench.sweep()
    assert bench.store.traversals.claim_end(again, worker="d") is not None


def test_a_stack_out_of_time_fails_with_what_it_waits_for(bench: Bench) -> None:
    (a,) = bench.begin({"a": set(), "b": {"a"}}, minutes=10)
    bench.finish(bench.claim(a), Ending.WAITING, seconds=100_000)
    bench.clock.pass_(601)
    assert [order.phase for order in bench.sweep()] == [END]
    stack = bench.store.stacks.find("s", project="p")
    assert (stack.status, stack.reason) == ("FAILED", "Stack CREATE timed out after 10 minutes")
    row = bench.store.stacks.resource("s-id", "a")
    assert (row.status, row.reason) == ("FAILED", stack.reason)
    # What the events of a resource say last is what it is.
    last = bench.store.events.read("s-id")[-1]
    assert (last.resource, last.action, last.status, last.reason) == ("a", "CREATE", "FAILED", stack.reason)
    assert last.worker == "w"
    assert bench.store.stacks.resource("s-id", "b").action == "INIT"


def test_a_name_is_taken_until_its_stack_is_deleted(bench: Bench) -> None:
    bench.begin({})
    with pytest.raises(Conflict, match="has a stack 's' already"):
        bench.begin({})


def order_of(bench: Bench, no: int, key: str) -> CheckOrder:
    return CheckOrder(
        stack_id="s-id", traversal_id="s-t2", no=no, key=key, phase="cleanup", stack="s", node_data=()
    )


def test_of_two_racing_operations_one_takes_the_stack(bench: Bench) -> None:
    bench.begin({"a": set()})
    assert begin_delete(bench)
    assert not begin_delete(bench)


def test_a_superseded_traversal_starts_nothing_new(bench: Bench) -> None:
    (a,) = bench.begin({"a": set()})
    assert begin_delete(bench)
    assert bench.store.nodes.claim(a, worker="w") is None


def test_a_new_traversal_waits_for_the_step_under_way_and_is_woken_by_its_end(bench: Bench) -> None:
    (a,) = bench.begin({"a": set()})
    old = bench.claim(a)
    assert begin_delete(bench)
    new = order_of(bench, 0, "a")
    assert bench.store.nodes.claim(new, worker="w") is None
    finished = bench.finish(old)
    assert finished.accepted
    assert [(order.traversal_id, order.key) for order in finished.ready] == [("s-t2", "a")]
    claim = bench.claim(finished.ready[0])
    assert (claim.action, claim.physical_id) == ("DELETE", "physical-a")


def test_a_lock_whose_holder_died_is_released_by_the_sweep(bench: Bench) -> None:
    (a,) = bench.begin({"a": set()})
    bench.claim(a)
    assert begin_delete(bench)
    new = order_of(bench, 0, "a")
    assert bench.store.nodes.claim(new, worker="w") is None
    bench.clock.pass_(61)
    orders = [order for order in bench.sweep() if order.phase != END]
    assert {order.traversal_id for order in orders} == {"s-t2"}
    assert bench.claim(orders[0]).action == "DELETE"


def test_a_deleted_stack_leaves_its_name_and_its_history(bench: Bench) -> None:
    (a,) = bench.begin({"a": set()})
    bench.run(a)
    assert begin_delete(bench)
    (end,) = bench.run(order_of(bench, 0, "a"))
    assert bench.store.traversals.complete(end.traversal_id)
    assert bench.store.stacks.all(project="p") == []
    assert bench.store.stacks.resources("s-id") == []
    said = [(event.resource, event.action, event.status) for event in bench.store.events.read("s-id")]
    assert said == [
        ("", "CREATE", "IN_PROGRESS"),
        ("a", "CREATE", "IN_PROGRESS"),
        ("a", "CREATE", "COMPLETE"),
        ("", "DELETE", "IN_PROGRESS"),
        ("a", "DELETE", "IN_PROGRESS"),
        ("a", "DELETE", "COMPLETE"),
        ("", "DELETE", "COMPLETE"),
    ]


def test_a_wake_up_while_the_step_runs_is_not_lost(bench: Bench) -> None:
    (a,) = bench.begin({"a": set(), "b": {"a"}})
    (b,) = bench.run(a)
    claim = bench.claim(b)
    assert bench.store.nodes.wake_dependents("s-a") == ()
    bench.finish(claim, Ending.WAITING, seconds=100_000)
    assert keys(bench.sweep()) == ["b"]


def test_a_wake_up_makes_a_waiting_dependent_ready_at_once(bench: Bench) -> None:
    (a,) = bench.begin({"a": set(), "b": {"a"}})
    (b,) = bench.run(a)
    bench.finish(bench.claim(b), Ending.WAITING, seconds=100_000)
    assert keys(bench.store.nodes.wake_dependents("s-a")) == ["b"]


def test_two_signals_at_once_both_count(bench: Bench) -> None:
    bench.begin({"a": set()})
    first = bench.store.stacks.resource("s-id", "a")
    second = bench.store.stacks.resource("s-id", "a")
    assert bench.store.stacks.write_signal(first, "s-t1", {"1": "x"}, "one")
    assert not bench.store.stacks.write_signal(second, "s-t1", {"1": "y"}, "two")
    assert bench.store.stacks.resource("s-id", "a").metadata == {"1": "x"}


def test_a_job_is_answered_once_and_its_first_answer_stands(bench: Bench) -> None:
    assert bench.store.stacks.job("j") is None
    bench.begin({"a": set()}, job_id="j")
    bench.store.stacks.refuse_job("j", {"kind": "Conflict", "message": "late"})
    row = bench.store.stacks.job("j")
    assert row is not None
    assert (row.stack_id, row.status, row.refusal) == ("s-id", "accepted", None)


def test_nothing_of_a_stack_is_readable_in_an_encrypted_store(bench: Bench) -> None:
    secret = "correct-horse"
    place = "resource", "data", "s-a"
    packed = bench.store.codec.pack({"password": secret}, place)
    assert bench.store.codec.unpack(packed, place) == {"password": secret}
    assert (secret.encode() in packed) == (packed[:1] == b"\x00")


def test_a_sweep_takes_at_most_a_batch_and_says_there_is_more(bench: Bench) -> None:
    bench.begin({f"r{number:04}": set() for number in range(700)})
    bench.clock.pass_(11)
    first = bench.store.sweeper.sweep()
    second = bench.store.sweeper.sweep()
    assert (first.more, second.more) == (True, False)
    assert len({*keys(first.orders), *keys(second.orders)}) == 700


def test_what_dead_processes_had_claimed_is_taken_over_at_once(bench: Bench) -> None:
    a, b, c = bench.begin({"a": set(), "b": set(), "c": set()})
    bench.claim(a, worker="dead")
    bench.claim(b, worker="alive")
    bench.store.sweeper.take_over(lambda name: name == "dead")
    assert keys(bench.sweep()) == ["a", "c"]
    assert c.key == "c"


def test_a_start_that_finds_nothing_to_take_over_writes_nothing(
    bench: Bench, monkeypatch: pytest.MonkeyPatch
) -> None:
    def refuse() -> None:
        raise AssertionError("it writes")

    (a,) = bench.begin({"a": set()})
    bench.claim(a, worker="alive")
    for each in ("transaction", "direct", "write"):
        monkeypatch.setattr(bench.store.database, each, refuse)
    bench.store.sweeper.take_over(lambda name: name == "dead")
    assert bench.sweep() == ()


def test_a_reference_id_is_read_as_it_was_written_and_is_packed_between(bench: Bench) -> None:
    (a,) = bench.begin({"a": set()})
    bench.run(a)
    assert bench.store.stacks.resource("s-id", "a").reference_id == "reference-a"
    with bench.store.database.read() as connection:
        packed = connection.execute(sa.text("SELECT reference_id FROM resource")).scalar_one()
    assert bench.store.codec.unpack(bytes(packed), ("resource", "reference_id", "s-a")) == "reference-a"


@pytest.mark.parametrize("pointer", ["s-a", "physical-a"])
def test_metadata_is_found_by_row_id_and_by_physical_id_within_the_stack(bench: Bench, pointer: str) -> None:
    (a,) = bench.begin({"a": set()})
    bench.run(a)
    row = bench.store.stacks.resource("s-id", "a")
    assert bench.store.stacks.write_signal(row, "s-t1", {"signal": 1}, "came")
    assert bench.store.stacks.metadata_of("s-id", pointer) == {"signal": 1}
    assert bench.store.stacks.metadata_of("another", pointer) == {}
    assert bench.store.stacks.metadata_of("s-id", "reference-a") == {}


def test_a_long_queue_is_not_published_again_and_an_emptied_one_is(bench: Bench) -> None:
    bench.begin({f"r{number:02}": set() for number in range(40)})
    bench.clock.pass_(11)
    assert bench.store.sweeper.sweep(backlog=40).orders == ()
    bench.clock.pass_(11)
    assert bench.store.sweeper.sweep(backlog=30).orders == ()
    bench.clock.pass_(11)
    assert len(bench.store.sweeper.sweep(backlog=3).orders) == 40


def test_a_long_queue_keeps_nothing_else_from_being_swept(bench: Bench) -> None:
    a, b, *_ = bench.begin({f"r{number:02}": set() for number in range(40)})
    bench.finish(bench.claim(a), Ending.WAITING, seconds=5)
    bench.claim(b)
    bench.clock.pass_(61)
    assert keys(bench.store.sweeper.sweep(backlog=38).orders) == ["r00", "r01"]


def test_the_fragments_of_a_stack_are_those_of_its_own_nodes(bench: Bench) -> None:
    bench.begin({"a": set(), "b": {"a"}})
    bench.begin({"c": set()}, stack="other")
    planned = bench.store.histories.read("s-id", "s-t1").planned
    assert planned == {"s-a": {"definition": {}}, "s-b": {"definition": {}}}
