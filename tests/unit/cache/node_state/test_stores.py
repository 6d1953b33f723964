"""What every store of what nodes said promises: one suite for memory, files and Redis."""

import threading
from collections.abc import Callable
from functools import partial

from cache.node_state.store import Kept, Look, NodeStateStore, Tokens
from tests.unit.cache.node_state.worlds import Clock
from tests.waiting import PATIENCE_SECONDS

PAUSES = {"first_seconds": 5.0, "longest_seconds": 30.0}


def look(store: NodeStateStore, node: str = "n1") -> Look:
    return store.look([node])[0]


def fill(store: NodeStateStore, data: bytes = b"said", node: str = "n1", life_seconds: float = 600) -> Tokens:
    begun = store.begin_fill(node, "me", 11)
    kept = Kept(tokens=begun.tokens, began_at=begun.now, data=data)
    assert store.keep(node, "me", kept, begun.now + life_seconds)
    return begun.tokens


def is_valid(store: NodeStateStore, node: str = "n1") -> bool:
    seen = look(store, node)
    return seen.kept is not None and seen.kept.tokens == seen.tokens


def test_nothing_is_known_of_a_node_at_first(store: NodeStateStore, clock: Clock) -> None:
    assert look(store) == Look(now=clock.now)
    assert store.names() == frozenset()


def test_what_is_kept_is_found_by_all(opened: Callable[[], NodeStateStore], clock: Clock) -> None:
    tokens = fill(opened())
    for store in (opened(), opened()):
        for _ in range(2):
            assert look(store).kept == Kept(tokens=tokens, began_at=clock.now, data=b"said")
            assert look(store).tokens == tokens


def test_another_entry_takes_the_place_of_one_that_was_seen(opened: Callable[[], NodeStateStore]) -> None:
    reader, writer = opened(), opened()
    for data in (b"first", b"second"):
        fill(writer, data)
        kept = look(reader).kept
        assert kept is not None
        assert kept.data == data


def test_entries_can_be_left_out(store: NodeStateStore) -> None:
    fill(store)
    seen = store.look(["n1"], entries=False)[0]
    assert seen.kept is None
    assert seen.tokens is not None


def test_what_is_kept_ends_with_its_time(store: NodeStateStore, clock: Clock) -> None:
    fill(store, life_seconds=600)
    clock.now += 599
    assert look(store).kept
    clock.now += 1
    assert look(store).kept is None


def test_a_bump_voids_one_node_and_a_flush_all(store: NodeStateStore) -> None:
    for node in ("n1", "n2"):
        fill(store, node=node)
    store.bump("n1")
    assert [is_valid(store, node) for node in ("n1", "n2")] == [False, True]
    store.flush()
    assert not is_valid(store, "n2")


def test_tokens_never_come_back(store: NodeStateStore) -> None:
    seen = set()
    for step in range(20):
        if step % 2:
            store.bump("n1")
        else:
            store.flush()
        seen.add(store.begin_fill("n1", "me", 11).tokens)
    assert len(seen) == 20


def test_what_was_asked_under_other_tokens_is_refused(store: NodeStateStore) -> None:
    voids = (partial(store.bump, "n1"), store.flush, partial(store.mark, ["n1"], "m", 900))
    for void in voids:
        begun = store.begin_fill("n1", "me", 11)
        assert begun.claimed
        void()
        assert not store.keep(
            "n1", "me", Kept(tokens=begun.tokens, began_at=begun.now, data=b""), begun.now + 600
        )
        store.unmark(["n1"], ["m"])


def test_what_is_void_can_still_be_seen(store: NodeStateStore) -> None:
    fill(store)
    store.bump("n1")
    assert look(store).kept
    assert not is_valid(store)


def test_one_asks_for_all(store: NodeStateStore, clock: Clock) -> None:
    assert store.begin_fill("n1", "first", 11).claimed
    assert look(store).filling
    assert not store.begin_fill("n1", "second", 11).claimed
    assert store.begin_fill("n1", "first", 11).claimed
    assert store.begin_fill("n2", "second", 11).claimed
    clock.now += 11
    assert not look(store).filling
    assert store.begin_fill("n1", "second", 11).claimed


def test_who_has_lost_its_claim_keeps_nothing(store: NodeStateStore, clock: Clock) -> None:
    first = store.begin_fill("n1", "first", 11)
    clock.now += 11
    second = store.begin_fill("n1", "second", 11)
    assert not store.keep(
        "n1", "first", Kept(tokens=first.tokens, began_at=first.now, data=b"old"), first.now + 600
    )
    assert store.keep(
        "n1", "second", Kept(tokens=second.tokens, began_at=second.now, data=b"new"), second.now + 600
    )


def test_who_asks_in_vain_is_not_waited_for(store: NodeStateStore) -> None:
    assert store.begin_fill("n1", "first", 11).claimed
    store.bump("n1")
    assert store.begin_fill("n1", "second", 11).claimed


def test_a_claim_ends_when_it_is_released_by_whose_it_is(store: NodeStateStore) -> None:
    store.begin_fill("n1", "first", 11)
    store.release("n1", "second")
    assert look(store).filling
    store.release("n1", "first")
    assert not look(store).filling


def test_a_claim_can_end_without_an_answer(store: NodeStateStore) -> None:
    store.fail("n1", "other", "timeout", "no answer", **PAUSES)
    store.begin_fill("n1", "me", 11)
    store.release("n1", "me", answered=False)
    assert not look(store).filling
    assert look(store).failure


def test_a_dirty_node_is_not_filled(store: NodeStateStore) -> None:
    store.mark(["n1", "n2"], "one", 900)
    store.mark(["n1"], "two", 900)
    assert store.marks("n1") == {"one", "two"}
    begun = store.begin_fill("n1", "me", 11)
    assert (begun.claimed, begun.dirty) == (False, True)
    store.unmark(["n1", "n2"], ["one"])
    assert [look(store, node).dirty for node in ("n1", "n2")] == [True, False]
    store.unmark(["n1"], ["two", "none"])
    assert store.begin_fill("n1", "me", 11).claimed


def test_to_mark_and_to_unmark_void(store: NodeStateStore) -> None:
    fill(store)
    fill(store, node="n2")
    store.mark(["n1"], "m", 900)
    assert not is_valid(store)
    before = look(store).tokens
    store.unmark(["n1"], ["m"])
    assert look(store).tokens != before
    assert is_valid(store, "n2")


def test_a_mark_for_all_voids_all_and_makes_only_its_nodes_dirty(store: NodeStateStore) -> None:
    fill(store, node="n2")
    store.mark(["n1"], "m", 900, flush=True)
    assert not is_valid(store, "n2")
    assert store.marks("") == {"m"}
    fill(store, node="n2")
    assert not look(store, "n2").dirty
    store.unmark(["n1"], ["m"], flush=True)
    assert not is_valid(store, "n2")
    assert store.marks("") == frozenset()


def test_a_mark_whose_time_is_over_takes_the_token_with_it(store: NodeStateStore, clock: Clock) -> None:
    store.mark(["n1"], "m", 900)
    before = store.begin_fill("n1", "me", 11).tokens
    clock.now += 899
    assert look(store).dirty
    clock.now += 1
    assert not look(store).dirty
    after = look(store).tokens
    assert after is not None
    assert after.gen != before.gen
    assert after.epoch == before.epoch


def test_a_mark_for_all_whose_time_is_over_voids_all(store: NodeStateStore, clock: Clock) -> None:
    store.mark(["n1"], "m", 60, flush=True)
    fill(store, node="n2")
    clock.now += 60
    # It is another node at which is looked.
    assert not is_valid(store, "n2")


def test_who_asked_while_a_mark_ran_out_keeps_nothing(store: NodeStateStore, clock: Clock) -> None:
    store.mark(["n2"], "m", 10, flush=True)
    begun = store.begin_fill("n1", "me", 30)
    clock.now += 10
    assert not store.keep(
        "n1", "me", Kept(tokens=begun.tokens, began_at=begun.now, data=b""), begun.now + 600
    )


def test_failures_in_a_row_are_told_for_twice_as_long_each(store: NodeStateStore, clock: Clock) -> None:
    for pause in (5, 10, 20, 30, 30):
        store.begin_fill("n1", "me", 11)
        store.fail("n1", "me", "timeout", "no answer: ö", **PAUSES)
        failure = look(store).failure
        assert failure is not None
        assert (failure.kind, failure.message, failure.until) == (
            "timeout",
            "no answer: ö",
            clock.now + pause,
        )
        assert not look(store).filling
        clock.now += pause
        assert look(store).failure is None


def test_any_answer_ends_a_row_of_failures(store: NodeStateStore, clock: Clock) -> None:
    for answer in (partial(fill, store), partial(store.release, "n1", "me")):
        for _ in range(3):
            store.fail("n1", "me", "timeout", "no answer", **PAUSES)
        answer()
        assert look(store).failure is None
        store.fail("n1", "me", "timeout", "no answer", **PAUSES)
        failure = look(store).failure
        assert failure is not None
        assert failure.until == clock.now + 5
        store.release("n1", "me")


def test_a_lease_has_one_holder(store: NodeStateStore, clock: Clock) -> None:
    assert store.acquire("n1", "first", b"one", 40) is None
    assert store.acquire("n1", "second", b"two", 40) == b"one"
    assert store.acquire("n1", "first", b"one again", 40) is None
    assert look(store).lease == b"one again"
    clock.now += 40
    assert look(store).lease is None
    assert store.acquire("n1", "second", b"two", 40) is None
    assert store.acquire("n1", "first", b"one", 40) == b"two"


def test_only_its_holder_ends_a_lease(store: NodeStateStore) -> None:
    store.acquire("n1", "first", b"one", 40)
    store.withdraw("n1", "second")
    assert look(store).lease == b"one"
    store.withdraw("n1", "first")
    assert look(store).lease is None
    assert look(store).known


def test_when_an_agent_was_heard_is_known_after_its_lease(store: NodeStateStore, clock: Clock) -> None:
    assert look(store).heard_at is None
    for _ in range(2):
        clock.now += 10
        store.acquire("n1", "first", b"one", 40)
        heard = clock.now
        assert look(store).heard_at == heard
    clock.now += 5
    assert store.acquire("n1", "second", b"two", 40) == b"one"
    store.withdraw("n1", "first")
    clock.now += 1e6
    assert (look(store).lease, look(store).heard_at) == (None, heard)
    store.forget("n1")
    assert look(store).heard_at is None


def test_a_renewal_forgets_no_failure_and_another_agent_does(store: NodeStateStore, clock: Clock) -> None:
    store.acquire("n1", "first", b"", 40)
    store.fail("n1", "me", "timeout", "no answer", **PAUSES)
    store.acquire("n1", "first", b"", 40)
    assert look(store).failure
    store.withdraw("n1", "first")
    store.acquire("n1", "second", b"", 40)
    assert look(store).failure is None


def test_names_stay_known(store: NodeStateStore, clock: Clock) -> None:
    for node in ("n1", "rack/2 é|{x}"):
        store.acquire(node, "first", b"", 40)
    fill(store, node="n3")
    clock.now += 1e6
    assert store.names() == {"n1", "rack/2 é|{x}"}
    assert [seen.known for seen in store.look(["n1", "n3", "n4"])] == [True, False, False]


def test_what_is_forgotten_is_unknown(store: NodeStateStore, clock: Clock) -> None:
    store.acquire("n1", "first", b"", 40)
    fill(store)
    store.mark(["n1"], "m", 60)
    store.set_offline("n1", "broken")
    store.forget("n1")
    store.forget("n1")
    seen = look(store)
    assert (seen.tokens, seen.kept, seen.dirty, seen.lease, seen.known, seen.offline) == (
        None,
        None,
        False,
        None,
        False,
        "",
    )


def test_what_is_offline_is_said_to_be_and_void(store: NodeStateStore) -> None:
    fill(store)
    store.set_offline("n1", "a broken fan")
    assert look(store).offline == "a broken fan"
    assert not is_valid(store)
    store.set_offline("n1", "")
    assert look(store).offline == ""


def test_of_many_who_ask_at_once_one_may(opened: Callable[[], NodeStateStore]) -> None:
    barrier, claimed = threading.Barrier(8), []

    def ask(number: int) -> None:
        store = opened()
        barrier.wait(PATIENCE_SECONDS)
        claimed.append(store.begin_fill("n1", str(number), 11).claimed)

    threads = [threading.Thread(target=ask, args=(number,)) for number in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert sorted(claimed) == [False] * 7 + [True]


def test_of_many_agents_of_a_name_one_has_it(opened: Callable[[], NodeStateStore]) -> None:
    barrier, refused = threading.Barrier(8), []

    def begin(number: int) -> None:
        store = opened()
        barrier.wait(PATIENCE_SECONDS)
        refused.append(store.acquire("n1", str(number), str(number).encode(), 40))

    threads = [threading.Thread(target=begin, args=(number,)) for number in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    [holder] = {each for each in refused if each is not None}
    assert refused.count(None) == 1
    assert refused.count(holder) == 7
