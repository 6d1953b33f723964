"""The agent of embedded mode, called within this process: it holds up nobody, and nobody is told more than once."""

import threading
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import dataclass, field

import pytest

from cache.node_state.errors import NodeTimeout
from orchestrator.nodes.rpc.local import LocalTransport
from orchestrator.nodes.rpc.messages import Reply, Request

#: Longer than anything takes; waited for in full only if a claim is wrong.
LONG_SECONDS = 30.0


def request_of(number: int = 0) -> Request:
    return Request(id=f"r{number}", node="local", rpc="any", operation_id=f"o{number}", deadline=0.0)


@dataclass
class Slow:
    """An agent that answers and carries out only when it is let."""

    let: threading.Semaphore = field(default_factory=lambda: threading.Semaphore(0))
    began: list[str] = field(default_factory=list)
    ended: list[str] = field(default_factory=list)
    closed: bool = False
    changed: threading.Condition = field(default_factory=threading.Condition)

    def answer(self, request: Request) -> Reply:
        self._work(request)
        return Reply(
            id=request.id,
            node=request.node,
            incarnation="i",
            boot_id="b",
            seq=0,
            inflight=0,
            taken_at=0.0,
            duration_seconds=0.0,
            result="answered",
        )

    def carry_out(self, request: Request) -> Reply:
        return self.answer(request)

    def close(self) -> None:
        self.closed = True

    def _work(self, request: Request) -> None:
        with self.changed:
            self.began.append(request.id)
            self.changed.notify_all()
        self.let.acquire()
        with self.changed:
            self.ended.append(request.id)
            self.changed.notify_all()

    def wait_until(self, began: int = 0, ended: int = 0) -> None:
        with self.changed:
            assert self.changed.wait_for(
                lambda: len(self.began) >= began and len(self.ended) >= ended, LONG_SECONDS
            )


@contextmanager
def transport_of(agent: Slow, threads: int = 2) -> Iterator[LocalTransport]:
    transport = LocalTransport(agent, threads=threads)
    try:
        yield transport
    finally:
        agent.let.release(100)
        transport.close()


def test_read_returns_what_the_agent_answers() -> None:
    agent = Slow()
    agent.let.release()
    with transport_of(agent) as transport:
        assert transport.read(request_of(), timeout_seconds=LONG_SECONDS).result == "answered"


def test_read_that_hangs_is_given_up_in_time() -> None:
    with transport_of(Slow()) as transport, pytest.raises(NodeTimeout, match=r"within 0\.01 s"):
        transport.read(request_of(), timeout_seconds=0.01)


def test_hanging_changes_hold_up_no_read() -> None:
    agent = Slow()
    with transport_of(agent) as transport:
        for number in range(4):
            transport.send(request_of(number))
        agent.wait_until(began=2)
        with ThreadPoolExecutor(1) as pool:
            reading = pool.submit(transport.read, request_of(9), timeout_seconds=LONG_SECONDS)
            agent.wait_until(began=3)
            assert agent.began[2] == "r9"
            agent.let.release(10)
            assert reading.result(LONG_SECONDS).id == "r9"


def test_changes_begin_in_the_order_of_sending_and_so_many_at_once() -> None:
    agent = Slow()
    with transport_of(agent, threads=2) as transport:
        for number in range(5):
            transport.send(request_of(number))
        agent.wait_until(began=2)
        assert sorted(agent.began) == ["r0", "r1"]
        agent.let.release()
        agent.wait_until(began=3)
        assert agent.began[2] == "r2"
        agent.let.release(10)
        agent.wait_until(ended=5)
    assert sorted(agent.ended) == [f"r{number}" for number in range(5)]


def test_closing_waits_for_what_is_under_way_and_lets_go_of_the_agent() -> None:
    agent = Slow()
    transport = LocalTransport(agent, threads=1)
    transport.send(request_of())
    agent.wait_until(began=1)
    agent.let.release()
    transport.close()
    assert (agent.ended, agent.closed) == (["r0"], True)
