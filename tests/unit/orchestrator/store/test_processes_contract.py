"""What every store promises of processes: who is there, who is silent, what each works on, and what nobody does."""

from dataclasses import replace

import pytest

from orchestrator.store.installation.processes import GONE_SECONDS, ProcessIdentity
from orchestrator.store.nodes.claims import Ending, Outcome
from orchestrator.store.traversals.traversals import Traversals
from orchestrator.views.operations import ProcessView
from tests.unit.orchestrator.store.conftest import Bench
from tests.unit.orchestrator.store.updating import begin_delete

SPEAKER = ProcessIdentity(
    name="worker@host:7:12.50",
    kind="worker",
    host="host",
    pid=7,
    celery_name="worker@host",
    version="1.0",
    queues=("checks",),
)


def named(name: str, kind: str = "worker") -> ProcessIdentity:
    return replace(SPEAKER, name=name, kind=kind)


def views(bench: Bench) -> dict[str, ProcessView]:
    return {view.name: view for view in bench.store.processes.all(project="p")}


def test_a_process_is_told_as_it_said_itself(bench: Bench) -> None:
    began = bench.clock.now
    bench.store.processes.report(SPEAKER)
    bench.clock.pass_(20)
    bench.store.processes.report(SPEAKER)
    bench.clock.pass_(5)
    assert bench.store.processes.all(project="p") == (
        ProcessView(
            name="worker@host:7:12.50",
            kind="worker",
            host="host",
            pid=7,
            celery_name="worker@host",
            version="1.0",
            queues=("checks",),
            started_at=began,
            seen_at=began + 20,
            seen_seconds=5,
            state="present",
        ),
    )


def test_process_of_the_api_reports_its_address_and_its_newest_errors(bench: Bench) -> None:
    serving = replace(named("api@h:1:1.00", "api"), address="http://h:8004/v1", errors=("first",))
    bench.store.processes.report(serving)
    bench.store.processes.report(replace(serving, errors=("second", "first")))
    [view] = bench.store.processes.all(project="p")
    assert (view.kind, view.address, view.errors) == ("api", "http://h:8004/v1", ("second", "first"))


def test_who_is_not_heard_of_for_longer_than_a_lease_is_silent_until_it_speaks(bench: Bench) -> None:
    processes = bench.store.processes
    processes.report(SPEAKER)
    bench.clock.pass_(60)
    assert views(bench)[SPEAKER.name].state == "present"
    bench.clock.pass_(1)
    assert views(bench)[SPEAKER.name].state == "silent"
    processes.report(SPEAKER)
    assert views(bench)[SPEAKER.name].state == "present"


def test_who_said_that_it_ends_has_stopped_and_those_that_are_there_come_first(bench: Bench) -> None:
    processes = bench.store.processes
    for name in ("a", "b", "c"):
        processes.report(named(name))
    processes.end("a")
    bench.clock.pass_(61)
    processes.report(named("c"))
    assert [(view.name, view.state) for view in processes.all(project="p")] == [
        ("c", "present"),
        ("b", "silent"),
        ("a", "stopped"),
    ]


def test_who_is_long_gone_is_forgotten(bench: Bench) -> None:
    processes = bench.store.processes
    for name in ("silent", "stopped"):
        processes.report(named(name))
    processes.end("stopped")
    bench.clock.pass_(GONE_SECONDS - 1)
    processes.report(named("new"))
    processes.forget()
    assert set(views(bench)) == {"silent", "stopped", "new"}
    bench.clock.pass_(1)
    processes.forget()
    assert set(views(bench)) == {"new"}


def test_a_process_works_on_what_it_has_leases_of(bench: Bench) -> None:
    a, _ = bench.begin({"a": set(), "b": set()})
    (c,) = bench.begin({"c": set()}, stack="t")
    bench.store.processes.report(named("w"))
    bench.clock.pass_(3)
    bench.claim(a, worker="w")
    claimed = bench.clock.now
    bench.clock.pass_(4)
    claim = bench.claim(c, worker="w")
    assert views(bench)["w"].works_on == (
        ("s", "s-id", "a", "CREATE", claimed, claimed + 60),
        ("t", "t-id", "c", "CREATE", claimed + 4, claimed + 64),
    )
    bench.finish(claim)
    assert [work[2] for work in views(bench)["w"].works_on] == ["a"]
    assert bench.store.processes.all(project="other")[0].works_on == ()


def test_who_says_last_words_works_on_the_stack_itself(bench: Bench) -> None:
    (a,) = bench.begin({"a": set()})
    (end,) = bench.run(a)
    bench.store.processes.report(named("c", "coordinator"))
    traversals: Traversals = bench.store.traversals
    traversals.complete(end.traversal_id)
    assert traversals.claim_end(end, worker="c")
    assert views(bench)["c"].works_on == (("s", "s-id", "", "CREATE", None, bench.clock.now + 60),)


@pytest.mark.parametrize(
    ("name", "told"),
    [
        ("worker@some:host:8:100.25", ("worker", "some:host", 8, 100.25)),
        ("w1@some:host:8:100.25", ("process", "some:host", 8, 100.25)),
        ("nobody", ("process", "", 0, None)),
    ],
)
def test_who_has_a_lease_and_never_spoke_is_told_by_the_lease(
    name: str, told: tuple[str, str, int, float | None], bench: Bench
) -> None:
    (a,) = bench.begin({"a": set()})
    bench.claim(a, worker=name)
    claimed = bench.clock.now
    bench.clock.pass_(10)
    view = views(bench)[name]
    kind, host, pid, started = told
    assert (view.kind, view.host, view.pid, view.started_at) == (kind, host, pid, started or claimed)
    assert (view.state, view.seen_at, view.seen_seconds) == ("present", claimed, 10)
    bench.clock.pass_(51)
    assert views(bench)[name].state == "silent"


def stuck(bench: Bench) -> list[tuple[str, str, str, float]]:
    return [
        (view.resource, view.action, view.why, view.seconds) for view in bench.store.stuck.all(project="p")
    ]


def test_what_a_lost_worker_had_is_stuck_until_it_is_swept(bench: Bench) -> None:
    (a,) = bench.begin({"a": set()})
    bench.claim(a, worker="gone")
    bench.clock.pass_(70)
    assert stuck(bench) == []
    bench.clock.pass_(1)
    assert stuck(bench) == [("a", "CREATE", "lost", 11)]
    assert bench.store.stuck.all(project="p")[0].worker == "gone"
    assert bench.store.stuck.all(project="other") == ()
    bench.sweep()
    assert stuck(bench) == []


def test_what_nobody_takes_though_it_was_published_again_is_undelivered(bench: Bench) -> None:
    bench.begin({"a": set(), "b": {"a"}})
    bench.clock.pass_(10)
    assert stuck(bench) == []
    bench.sweep()
    assert stuck(bench) == [("a", "CREATE", "undelivered", 10)]
    for seconds in (20, 40, 80):
        bench.clock.pass_(seconds)
        bench.sweep()
    assert stuck(bench) == [("a", "CREATE", "undelivered", 150)]


def test_what_lies_in_a_queue_is_undelivered_only_while_nobody_takes_from_it(bench: Bench) -> None:
    bench.begin({"a": set(), "b": {"a"}})
    for _ in range(3):
        bench.clock.pass_(10)
        bench.store.sweeper.sweep(backlog=1)
    assert stuck(bench) == [("a", "CREATE", "undelivered", 30)]
    bench.store.processes.report(named("coordinator@host:1:1.00", "coordinator"))
    assert stuck(bench) == [("a", "CREATE", "undelivered", 30)]
    # It is at something else, and the queue just long.
    bench.store.processes.report(SPEAKER)
    assert stuck(bench) == []
    bench.clock.pass_(61)
    assert [why for _, _, why, _ in stuck(bench)] == ["undelivered"]
    bench.store.processes.report(SPEAKER)
    bench.store.processes.end(SPEAKER.name)
    assert [why for _, _, why, _ in stuck(bench)] == ["undelivered"]


def test_what_was_to_be_looked_at_again_and_was_not_is_overdue(bench: Bench) -> None:
    (a,) = bench.begin({"a": set()})
    bench.store.nodes.finish(bench.claim(a), Outcome(ending=Ending.WAITING, seconds=5))
    bench.clock.pass_(15)
    assert stuck(bench) == []
    bench.clock.pass_(1)
    assert stuck(bench) == [("a", "CREATE", "overdue", 11)]


def test_what_is_given_up_is_not_stuck(bench: Bench) -> None:
    a, b = bench.begin({"a": set(), "b": set()})
    bench.store.nodes.finish(bench.claim(a), Outcome(ending=Ending.FAILED, reason="no room"))
    bench.clock.pass_(100)
    # The stack's last words are to be said, and nobody does.
    assert [(resource, why) for resource, _, why, _ in stuck(bench)] == [("", "undelivered")]
    begin_delete(bench)
    assert "b" not in {resource for resource, _, why, _ in stuck(bench) if why != "undelivered"}
    assert b.key == "b"
