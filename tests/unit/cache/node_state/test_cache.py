"""What is served, and what is asked for anew, with stores of every kind and a clock that stands still."""

import pytest

from cache.node_state.errors import (
    LeaseHeld,
    LeaseLost,
    NodeOffline,
    NodeTimeout,
    NodeUnreachable,
    NoSuchNode,
    SchemaMismatch,
)
from cache.node_state.requests import ERROR, OK, HypervisorSection, MachineStateRequest, StorageSection
from cache.node_state.store import NodeStateStore
from tests.unit.cache.node_state.worlds import (
    BOOTID,
    DISK,
    DISKINFO,
    EVERYTHING,
    HV,
    PROCESS,
    Clock,
    Node,
    World,
    state_in,
)


@pytest.fixture
def world(store: NodeStateStore) -> World:
    return World(store, lease_seconds=1e9)


def test_one_question_answers_all_three_kinds(world: World) -> None:
    for request in (BOOTID, HV, DISKINFO, EVERYTHING):
        world.cache.machine_state("n1", request)
    assert len(world.node.asked) == 1
    assert world.cache.counters.hits == 3
    assert world.cache.counters.misses == {"absent": 1}


def test_an_answer_holds_what_was_asked_for_and_nothing_else(world: World) -> None:
    for _ in range(2):
        assert world.cache.machine_state("n1", HV).sections.keys() == {PROCESS.key}
        assert world.cache.machine_state("n1", BOOTID).sections["bootid"].data == "boot"


def test_who_is_served_may_change_what_it_got(world: World) -> None:
    world.cache.machine_state("n1", HV)
    world.cache.machine_state("n1", HV).sections[PROCESS.key].data.clear()
    assert state_in(world.cache.machine_state("n1", HV)) == 0


def test_an_entry_ends_with_its_time(world: World, clock: Clock) -> None:
    world.cache.machine_state("n1")
    clock.now += 599
    assert world.cache.machine_state("n1").age_seconds == 599
    clock.now += 1
    assert not world.cache.machine_state("n1").cached
    assert len(world.node.asked) == 2


def test_the_age_of_an_answer_counts_from_when_it_was_asked_for(world: World, clock: Clock) -> None:
    def dawdle() -> None:
        clock.now += 5

    world.node.meanwhile = dawdle
    world.cache.machine_state("n1")
    assert world.cache.machine_state("n1").age_seconds == 5
    clock.now += 594
    assert world.cache.machine_state("n1").cached
    clock.now += 1
    assert not world.cache.machine_state("n1").cached


def test_who_wants_it_younger_is_told_anew(world: World, clock: Clock) -> None:
    world.cache.machine_state("n1")
    clock.now += 60
    assert world.cache.machine_state("n1", max_age_seconds=60).cached
    clock.now += 1
    assert not world.cache.machine_state("n1", max_age_seconds=60).cached
    assert world.cache.counters.misses == {"absent": 1, "aged": 1}


def test_a_change_voids_before_and_after_and_nothing_is_kept_meanwhile(world: World) -> None:
    world.cache.machine_state("n1")
    with world.cache.mutating("n1", "op", rpc="instance_start"):
        assert world.cache.dirty("n1")
        assert not world.cache.machine_state("n1").cached
        world.node.state = 1
        assert not world.cache.machine_state("n1").cached
    assert not world.cache.dirty("n1")
    assert state_in(world.cache.machine_state("n1")) == 1
    assert world.cache.machine_state("n1").cached
    assert world.cache.counters.misses == {"absent": 1, "dirty": 2, "token": 1}
    assert world.cache.counters.bumps["instance_start"] == 2


def test_a_change_that_fails_voids_all_the_same(world: World) -> None:
    def fail() -> None:
        with world.cache.mutating("n1", "op"):
            world.cache.machine_state("n1")
            world.node.state = 1
            raise ValueError

    with pytest.raises(ValueError):
        fail()
    assert not world.cache.dirty("n1")
    assert state_in(world.cache.machine_state("n1")) == 1


def test_a_slow_answer_that_began_before_a_change_is_never_served(world: World) -> None:
    def change() -> None:
        world.node.meanwhile = lambda: None
        with world.cache.mutating("n1", "op"):
            world.node.state = 1

    world.node.meanwhile = change
    assert state_in(world.cache.machine_state("n1")) == 0
    assert world.cache.counters.refused == 1
    assert state_in(world.cache.machine_state("n1")) == 1


def test_an_answer_given_while_the_node_changed_is_handed_on_and_not_kept(world: World) -> None:
    world.node.unsettled = True
    assert world.cache.machine_state("n1").unsettled
    world.node.unsettled = False
    assert not world.cache.machine_state("n1").cached
    assert world.cache.counters.unsettled == 1


def test_a_flush_voids_every_node(store: NodeStateStore, clock: Clock) -> None:
    world = World(store, Node("n1"), Node("n2"))
    world.cache.machine_states(["n1", "n2"])
    world.cache.flush("instance_migrate")
    world.cache.machine_states(["n1", "n2"])
    assert [len(node.asked) for node in world.nodes.values()] == [2, 2]
    assert world.cache.counters.flushes == {"instance_migrate": 1}


def test_changes_of_other_nodes_are_theirs_too(store: NodeStateStore, clock: Clock) -> None:
    world = World(store, Node("n1"), Node("n2"), Node("n3"))
    world.cache.machine_states(world.nodes)
    with world.cache.mutating("n1", "op", affects={"n2"}):
        assert [world.cache.dirty(name) for name in world.nodes] == [True, True, False]
    served = world.cache.machine_states(world.nodes)
    assert [getattr(served[name], "cached", None) for name in world.nodes] == [False, False, True]


def test_a_flushing_change_voids_all_before_and_after(store: NodeStateStore, clock: Clock) -> None:
    world = World(store, Node("n1"), Node("n2"))
    world.cache.machine_states(world.nodes)
    with world.cache.mutating("n1", "op", flush=True):
        assert not world.cache.machine_state("n2").cached
        assert world.cache.machine_state("n2").cached
        assert not world.cache.dirty("n2")
    assert not world.cache.machine_state("n2").cached


def test_force_asks_and_voids_for_all(world: World) -> None:
    other = world.another()
    world.cache.machine_state("n1")
    world.node.state = 1
    assert state_in(other.machine_state("n1", force=True)) == 1
    assert state_in(world.cache.machine_state("n1")) == 1
    assert len(world.node.asked) == 2
    assert other.counters.misses == {"forced": 1}


def test_force_that_fails_leaves_nothing_to_be_served(world: World) -> None:
    world.cache.machine_state("n1")
    world.node.error = NodeTimeout("n1", "node 'n1' did not answer")
    with pytest.raises(NodeTimeout):
        world.cache.machine_state("n1", force=True)
    with pytest.raises(NodeTimeout):
        world.cache.machine_state("n1")
    assert len(world.node.asked) == 2


def test_two_who_ask_for_different_things_do_not_evict_each_other(world: World) -> None:
    wide = MachineStateRequest(hypervisors=frozenset({HypervisorSection.of("process", {"cgroup": "x"})}))
    narrow = MachineStateRequest(storage=frozenset({StorageSection("lvm-vg", "vg", exclusive=True)}))
    for _ in range(5):
        for request in (wide, narrow, HV):
            world.cache.machine_state("n1", request)
    assert len(world.node.asked) == 2
    assert world.cache.counters.misses == {"absent": 1, "partial": 1}


@pytest.mark.parametrize(
    "request_",
    [
        MachineStateRequest(hypervisors=frozenset({HypervisorSection.of("process", {"a": 1})})),
        MachineStateRequest(storage=frozenset({StorageSection("file", "default", exclusive=True)})),
    ],
    ids=["parameters", "exclusive"],
)
def test_other_parameters_are_another_question(world: World, request_: MachineStateRequest) -> None:
    world.cache.machine_state("n1")
    assert not world.cache.machine_state("n1", request_).cached


def test_who_wants_no_full_fills_gets_what_is_there_and_what_is_asked_for(
    store: NodeStateStore, clock: Clock
) -> None:
    world = World(store, fill_full=False)
    for _ in range(3):
        for request in (HV, DISKINFO):
            world.cache.machine_state("n1", request)
    assert [asked.everything for asked in world.node.asked] == [False, False]


def test_a_section_that_failed_is_told_and_not_kept_and_the_others_are(world: World) -> None:
    world.node.failing[DISK.key] = ERROR
    assert world.cache.machine_state("n1", DISKINFO).sections[DISK.key].status == ERROR
    assert world.cache.machine_state("n1", HV).cached
    assert not world.cache.machine_state("n1", EVERYTHING).cached
    del world.node.failing[DISK.key]
    assert world.cache.machine_state("n1", DISKINFO).sections[DISK.key].status == OK
    assert len(world.node.asked) == 3


def test_an_unknown_node_leaves_nothing_behind_and_the_nearest_is_named(world: World) -> None:
    with pytest.raises(NoSuchNode, match="did you mean 'n1'"):
        world.cache.machine_state("n11")
    assert world.store.names() == {"n1"}


def test_a_node_without_a_lease_is_not_asked(world: World) -> None:
    world.cache.machine_state("n1")
    world.cache.release(world.node.lease())
    with pytest.raises(NodeUnreachable, match="no agent"):
        world.cache.machine_state("n1")
    stale = world.cache.machine_state("n1", HV, allow_stale=True)
    assert stale.stale
    assert state_in(stale) == 0
    assert len(world.node.asked) == 1


def test_a_lease_runs_out(store: NodeStateStore, clock: Clock) -> None:
    world = World(store, lease_seconds=40)
    clock.now += 30
    world.cache.renew(world.node.lease())
    clock.now += 39
    assert world.cache.leases().keys() == {"n1"}
    clock.now += 1
    assert world.cache.leases() == {}
    with pytest.raises(NodeUnreachable):
        world.cache.machine_state("n1")
    world.cache.renew(world.node.lease())
    assert world.cache.machine_state("n1")


def test_a_node_that_does_not_answer_is_left_alone_ever_longer(world: World, clock: Clock) -> None:
    world.node.error = NodeTimeout("n1", "node 'n1' did not answer within 10 s")
    pauses = []
    for _ in range(5):
        with pytest.raises(NodeTimeout, match="within 10 s"):
            world.cache.machine_state("n1")
        began, asked = clock.now, len(world.node.asked)
        while len(world.node.asked) == asked:
            clock.now += 1
            with pytest.raises(NodeTimeout):
                world.cache.machine_state("n1")
        pauses.append(clock.now - began)
    assert pauses == [5, 10, 20, 30, 30]


def test_an_answer_ends_the_failures(world: World, clock: Clock) -> None:
    world.node.error = NodeTimeout("n1", "no answer")
    with pytest.raises(NodeTimeout):
        world.cache.machine_state("n1")
    world.node.error = None
    world.cache.machine_state("n1", force=True)
    assert world.cache.machine_state("n1").cached


def test_a_question_that_never_went_out_is_no_answer_and_nobody_waits_for_it(
    world: World, clock: Clock
) -> None:
    world.node.error = NodeTimeout("n1", "no answer")
    with pytest.raises(NodeTimeout):
        world.cache.machine_state("n1")

    def break_down() -> None:
        raise ConnectionError("there is no broker")

    world.node.meanwhile = break_down
    with pytest.raises(ConnectionError):
        world.cache.machine_state("n1", force=True)
    seen = world.store.look(["n1"])[0]
    assert seen.failure
    assert not seen.filling


def test_an_agent_that_begins_is_asked_at_once(world: World) -> None:
    world.node.error = NodeTimeout("n1", "no answer")
    with pytest.raises(NodeTimeout):
        world.cache.machine_state("n1")
    world.node.error = None
    world.cache.release(world.node.lease())
    world.node.incarnation = "second"
    world.cache.acquire(world.node.lease())
    assert world.cache.machine_state("n1").incarnation == "second"


def test_an_offline_node_is_not_asked(world: World) -> None:
    world.cache.machine_state("n1")
    world.cache.set_offline("n1", "broken fan")
    with pytest.raises(NodeOffline, match="broken fan"):
        world.cache.machine_state("n1")
    assert world.cache.machine_state("n1", allow_stale=True).stale
    world.cache.set_offline("n1", "")
    assert not world.cache.machine_state("n1").cached


def test_an_agent_of_another_version_is_not_believed(world: World) -> None:
    world.cache.renew(world.node.lease(schema=99))
    with pytest.raises(SchemaMismatch, match="99"):
        world.cache.machine_state("n1")
    assert not world.node.asked


def test_a_second_agent_of_a_name_is_refused_and_told_where_the_first_is(world: World) -> None:
    with pytest.raises(LeaseHeld, match="host of n1, process 1"):
        world.cache.acquire(world.node.lease(incarnation="second"))
    world.cache.machine_state("n1")
    assert world.cache.machine_state("n1").cached


def test_an_agent_that_lost_its_name_learns_it_at_the_next_renewal(world: World, clock: Clock) -> None:
    clock.now += 1e10
    world.cache.acquire(world.node.lease(incarnation="second"))
    with pytest.raises(LeaseLost):
        world.cache.renew(world.node.lease())


def test_a_new_agent_voids_what_the_old_one_said_and_its_marks(world: World) -> None:
    world.cache.machine_state("n1")
    # It dies in the middle: its end is never told.
    dead = world.cache.mutating("n1", "op")
    dead.__enter__()
    assert world.cache.dirty("n1")
    world.cache.release(world.node.lease())
    world.node.incarnation = "second"
    world.cache.acquire(world.node.lease())
    assert not world.cache.dirty("n1")
    assert not world.cache.machine_state("n1").cached
    assert world.cache.machine_state("n1").cached


def test_marks_of_other_nodes_agents_stay(store: NodeStateStore, clock: Clock) -> None:
    world = World(store, Node("n1"), Node("n2"))
    with world.cache.mutating("n2", "op", affects={"n1"}):
        world.cache.release(world.nodes["n1"].lease())
        world.cache.acquire(world.nodes["n1"].lease(incarnation="second"))
        assert world.cache.dirty("n1")


def test_a_deferred_change_keeps_its_node_dirty_until_it_has_booted(world: World) -> None:
    with world.cache.mutating("n1", "op", deferred=True):
        pass
    assert world.cache.dirty("n1")
    # Its agent begins anew before the machine goes down.
    world.cache.release(world.node.lease())
    world.cache.acquire(world.node.lease(incarnation="second"))
    assert world.cache.dirty("n1")
    world.cache.release(world.node.lease(incarnation="second"))
    world.cache.acquire(world.node.lease(incarnation="third", boot_id="another"))
    assert not world.cache.dirty("n1")


def test_a_deferred_change_that_is_settled_is_over(world: World) -> None:
    with world.cache.mutating("n1", "op", deferred=True):
        pass
    world.cache.settle("n1", "op")
    assert not world.cache.dirty("n1")


def test_a_deferred_change_that_failed_is_over(world: World) -> None:
    def fail() -> None:
        with world.cache.mutating("n1", "op", deferred=True):
            raise ValueError

    with pytest.raises(ValueError):
        fail()
    assert not world.cache.dirty("n1")


def test_a_mark_runs_out_and_takes_the_token_with_it(world: World, clock: Clock) -> None:
    with world.cache.mutating("n1", "op", deferred=True):
        pass
    world.cache.machine_state("n1")
    before = world.store.look(["n1"])[0].tokens
    clock.now += 900
    assert not world.cache.dirty("n1")
    assert world.store.look(["n1"])[0].tokens != before


def test_a_reply_of_the_agent_that_has_the_name_now_voids_nothing(world: World) -> None:
    another = world.another()
    another.seen("n1", "first", "boot")
    world.cache.release(world.node.lease())
    world.node.incarnation = "second"
    world.cache.acquire(world.node.lease())
    world.cache.machine_state("n1")
    another.seen("n1", "second", "boot")
    assert world.cache.machine_state("n1").cached


def test_another_boot_in_any_reply_voids_all(world: World) -> None:
    world.cache.machine_state("n1")
    world.cache.seen("n1", "first", "boot")
    assert world.cache.machine_state("n1").cached
    world.cache.seen("n1", "first", "another boot")
    assert not world.cache.machine_state("n1").cached


def test_to_want_it_younger_leaves_no_hole_for_others(world: World, clock: Clock) -> None:
    world.cache.machine_state("n1")
    clock.now += 300
    served: list[bool] = []

    def look() -> None:
        served.append(world.another().machine_state("n1").cached)

    world.node.meanwhile = look
    world.node.state = 1
    world.cache.machine_state("n1", max_age_seconds=299)
    assert served == [True]
    assert state_in(world.cache.machine_state("n1")) == 1
    world.cache.machine_state("n1", max_age_seconds=299)
    assert len(world.node.asked) == 2


def test_many_nodes_give_an_answer_or_a_reason_each(store: NodeStateStore, clock: Clock) -> None:
    world = World(store, Node("n1"), Node("n2"), Node("n3"))
    world.cache.machine_state("n1")
    world.nodes["n2"].error = NodeTimeout("n2", "no answer")
    answers = world.cache.machine_states(["n3", "n1", "n2", "n9", "n1"])
    assert list(answers) == ["n3", "n1", "n2", "n9"]
    assert isinstance(answers["n2"], NodeTimeout)
    assert isinstance(answers["n9"], NoSuchNode)
    assert [getattr(answers[name], "cached", None) for name in ("n1", "n3")] == [True, False]


def test_the_node_of_this_process_needs_no_lease(store: NodeStateStore, clock: Clock) -> None:
    world = World(store, Node("local"), unleased={"local"})
    world.cache.release(world.node.lease())
    world.cache.machine_state("local")
    assert world.cache.machine_state("local").cached
