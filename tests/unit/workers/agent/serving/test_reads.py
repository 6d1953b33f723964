"""What comes to a node's mailbox, and what is made of it; how it gets there is the matter of real brokers' tests."""

import threading
import time
from collections.abc import Callable, Iterator
from typing import Any

import pytest
from structlog.testing import capture_logs

from orchestrator.config.settings import Settings
from orchestrator.keys.key import AGENT as AGENT_USE
from orchestrator.keys.key import KeyRing
from orchestrator.keys.rotation import OWN, created
from orchestrator.nodes.rpc.messages import Reply, Request
from orchestrator.nodes.rpc.sealing import Seal
from orchestrator.queue.celery_app import make_app
from orchestrator.queue.refusals import refusals
from workers.agent.serving import reads as module
from workers.agent.serving.reads import Reads

LONG = 300.0
ADDRESS = "node.n1"
_KEYS = KeyRing([*created([], OWN), *created([], [AGENT_USE], node="n1")])
ENGINE, AGENT = Seal(Settings(), lambda: _KEYS), Seal(Settings(), lambda: _KEYS, node="n1")


class Answering:
    """An agent that answers as its test says."""

    name = "n1"

    def __init__(self) -> None:
        self.result: Callable[[Request], Any] = lambda request: request.arguments

    def answer(self, request: Request) -> Reply:
        return Reply(
            id=request.id,
            node=self.name,
            incarnation="1",
            boot_id="b",
            seq=0,
            inflight=0,
            taken_at=1.0,
            duration_seconds=0.0,
            result=self.result(request),
        )


class Posted:
    """Keeps what would go over the broker, as far as it can be packed."""

    def __init__(self) -> None:
        self.replies: list[Reply] = []
        self.changed = threading.Condition()

    def post(self, address: str, data: bytes, *, keep_seconds: float) -> None:
        reply = ENGINE.opened_reply(data, address=address)
        with self.changed:
            self.replies.append(reply)
            self.changed.notify_all()

    def wait(self, number: int) -> list[Reply]:
        with self.changed:
            assert self.changed.wait_for(lambda: len(self.replies) >= number, LONG)
            return list(self.replies)


@pytest.fixture
def agent() -> Answering:
    return Answering()


@pytest.fixture
def posted() -> Posted:
    return Posted()


@pytest.fixture
def reads(agent: Answering, posted: Posted) -> Iterator[Reads]:
    made = Reads(make_app(Settings(broker_url="memory://")), agent.name, agent.answer, AGENT)
    made._poster = posted  # type: ignore[assignment]
    made.answer_all()
    yield made
    made.close()
    # What one test leaves under way would be logged in the next.
    for pool in (made._readers, made._waiters):
        pool.shutdown()


def asked(rpc: str = "look", *, seconds: float = LONG, **arguments: Any) -> tuple[str, bytes]:
    """Return the address and the message of a read."""
    request = Request(id=rpc, node="n1", rpc=rpc, arguments=arguments, deadline=time.time() + seconds)
    return ADDRESS, ENGINE.read(request, address=ADDRESS, reply_to="asker", life={})


def test_nobody_is_answered_before_the_name_is_held(agent: Answering, posted: Posted) -> None:
    reads = Reads(make_app(Settings(broker_url="memory://")), agent.name, agent.answer, AGENT)
    reads._poster = posted  # type: ignore[assignment]
    reads._receive(*asked(number=1))
    assert posted.replies == []
    reads.answer_all()
    reads._receive(*asked(number=2))
    assert sorted(reply.result["number"] for reply in posted.wait(2)) == [1, 2]
    reads.close()


def test_agent_that_has_lost_its_lease_leaves_reads_to_the_other(agent: Answering, posted: Posted) -> None:
    looked, lost = threading.Semaphore(0), [False]

    def may_answer() -> bool:
        looked.release()
        return not lost[0]

    app, seal = make_app(Settings(broker_url="memory://")), AGENT
    reads = Reads(app, agent.name, agent.answer, seal, may_answer=may_answer)
    reads._poster = posted  # type: ignore[assignment]
    reads.answer_all()
    reads._receive(*asked(number=1))
    posted.wait(1)

    def lose(request: Request) -> Any:
        # While it reads: it stands still, and another agent begins.
        lost[0] = True
        return request.arguments

    agent.result = lose
    with capture_logs() as logs:
        reads._receive(*asked(number=2))
        assert all(looked.acquire(timeout=LONG) for _ in range(2))
        reads._readers.shutdown(wait=True)
    assert [reply.result for reply in posted.replies] == [{"number": 1}]
    assert [each["event"] for each in logs] == ["a read is left to the node's other agent"]
    reads.close()


def test_what_is_no_request_is_left_aside(reads: Reads, posted: Posted) -> None:
    before = refusals._counts[ADDRESS, "unsigned"]
    for wrong in (b"", b"\x80", b"I"):
        reads._receive(ADDRESS, wrong)
    assert refusals._counts[ADDRESS, "unsigned"] - before == 3
    reads._receive(*asked(number=1))
    assert [reply.result for reply in posted.wait(1)] == [{"number": 1}]


def test_those_who_wait_for_operations_hold_up_nobody_who_asks(
    reads: Reads, agent: Answering, posted: Posted, monkeypatch: pytest.MonkeyPatch
) -> None:
    released = threading.Event()
    agent.result = lambda request: released.wait(LONG) if request.rpc == "operation" else "quick"
    for _ in range(module.READ_THREADS + 1):
        reads._receive(*asked("operation"))
    reads._receive(*asked())
    assert [reply.result for reply in posted.wait(1)] == ["quick"]
    released.set()
    posted.wait(module.READ_THREADS + 2)


def test_answer_that_cannot_travel_is_an_error(reads: Reads, agent: Answering, posted: Posted) -> None:
    agent.result = lambda request: threading.Event()
    reads._receive(*asked())
    (reply,) = posted.wait(1)
    assert reply.result is None
    assert reply.error is not None
    assert reply.error.message == "look: its answer cannot be sent"


def test_nobody_is_sent_what_nobody_waits_for(reads: Reads, agent: Answering, posted: Posted) -> None:
    answered = threading.Event()

    def late(request: Request) -> Any:
        if request.arguments["late"]:
            while time.time() < request.deadline:
                threading.Event().wait(0.001)
            answered.set()
        return request.arguments

    agent.result = late
    reads._receive(*asked(seconds=0.01, late=True))
    assert answered.wait(LONG)
    reads._receive(*asked(late=False))
    assert [reply.result for reply in posted.wait(1)] == [{"late": False}]


def test_clock_that_may_be_wrong_is_logged(reads: Reads, posted: Posted) -> None:
    with capture_logs() as logged:
        reads._receive(*asked(seconds=-20.0))
        reads._receive(*asked())
        posted.wait(1)
        reads._readers.shutdown()
    (line,) = logged
    assert "clock" in line["event"]
    assert line["seconds_late"] >= 20
