"""Limits of requests as clients use them: one bucket for a system, and operations before observations."""

from collections.abc import Mapping
from typing import Any, ClassVar

from cache.rates.buckets import MemoryBuckets
from orchestrator.config.settings import Settings
from orchestrator.plugins.client_plugin import ClientPlugin
from orchestrator.plugins.clients import Clients
from orchestrator.plugins.properties import Property
from orchestrator.plugins.request_rates import RATE_OPTIONS, RequestRates, observing
from orchestrator.plugins.steps import RateLimited
from tests.services.servers import RedisServer

#: So slow that no token is added while a test runs.
SLOW: Mapping[str, Any] = {"requests_per_second": 0.01, "burst": 4}


class Api(ClientPlugin):
    """A client that limits its requests."""

    name = "api"
    options_schema: ClassVar[Mapping[str, Property]] = dict(RATE_OPTIONS)

    def look_up(self, entity: str, name: str) -> str:
        raise NotImplementedError


def taken(api: ClientPlugin, target: str = "one") -> int:
    """Return how many tokens a system has left for this thread, and take them."""
    rate, count = api.request_rate(target), 0
    while True:
        try:
            rate.take()
        except RateLimited:
            return count
        count += 1


def clients(url: str = "") -> Clients:
    own = {"other": {"burst": 2}}
    given: dict[str, Any] = {"cache_url": url, "clients": {"api": {**SLOW, "projects": own}}}
    settings = Settings(**given)
    return Clients(settings, {"api": Api})


def test_an_observation_leaves_half_of_the_burst_to_operations() -> None:
    api = clients().of("p").get("api")
    with observing():
        assert taken(api) == 2
        assert taken(api) == 0
    assert taken(api) == 2


def test_projects_share_the_limit_of_a_system_unless_theirs_is_another() -> None:
    of = clients().of
    one, same, other = (of(project).get("api") for project in ("p", "q", "other"))
    assert (taken(one), taken(same), taken(other)) == (4, 0, 2)
    assert taken(one, "another system") == 4


def test_processes_with_a_cache_server_share_their_buckets(redis_server: RedisServer) -> None:
    url = redis_server.empty_database()
    one, other = (clients(url).of("p").get("api") for _ in range(2))
    assert (taken(one), taken(other)) == (4, 0)


def test_a_cache_that_counts_for_no_other_process_leaves_each_its_own() -> None:
    settings = Settings(cache_url="/nowhere")
    assert isinstance(RequestRates(settings)._place(), MemoryBuckets)
