"""Processes share the buckets of a real server, and are bounded without it."""

import json
import subprocess
import sys
from contextlib import ExitStack, closing
from dataclasses import asdict
from pathlib import Path

import pytest

from cache.rates.bucket import Draw, Limit, drawn
from cache.rates.buckets import Buckets
from cache.rates.redis_buckets import RedisBuckets
from cache.rates.request_rate import LOCAL_PART, PAUSE_SECONDS, RateExceeded, RequestRate, SafeBuckets
from tests.services.servers import MemcachedServer, RedisServer
from tests.unit.cache.places import SERVED, Clock, Place
from tests.unit.cache.rates.places import TIMEOUT_SECONDS, buckets_at

ROOT = Path(__file__).parents[4]
NOW = 1_000_000.0
PROCESSES = 3


def together(place: Place, draw: Draw, attempts: int) -> list[float]:
    """Return the waits that some processes were granted that take at once, at the same moment of their clocks."""
    given = {"kind": place.backend, "url": place.url, "draw": asdict(draw), "now": NOW, "attempts": attempts}
    command = [sys.executable, "-m", "tests.unit.cache.rates.taker", json.dumps(given)]
    with ExitStack() as stack:
        processes = [
            stack.enter_context(
                subprocess.Popen(command, cwd=ROOT, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
            )
            for _ in range(PROCESSES)
        ]
        for process in processes:
            assert process.stdout is not None
            assert process.stdout.readline() == "ready\n"
        for process in processes:
            assert process.stdin is not None
            process.stdin.write("\n")
            process.stdin.flush()
        said = [process.communicate()[0] for process in processes]
    return [wait for each in said for wait in json.loads(each)]


@pytest.mark.parametrize("kind", SERVED)
def test_processes_are_granted_together_what_one_would_be(place: Place) -> None:
    # 16 at once, of which 4 are reserved; and those of the second that is waited for.
    draw = Draw(Limit(requests_per_second=8.0, burst=16), reserve=4, patience_seconds=1.0)
    waits = together(place, draw, attempts=40)
    assert sorted(waits) == [0.0] * 12 + [(number + 1) / 8 for number in range(8)]


@pytest.mark.parametrize("kind", ["memory", *SERVED])
def test_a_place_grants_what_the_pure_bucket_does_whatever_is_stored(kind: str, place: Place) -> None:
    clock = Clock(NOW)
    buckets = buckets_at(kind, place.url, clock)
    draw = Draw(Limit(requests_per_second=2.0, burst=2), patience_seconds=0.5)
    state, expected, found = None, [], []
    for pause in (0, 0, 0, 0, 0.25, 2, 0, 0):
        clock.now += pause
        state, wait = drawn(state, draw, clock.now)
        expected.append(wait)
        found.append(buckets.take("k", draw))
    assert found == expected


@pytest.mark.parametrize("kind", SERVED)
def test_a_foreign_value_is_a_full_bucket(
    kind: str, place: Place, running: RedisServer | MemcachedServer
) -> None:
    draw = Draw(Limit(requests_per_second=1.0, burst=1))
    for nonsense in (b"no number", b"nan", b"1e300"):
        with closing(running.client()) as client:
            client.set("k", nonsense)
        buckets = buckets_at(kind, place.url, Clock(NOW))
        assert [buckets.take("k", draw), buckets.take("k", draw)] == [0.0, 1.0]


def test_redis_counts_by_its_own_clock(redis_server: RedisServer) -> None:
    redis_server.flush()
    # Processes whose clocks differ by a day: neither reads its own.
    draw = Draw(Limit(requests_per_second=0.001, burst=2))
    each = [RedisBuckets(redis_server.url, timeout_seconds=TIMEOUT_SECONDS) for _ in range(3)]
    waits = [buckets.take("k", draw) for buckets in each]
    assert waits[:2] == [0.0, 0.0]
    assert waits[2] > 900


class Flaky:
    """Shared buckets that are away when told."""

    def __init__(self) -> None:
        self.is_away, self.asked = False, 0

    def take(self, key: str, draw: Draw) -> float:
        self.asked += 1
        if self.is_away:
            raise ConnectionError(key)
        return 0.0


def test_without_its_server_a_process_has_a_part_of_the_limit_and_asks_again_later() -> None:
    clock, flaky = Clock(NOW), Flaky()
    buckets: Buckets = SafeBuckets(flaky, clock=clock)
    draw = Draw(Limit(requests_per_second=10.0, burst=30), reserve=15)
    assert buckets.take("k", draw) == 0
    flaky.is_away = True
    waits = [buckets.take("k", draw) for _ in range(30)]
    # A tenth of the burst, less a tenth of the reserve.
    assert waits.count(0.0) == 30 * LOCAL_PART - 1
    assert flaky.asked == 2
    clock.now += PAUSE_SECONDS
    flaky.is_away = False
    assert [buckets.take("k", draw) for _ in range(30)] == [0.0] * 30
    assert flaky.asked == 32


def test_a_request_waits_for_its_token_and_is_refused_one_that_is_too_far_away() -> None:
    slept: list[float] = []
    rate = RequestRate(buckets_at("memory", "", Clock(NOW)), "k", Limit(4.0, 2), sleep=slept.append)
    rate.take(reserve_part=0.5, patience_seconds=0.25)
    rate.take(reserve_part=0.5, patience_seconds=0.25)
    with pytest.raises(RateExceeded) as refused:
        rate.take(reserve_part=0.5, patience_seconds=0.25)
    assert refused.value.seconds == 0.5
    # What needs not leave the reserve gets it.
    rate.take(patience_seconds=0.25)
    assert slept == [0.25, 0.25]
