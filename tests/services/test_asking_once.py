"""Real workers on real servers ask an HTTP API that counts: once for all who demand the same, if there is a cache."""

import json
import subprocess
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest
from sqlalchemy import make_url

from orchestrator.store import migrations
from tests.services.asking import CACHE, PATIENT, Asking
from tests.services.demanding import NAMES, path_of, template
from tests.services.engine import EngineProcess, running
from tests.services.fixtures import or_skip
from tests.services.http_api import HttpApi
from tests.services.servers import MemcachedServer, PostgresServer, RedisServer, Server
from tests.waiting import PATIENCE_SECONDS, until

pytestmark = pytest.mark.slow

#: How many resources share three names; each is looked at with its stack, and again before its own action.
RESOURCES = 200
#: Enough for what each of them costs by itself.
SOME = 50
WORKERS = 4

Build = Callable[..., Asking]


@pytest.fixture
def api() -> Iterator[HttpApi]:
    """An API where each project has what is demanded."""
    with HttpApi() as api:
        for name in NAMES:
            api.put(path_of(name), tenant="default")
        yield api


@pytest.fixture
def build(tmp_path: Path, redis_url: str, postgres_url: str, api: HttpApi) -> Build:
    """Return what prepares an installation on real servers, with some settings."""

    def build(**settings: Any) -> Asking:
        migrations.upgrade(postgres_url)
        given = {"cache_backend": "redis", "cache_url": redis_url, "constraint_cache": CACHE, **settings}
        return Asking(
            tmp_path / "asking",
            clients={"http": {"base_url": api.url, "project_header": "X-Project", **PATIENT}},
            broker_url=redis_url,
            database_url=postgres_url,
            **given,
        )

    return build


@contextmanager
def at_work(asking: Asking) -> Iterator[list[EngineProcess]]:
    """Let a coordinator and a worker of four processes run."""
    worker = ("worker", "--concurrency", str(WORKERS))
    with running([asking.start("coordinator", "--concurrency", "1"), asking.start(*worker)]) as engines:
        yield engines


def assert_made(asking: Asking, number: int = RESOURCES) -> None:
    """Create a stack whose resources share three names."""
    asking.write("many.yaml", template(number))
    done = asking.run("stack", "create", "many", "-t", "many.yaml")
    assert done.returncode == 0, done.stderr


def test_hundreds_that_share_three_names_cost_three_requests(build: Build, api: HttpApi) -> None:
    asking = build()
    with at_work(asking):
        assert_made(asking)
    assert api.counts() == {("GET", path_of(name)): 1 for name in NAMES}


def test_without_the_cache_they_cost_one_request_each_and_one_for_each_name(
    build: Build, api: HttpApi
) -> None:
    asking = build(constraint_cache={"enabled": False})
    with at_work(asking):
        assert_made(asking, SOME)
    assert api.count() == len(NAMES) + SOME


@pytest.mark.parametrize(
    ("kind", "number"),
    [
        pytest.param(RedisServer, RESOURCES, id="redis"),
        pytest.param(MemcachedServer, RESOURCES, id="memcached"),
    ],
)
def test_a_cache_server_that_dies_on_the_way_costs_requests_and_nothing_else(
    kind: type[Server], number: int, build: Build, api: HttpApi, postgres_server: PostgresServer
) -> None:
    some = number // 20
    with or_skip(kind.start) as server:
        asking = build(cache_backend=kind.program.removesuffix("-server"), cache_url=server.url)
        name = str(make_url(asking.environment["ISOTHERM_DATABASE_URL"]).database)
        asking.write("many.yaml", template(number))
        with at_work(asking), postgres_server.connect(name) as database:

            def some_are_made() -> bool:
                made = database.execute("SELECT count(*) FROM resource WHERE status = 'COMPLETE'").fetchone()
                return made is not None and made[0] >= some

            create = asking.start("stack", "create", "many", "-t", "many.yaml")
            until(some_are_made)
            # The whole stack has been looked at, and what has begun since was found in the cache.
            assert api.count() == len(NAMES)
            server.crash()
            api.wait_for("GET", times=len(NAMES) + some)
            server.launch()
            said, _ = create.communicate(timeout=PATIENCE_SECONDS)
            assert create.returncode == 0, said
    asked = api.count()
    # Who finds the cache away asks for itself, once before its action, and so never more often than without a cache.
    assert len(NAMES) + some <= asked <= len(NAMES) + number
    (counted,) = json.loads(asking.run("cache", "stats", "--client", "http", "-f", "json").stdout)
    counters = counted["counters"]
    assert (counters["misses"], counters["hits"]) == (asked, len(NAMES) + number - asked)
    # Who met the dead server said so; how often each tries it again is a matter of time (test_fail_open.py).
    assert counters["errors"] >= 1


def test_a_client_that_sees_no_system_is_told_by_the_coordinator_what_each_project_lacks(
    build: Build, api: HttpApi
) -> None:
    asking = build()
    api.put(path_of("secret"), tenant="ours")
    asking.write("two.yaml", template(2, ["secret"]))
    with at_work(asking):

        def create(project: str, name: str) -> "subprocess.CompletedProcess[str]":
            words = ("stack", "create", name, "-t", "two.yaml", "--timeout", "1")
            return asking.run(*words, ISOTHERM_PROJECT=project, ISOTHERM_CLIENTS="{}")

        assert create("ours", "first").returncode == 0
        for name in ("second", "third"):
            refused = create("theirs", name)
            assert refused.returncode == 2, refused
            for line, resource in ((3, "r0"), (4, "r1")):
                place = f"two.yaml:{line}:46: resources.{resource}.properties.image"
                assert f"{place}: there is no path '/images/secret'" in refused.stderr
        assert create("ours", "fourth").returncode == 0
        listed = asking.run("stack", "list", "-f", "json", ISOTHERM_PROJECT="theirs")
    assert json.loads(listed.stdout) == []
    # A yes is kept, a no is not, and neither is anybody else's.
    assert api.count(tenant="ours") == 1
    assert 2 <= api.count(tenant="theirs") <= 4
    assert api.count() == api.count(tenant="ours") + api.count(tenant="theirs")
