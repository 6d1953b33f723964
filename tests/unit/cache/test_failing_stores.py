"""Whatever happens to a server, a constraint cache answers, and soon; and is of use again afterwards."""

from concurrent.futures import ThreadPoolExecutor

import pytest
from structlog.testing import capture_logs

from tests.services.servers import Server
from tests.unit.cache.places import NAME, SERVED, Cloud, Missing, Place, key_in
from tests.waiting import PATIENCE_SECONDS

ON_SERVERS = pytest.mark.parametrize("kind", SERVED)
#: How long a server may take in these tests.
IMPATIENT = {"timeout_seconds": 0.1}
#: A few time-outs, on a busy machine; locks live longer.


@ON_SERVERS
def test_stopped_server_costs_questions_and_no_errors(place: Place, running: Server) -> None:
    cache, cloud = place.cache(), Cloud(small="f-1")
    cache.get(*NAME, cloud.ask)
    running.crash()
    with capture_logs() as logs:
        assert [cache.get(*NAME, cloud.ask) for _ in range(2)] == ["f-1", "f-1"]
        assert cache.refresh(*NAME, cloud.ask) == "f-1"
        cloud.ids.clear()
        for look in (cache.get, cache.refresh):
            with pytest.raises(Missing):
                look(*NAME, cloud.ask)
        cache.forget(*NAME)
        assert not cache.flush()
        assert not cache.describe().reachable
    assert cloud.asked == 6
    assert cache.counters.errors > 0
    assert [entry["fault"] for entry in logs] == ["unreachable"]


@ON_SERVERS
def test_server_that_comes_back_is_of_use_again(place: Place, running: Server) -> None:
    cache, cloud = place.cache(), Cloud(small="f-1")
    cache.get(*NAME, cloud.ask)
    running.crash()
    cache.get(*NAME, cloud.ask)
    running.launch()
    assert [cache.get(*NAME, cloud.ask) for _ in range(3)] == ["f-1"] * 3
    assert cloud.asked == 3
    assert cache.describe().reachable


@ON_SERVERS
def test_server_restarted_between_two_looks_is_no_failure(place: Place, running: Server) -> None:
    cache, cloud = place.cache(), Cloud(small="f-1")
    cache.get(*NAME, cloud.ask)
    running.restart()
    assert [cache.get(*NAME, cloud.ask) for _ in range(3)] == ["f-1"] * 3
    assert cloud.asked == 2
    assert cache.counters.errors == 0


@ON_SERVERS
def test_server_that_dies_while_one_asks_takes_nothing_with_it(place: Place, running: Server) -> None:
    cache, cloud = place.cache(), Cloud(small="f-1")

    def ask() -> str:
        running.crash()
        return cloud.ask()

    assert cache.get(*NAME, ask) == "f-1"
    running.launch()
    assert [cache.get(*NAME, cloud.ask) for _ in range(2)] == ["f-1"] * 2
    assert cloud.asked == 2


@ON_SERVERS
def test_hanging_server_costs_a_moment_once(place: Place, running: Server) -> None:
    cache, cloud = place.cache(arguments=IMPATIENT, pause_seconds=60), Cloud(small="f-1")
    cache.get(*NAME, cloud.ask)
    with running.frozen():
        assert cache.get(*NAME, cloud.ask) == "f-1"
        failed = cache.counters.errors
        assert [cache.get(*NAME, cloud.ask) for _ in range(100)] == ["f-1"] * 100
        # Nobody has tried it since.
        assert cache.counters.errors == failed
        cloud.ids.clear()
        with pytest.raises(Missing):
            cache.get(*NAME, cloud.ask)
        # That what is gone is to be forgotten is tried, once.
        assert cache.counters.errors == failed + 1


@ON_SERVERS
def test_whoever_waits_for_another_is_let_go_when_the_server_hangs(place: Place, running: Server) -> None:
    cache, cloud = place.cache(arguments=IMPATIENT, lock_seconds=60, pause_seconds=60), Cloud(small="f-1")
    other = place.cache()
    assert other._process.answers.claim(other._key(*NAME), b"another worker")
    with ThreadPoolExecutor(1) as pool:
        waiting = pool.submit(cache.get, *NAME, cloud.ask)
        with running.frozen():
            assert waiting.result(PATIENCE_SECONDS) == "f-1"
    assert cloud.asked == 1
    assert key_in(cache, *NAME) == key_in(other, *NAME)


@ON_SERVERS
def test_threads_share_one_question_also_without_a_server(place: Place, running: Server) -> None:
    cache, cloud = place.cache(), Cloud(small="f-1")
    running.crash()
    seen: list[object] = []

    def ask() -> str:
        # A thread that looks now finds this one asking.
        seen.append(dict(cache._process.flights._under_way))
        return cloud.ask()

    assert cache.get(*NAME, ask) == "f-1"
    assert len(seen) == 1
    assert seen[0]
