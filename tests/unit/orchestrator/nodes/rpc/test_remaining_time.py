"""The remaining time of requests: by a clock that both ends can read, and by the receiver's own from then on."""

import time
from dataclasses import replace

import pytest

from orchestrator.nodes.rpc.messages import Request

#: What travels of a request; agents of the version before refuse any other field.
FIELDS = {"id", "node", "rpc", "arguments", "operation_id", "deadline"}


@pytest.fixture
def request_made() -> Request:
    return Request(id="1", node="n1", rpc="look", deadline=time.time() + 60.0)


def test_remaining_time_travels_beside_the_request_and_not_in_it(request_made: Request) -> None:
    received = request_made.received({"sent_at": 5.0, "lifetime_seconds": 60.0}, 5.0)
    assert request_made.to_wire().keys() == received.to_wire().keys() == FIELDS
    assert request_made.life(5.0).keys() == {"sent_at", "lifetime_seconds"}


def test_sender_with_a_wrong_clock_is_understood(request_made: Request) -> None:
    sent = replace(request_made, deadline=request_made.deadline - 3600.0)
    life = {"sent_at": 1000.0, "lifetime_seconds": 60.0}
    assert sent.seconds_left(time.time()) < 0
    assert 45.0 < sent.received(life, 1010.0).seconds_left(time.time()) <= 50.0


def test_time_in_the_queue_counts(request_made: Request) -> None:
    assert request_made.received(request_made.life(1000.0), 1070.0).seconds_left(time.time()) < -5.0


def test_time_after_the_receipt_counts_whatever_the_wall_clock_says(
    request_made: Request, monkeypatch: pytest.MonkeyPatch
) -> None:
    boot = time.clock_gettime(time.CLOCK_BOOTTIME)
    monkeypatch.setattr(time, "clock_gettime", lambda _: boot)
    received = request_made.received(request_made.life(1000.0), 1000.0)
    assert received.seconds_left(0.0) > 0
    monkeypatch.setattr(time, "clock_gettime", lambda _: boot + 61.0)
    assert received.seconds_left(0.0) < 0


@pytest.mark.parametrize("life", [{}, {"sent_at": None, "lifetime_seconds": None}, {"sent_at": "1"}])
def test_deadline_counts_for_senders_of_the_version_before(
    request_made: Request, life: dict[str, object]
) -> None:
    assert request_made.received(life, 1000.0) == request_made


def test_deadline_counts_where_there_is_no_common_clock(request_made: Request) -> None:
    assert request_made.life(None) == {}
    assert request_made.received(request_made.life(1000.0), None) == request_made
