"""The fence: what an agent may still do when its lease may have run out, by which clock it may be."""

from dataclasses import dataclass, field

import pytest

from workers.agent.fence import Fence, Fenced, check_fence, fence_ends_at, fenced


@dataclass
class Store:
    """The store of leases, and the clocks of the machine."""

    boot: float = 1000.0
    wall: float = 50_000.0
    #: How the lease is found: "ours", "lost", or "away" for a store that does not answer.
    state: str = "ours"
    queries: int = 0
    fence: Fence = field(init=False)

    def __post_init__(self) -> None:
        self.fence = Fence(40.0, self.confirm, clock=lambda: self.boot, wall_clock=lambda: self.wall)
        self.fence.renewed(self.fence.now())

    def confirm(self) -> None:
        self.queries += 1
        if self.state == "lost":
            self.fence.lost("another has it")
        if self.state != "ours":
            raise Fenced(f"the lease is {self.state}")


@pytest.fixture
def store() -> Store:
    return Store()


def test_valid_lease_is_not_looked_up(store: Store) -> None:
    store.boot += 39.0
    with fenced(store.fence):
        check_fence()
    assert store.fence.may_answer()
    assert store.queries == 0


@pytest.mark.parametrize("clock", ["boot", "wall"])
def test_gap_in_either_clock_refuses_the_effects_of_a_change_under_way(store: Store, clock: str) -> None:
    with fenced(store.fence):
        check_fence()
        setattr(store, clock, getattr(store, clock) + 41.0)
        for _ in range(2):
            with pytest.raises(Fenced, match="has run out during the change"):
                check_fence()
    assert store.queries == 1
    with fenced(store.fence):
        check_fence()


def test_gap_that_the_heartbeat_has_bridged_refuses_them_too(store: Store) -> None:
    with fenced(store.fence):
        store.boot += 41.0
        store.fence.renewed(store.fence.now())
        with pytest.raises(Fenced, match="has run out during the change"):
            check_fence()


@pytest.mark.parametrize("state", ["lost", "away"])
def test_change_does_not_begin_without_the_lease(store: Store, state: str) -> None:
    store.boot, store.state = store.boot + 41.0, state
    with pytest.raises(Fenced), fenced(store.fence):
        pytest.fail("it has begun")
    assert store.fence.is_lost == (state == "lost")


def test_reads_go_on_without_the_store_and_not_without_the_lease(store: Store) -> None:
    store.boot, store.state = store.boot + 41.0, "away"
    assert [store.fence.may_answer() for _ in range(3)] == [True] * 3
    assert store.queries == 1, "a store that is away is not waited for at every read"
    store.boot, store.state = store.boot + 41.0, "lost"
    assert [store.fence.may_answer() for _ in range(3)] == [False] * 3


def test_another_process_completes_an_effect_within_the_lease_alone(store: Store) -> None:
    assert fence_ends_at() is None
    with fenced(store.fence):
        first = fence_ends_at()
        store.boot += 30.0
        second = fence_ends_at()
    assert first is not None
    assert second is not None
    # They are times of the real clock, which goes on in between.
    assert second < first - 20.0
