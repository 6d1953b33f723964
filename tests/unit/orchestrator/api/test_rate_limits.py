"""Rate limits: each project has its own, wherever requests are counted, and a server that is away refuses nobody."""

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import falcon
import pytest
from falcon import testing
from limits.storage import MemoryStorage
from structlog.testing import capture_logs

from orchestrator.api.application import make_application
from orchestrator.api.callers import identifier_of
from orchestrator.api.door import Door
from orchestrator.api.faults import Refused
from orchestrator.api.kinds import TOKENS
from orchestrator.api.rate_limits import LOG_SECONDS, PAUSE_SECONDS, RequestLimit
from orchestrator.config.access_policy import load_policy
from orchestrator.config.settings import Settings
from orchestrator.errors import InvalidInput
from orchestrator.service import Service
from tests.services.process import free_port
from tests.services.servers import MemcachedServer, RedisServer
from tests.unit.orchestrator.api.conftest import Client


def limit_at(url: str, per_minute: int = 2) -> RequestLimit:
    """Return the limit of a process whose shared caches are at an address; empty for its own memory."""
    return RequestLimit.of(Settings(cache_url=url, api_requests_per_minute=per_minute))


def is_refused(limit: RequestLimit, project: str) -> bool:
    try:
        limit.require(project)
    except Refused:
        return True
    return False


def exhaust(limit: RequestLimit, project: str) -> None:
    assert [is_refused(limit, project) for _ in range(3)] == [False, False, True]


@pytest.fixture(params=["memory", "redis", "memcached"])
def url(request: pytest.FixtureRequest) -> str:
    """Where requests are counted."""
    if request.param == "redis":
        server: RedisServer = request.getfixturevalue("redis_server")
        return server.empty_database()
    if request.param == "memcached":
        cache: MemcachedServer = request.getfixturevalue("memcached_server")
        return cache.url
    return ""


def test_no_project_uses_up_what_another_may_send(url: str) -> None:
    limit = limit_at(url)
    # Names that would be one key with those of others, or that memcached takes for none.
    for project in ("acme", "acme/2", "2/acme", "straße", "two words", "x" * 255):
        exhaust(limit, f"{url}{project}")


def test_processes_count_together_in_a_server(redis_server: RedisServer) -> None:
    url = redis_server.empty_database()
    one, other = limit_at(url), limit_at(url)
    assert not is_refused(one, "acme")
    assert not is_refused(other, "acme")
    assert is_refused(one, "acme")


class Broken(MemoryStorage):
    """A server that fails while it is told to."""

    fails, asked = True, 0

    def incr(self, *arguments: Any, **named: Any) -> int:
        self.asked += 1
        if self.fails:
            raise ConnectionError("redis://:password@cache")
        return super().incr(*arguments, **named)


def test_server_that_is_away_refuses_nobody_and_is_left_out_for_a_while() -> None:
    storage, now = Broken(), [0.0]
    limit = RequestLimit(storage, 2, clock=lambda: now[0])
    with capture_logs() as logs:
        for _ in range(5):
            limit.require("acme")
        assert storage.asked == 1
        now[0] += PAUSE_SECONDS
        limit.require("acme")
        assert (storage.asked, len(logs)) == (2, 1)
        now[0] += LOG_SECONDS
        limit.require("acme")
    assert len(logs) == 2
    assert "password" not in str(logs)
    now[0] += PAUSE_SECONDS
    storage.fails = False
    exhaust(limit, "acme")


@pytest.mark.parametrize("scheme", ["redis://127.0.0.1:{}/0", "127.0.0.1:{}"])
def test_nothing_at_the_address_refuses_nobody(scheme: str) -> None:
    limit = limit_at(scheme.format(free_port()))
    assert not any(is_refused(limit, "acme") for _ in range(5))


def test_address_that_is_none_is_named_without_its_password() -> None:
    with pytest.raises(InvalidInput) as caught:
        limit_at("redis://:secret@host:port/0")
    assert "settings.cache_url" in str(caught.value)
    assert "secret" not in str(caught.value)


def test_requests_over_the_limit_are_refused_in_heats_shape(
    clients: Mapping[str, Client], settings: Settings, door: Door
) -> None:
    limited = settings.with_values(api_requests_per_minute=2)
    service = Service(limited, store=door._whole._store, embedded=None)
    limited_door = Door(service, load_policy(limited), limit=RequestLimit.of(limited))
    application = make_application(limited_door, identifier_of(TOKENS, limited))
    olga = Client(application, token=clients["olga"].token)
    otto = Client(application, project="beta", token=clients["otto"].token)
    # Those who are not let in count for no project.
    for _ in range(5):
        assert Client(application, token=otto.token).ask("GET", "/stacks").status == falcon.HTTP_FORBIDDEN
        assert Client(application).ask("GET", "/stacks").status == falcon.HTTP_UNAUTHORIZED
        signal = Client(application).ask("POST", "/stacks/a/b/resources/c/signal", params={"signature": "x"})
        assert signal.status in (falcon.HTTP_FORBIDDEN, falcon.HTTP_UNAUTHORIZED)
    for _ in range(2):
        olga.get("/stacks")
    refused = olga.ask("GET", "/stacks")
    assert refused.status == falcon.HTTP_TOO_MANY_REQUESTS
    assert 1 <= int(refused.headers["retry-after"]) <= 60
    assert refused.json["error"]["type"] == "HTTPTooManyRequests"
    otto.get("/stacks")
    for path in ("/", "/v1/acme", "/healthcheck"):
        assert testing.simulate_get(application, path).status_code in (200, 300)


def test_limit_is_made_only_where_it_is_set(tmp_path: Path) -> None:
    for per_minute in (0, 5):
        door = Door.open(Settings(state_directory=tmp_path, api_requests_per_minute=per_minute))
        assert (door._limit is not None) == bool(per_minute)
        door.close()
