"""What an agent remembers of what it has done, for how long, and of those who were the same agent."""

import os
from pathlib import Path

import pytest

from orchestrator.nodes.rpc.messages import Fault
from orchestrator.nodes.rpc.operations import OperationState
from tests.unit.workers.agent.agents import ToldCache, agent_of, ask, change, request_of, spec, told
from workers.agent.journal import Journal, UnderWay
from workers.agent.locks import Locks

DAY_SECONDS = 86_400.0


@pytest.fixture
def journal(tmp_path: Path) -> Journal:
    return Journal(tmp_path / "journal", Locks(tmp_path / "locks"), keep_seconds=DAY_SECONDS)


def age(journal: Journal, seconds: float) -> None:
    """Have all that is on record be older."""
    for path in journal.directory.rglob("*.json"):
        then = path.stat().st_mtime - seconds
        os.utime(path, (then, then))


def die_in(journal: Journal, operation_id: str) -> None:
    """Begin an operation and never tell its end, as an agent does that dies."""
    with journal.delivery(request_of("instance_start", operation_id)):
        pass


def test_what_is_over_is_kept_for_its_time_and_not_longer(journal: Journal) -> None:
    with journal.delivery(request_of("instance_start", "one")) as delivery:
        delivery.succeeded({"id": "1"})
    journal.bury("instance", "web")
    age(journal, DAY_SECONDS - 60)
    journal.purge()
    assert journal.operation("one").result == {"id": "1"}
    assert journal.burial("instance", "web") == "was removed"
    age(journal, 120)
    journal.purge()
    assert journal.operation("one").state is OperationState.UNKNOWN
    assert journal.burial("instance", "web") == ""


def test_what_is_under_way_is_kept_however_long_it_takes(journal: Journal) -> None:
    with journal.delivery(request_of("instance_export", "long")) as delivery:
        age(journal, 2 * DAY_SECONDS)
        journal.purge()
        assert journal.operation("long").state is OperationState.RUNNING
        delivery.succeeded(None)
    assert journal.operation("long").state is OperationState.DONE


def test_what_was_under_way_at_a_purge_is_known_to_have_been_cut_short(journal: Journal) -> None:
    """Otherwise it is unknown after a death: the record of its beginning is all that says it was ever begun."""
    with journal.delivery(request_of("instance_export", "long")):
        age(journal, 2 * DAY_SECONDS)
        journal.purge()
    assert journal.operation("long").state is OperationState.INTERRUPTED
    assert journal.give_up_interrupted() == ["long"]
    # Once nothing is at it any more, its time counts.
    die_in(journal, "another")
    age(journal, 2 * DAY_SECONDS)
    journal.purge()
    assert journal.operation("another").state is OperationState.UNKNOWN


def test_what_is_cut_short_is_given_up_though_another_record_goes_meanwhile(journal: Journal) -> None:
    die_in(journal, "one")
    # It is listed, and is not there any more once it is read.
    (journal.directory / "begun" / "0.json").symlink_to("gone")
    assert journal.give_up_interrupted() == ["one"]


def test_operation_in_whose_middle_the_agent_died_is_interrupted(journal: Journal) -> None:
    die_in(journal, "one")
    assert journal.operation("one").state is OperationState.INTERRUPTED
    assert journal.wait("one", 60).state is OperationState.INTERRUPTED
    assert journal.operation("one", request_id="a later one").state is OperationState.UNKNOWN


def test_failure_is_that_of_all_who_came_meanwhile(journal: Journal) -> None:
    first, second = (request_of("instance_start", "one") for _ in range(2))
    with journal.delivery(first) as delivery:
        with pytest.raises(UnderWay), journal.delivery(second):
            pytest.fail("two had it at once")
        delivery.failed(Fault(kind="failed", message="no"))
    for request in (first, second):
        assert journal.operation("one", request_id=request.id).state is OperationState.FAILED


def test_names_are_kept_apart_by_kind(journal: Journal) -> None:
    journal.bury("instance", "a")
    assert journal.burial("volume", "a") == ""
    journal.dig_up("instance", "a")
    assert journal.burial("instance", "a") == ""
    journal.dig_up("instance", "a")


# -- an agent that several processes are -----------------------------------------------------------------------


def test_shared_agent_is_one_until_the_machine_boots(tmp_path: Path) -> None:
    first, second = (agent_of(tmp_path, shared=True) for _ in range(2))
    assert first.incarnation == second.incarnation
    (tmp_path / "boot_id").write_text("boot-2")
    third, fourth = (agent_of(tmp_path, shared=True) for _ in range(2))
    assert third.incarnation == fourth.incarnation != first.incarnation


def test_process_of_a_shared_agent_sees_what_another_does(tmp_path: Path) -> None:
    first, second = (agent_of(tmp_path, shared=True) for _ in range(2))
    request = request_of("instance_start", hypervisor="fake", spec=spec())
    with first.journal.delivery(request):
        assert ask(second, "operation", operation_id=request.operation_id)["state"] == "running"
        assert second.carry_out(request).error is not None


def test_process_that_begins_gives_up_what_a_dead_one_left(tmp_path: Path) -> None:
    cache = ToldCache()
    agent = agent_of(tmp_path, cache, shared=True)
    die_in(agent.journal, "one")
    alive = request_of("instance_start", "two")
    with agent.journal.delivery(alive):
        agent_of(tmp_path, cache, shared=True).begin()
        assert cache.told == ["settle n1"]
        assert agent.journal.operation("one").state is OperationState.FAILED
        assert agent.journal.operation("two").state is OperationState.RUNNING
    told(agent.carry_out(request_of("instance_start", hypervisor="fake", spec=spec())))


def test_agent_that_is_alone_leaves_its_predecessors_work_to_the_queue(tmp_path: Path) -> None:
    cache = ToldCache()
    agent = agent_of(tmp_path, cache)
    die_in(agent.journal, "one")
    again = agent_of(tmp_path, cache)
    again.begin()
    assert ask(again, "operation", operation_id="one")["state"] == "interrupted"
    assert cache.told == []
    change(again, "instance_start", hypervisor="fake", spec=spec())


def test_those_who_came_while_another_process_was_at_it_are_not_remembered_for_ever(
    journal: Journal, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("workers.agent.journal._MOST_JOINED", 3)
    other = Journal(journal.directory, Locks(tmp_path / "locks"), keep_seconds=DAY_SECONDS)
    for number in range(9):
        with other.delivery(request_of("instance_start", f"operation-{number}")) as delivery:
            with (
                pytest.raises(UnderWay),
                journal.delivery(request_of("instance_start", f"operation-{number}")),
            ):
                pass
            delivery.succeeded(None)
    assert list(journal._joined) == ["operation-6", "operation-7", "operation-8"]


def test_records_are_purged_whenever_some_time_has_passed(
    journal: Journal, monkeypatch: pytest.MonkeyPatch
) -> None:
    purged: list[float] = []
    monkeypatch.setattr(journal, "purge", lambda: purged.append(journal.clock()))
    now = [1_000_000.0]
    monkeypatch.setattr(journal, "clock", lambda: now[0])
    for passed, times in ((0.0, 1), (1.0, 1), (100_000.5, 2), (100_000.5, 3)):
        now[0] += passed
        journal._purge_now_and_then()
        assert len(purged) == times
