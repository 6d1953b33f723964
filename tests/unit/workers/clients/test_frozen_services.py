"""A service that hangs holds up the look-ups that need it, once and together, and no others."""

import os
import re
import threading
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any, TypeVar

import pytest

from cache.constraints.cache import ConstraintCache
from orchestrator.config.settings import Settings
from orchestrator.errors import typed_message
from orchestrator.plugins.client_plugin import ClientContext, ClientPlugin
from orchestrator.plugins.clients import Clients, options_of
from tests.services.http_api import Fault, How, HttpApi
from tests.services.openstack_api import OpenStackApi, User, openstack_api
from tests.unit.workers.clients.openstack import PLACES, Hasty, client_of, hurried
from tests.waiting import PATIENCE_SECONDS
from workers.clients.http import PATH
from workers.clients.openstack import Cinder, Glance, Keystone, Neutron, Nova, OpenStack

Answer = TypeVar("Answer")

HANGS = Fault(how=How.HANG)
SERVICES = sorted({place[0] for place in PLACES.values()})
VERSIONS = {"compute": Nova, "image": Glance, "network": Neutron, "volume": Cinder, "identity": Keystone}
#: As long as the settings allow: what would wait for a service that hangs fails by the test's own patience.
LONGEST_SECONDS = 600
#: More than there are threads: some begin when others have failed.
MANY = 24


class Sharing(Hasty):
    """Shares the outcome of a discovery for longer than any test takes."""

    shared_seconds = 3600.0


@pytest.fixture
def api() -> Iterator[OpenStackApi]:
    with openstack_api(User(name="demo", project="demo", admin=True)) as api:
        yield api


@pytest.fixture
def pool() -> Iterator[ThreadPoolExecutor]:
    with ThreadPoolExecutor(16) as threads:
        yield threads


def options(api: OpenStackApi, directory: Path, **others: Any) -> dict[str, Any]:
    return {"cloud": "demo", "config_file": str(api.write_clouds(directory)), **others}


def in_time(pool: ThreadPoolExecutor, call: Callable[..., Answer], *args: Any, **options: Any) -> Answer:
    return pool.submit(call, *args, **options).result(PATIENCE_SECONDS)


@pytest.mark.parametrize("frozen", SERVICES)
def test_a_frozen_service_holds_up_no_other_and_no_cached_answer(
    frozen: str,
    api: OpenStackApi,
    pool: ThreadPoolExecutor,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    ids = {kind: api.have(*place, name="web") for kind, place in PLACES.items()} | {"keypair": "web"}
    cache = ConstraintCache("openstack")

    def client(timeout_seconds: float) -> Hasty:
        given = options_of(Hasty, options(api, tmp_path, timeout_seconds=timeout_seconds), "web")
        return Hasty(ClientContext("web"), given, cache)

    filling = client(LONGEST_SECONDS - 1)
    assert {kind: filling.find(kind, "web") for kind in PLACES} == ids
    # Another connection to the same cloud, which has found no service yet.
    user = client(LONGEST_SECONDS)
    user.probe()
    api.forget_requests()
    api.fail(HANGS, path=f"/{frozen}*", times=-1)
    slow = {kind: pool.submit(user.look_up, kind, "web") for kind in PLACES if PLACES[kind][0] == frozen}
    try:
        api.wait_for("GET", f"/{frozen}*")
        for kind, its_id in ids.items():
            assert in_time(pool, user.find, kind, "web", use_cache=True) == its_id
            if PLACES[kind][0] != frozen:
                assert in_time(pool, user.look_up, kind, "web") == its_id
        for service in set(SERVICES) - {frozen}:
            # Their connection is the same, which is logged in.
            monkeypatch.setattr(VERSIONS[service], "shared_seconds", Hasty.shared_seconds)
            versioned = client_of(VERSIONS[service], options(api, tmp_path, timeout_seconds=LONGEST_SECONDS))
            assert in_time(pool, versioned.probe).startswith("speaks version")
        assert in_time(pool, user.probe)
        assert not any(each.done() for each in slow.values())
    finally:
        api.heal()
    assert {kind: each.result(PATIENCE_SECONDS) for kind, each in slow.items()} == {
        kind: ids[kind] for kind in slow
    }


def test_a_path_that_hangs_holds_up_no_other_and_no_cached_answer(
    http_api: HttpApi, pool: ThreadPoolExecutor
) -> None:
    http_api.put("/images/cirros")
    http_api.put("/images/debian")
    section = {"base_url": http_api.url, "read_seconds": LONGEST_SECONDS, "total_seconds": LONGEST_SECONDS}
    client: ClientPlugin = Clients(Settings(clients={"http": section})).of("web").get("http")
    assert client.find(PATH, "/images/cirros", use_cache=True)
    http_api.fail(HANGS, path="/images/slow", times=-1)
    slow = pool.submit(client.find, PATH, "/images/slow", use_cache=True)
    try:
        http_api.wait_for("GET", "/images/slow")
        for path in ("/images/cirros", "/images/debian"):
            assert in_time(pool, client.find, PATH, path, use_cache=True) == f"default:{path}"
        assert not slow.done()
    finally:
        http_api.heal()
    assert isinstance(slow.exception(PATIENCE_SECONDS), Exception)


def asked_by(pool: ThreadPoolExecutor, user: Hasty, kind: str, many: int) -> list[BaseException | None]:
    return [
        each.exception(PATIENCE_SECONDS)
        for each in [pool.submit(user.look_up, kind, f"web{number}") for number in range(many)]
    ]


def test_many_that_need_the_versions_of_a_dead_service_ask_as_often_as_one(
    api: OpenStackApi, pool: ThreadPoolExecutor, tmp_path: Path
) -> None:
    counts = []
    for many in (1, MANY):
        user = hurried(client_of(Sharing, options(api, tmp_path, timeout_seconds=LONGEST_SECONDS, retries=1)))
        api.forget_requests()
        api.fail(HANGS, path="/image*", times=-1)
        assert all(isinstance(each, Exception) for each in asked_by(pool, user, "image", many))
        # Who gives up may do so before the request is counted.
        api.wait_for("*", "/image*", times=2)
        counts.append(api.count("*", "/image*"))
        api.heal()
        user.close()
    # One request in each attempt, although there are several addresses to try.
    assert counts == [2, 2]


def test_many_that_need_a_dead_login_try_it_as_often_as_one(
    api: OpenStackApi, pool: ThreadPoolExecutor, tmp_path: Path
) -> None:
    user = client_of(Sharing, options(api, tmp_path, timeout_seconds=0.2, retries=1))
    api.fail(HANGS, path="/identity*", times=-1)
    for kind in ("image", "volume", "flavor"):
        assert all(isinstance(each, Exception) for each in asked_by(pool, user, kind, MANY))
    api.wait_for("*", "/identity*", times=2)
    assert api.count("*", "/identity*") == 2


def test_a_wrong_password_is_tried_once_for_all(
    api: OpenStackApi, pool: ThreadPoolExecutor, tmp_path: Path
) -> None:
    path = api.write_clouds(tmp_path)
    path.write_text(path.read_text().replace('"password": "demo"', '"password": "domo"'))
    user = client_of(Sharing, {"cloud": "demo", "config_file": str(path)})
    assert all(isinstance(each, Exception) for each in asked_by(pool, user, "flavor", MANY))
    assert api.logins == 1


@pytest.mark.parametrize("path", ["/identity*", "/image*"])
def test_a_failure_is_over_when_its_moment_is(path: str, api: OpenStackApi, tmp_path: Path) -> None:
    its_id = api.have("image", "images", name="debian")
    user = client_of(Hasty, options(api, tmp_path, retries=0))
    api.fail(Fault(status=503), path=path, times=-1)
    for _ in range(2):
        with pytest.raises(Exception) as caught:
            user.look_up("image", "debian")
        assert user.is_retryable(caught.value)
    api.heal()
    assert user.look_up("image", "debian") == its_id


def test_a_failure_is_forgotten_when_the_connection_is_closed(api: OpenStackApi, tmp_path: Path) -> None:
    its_id = api.have("image", "images", name="debian")
    user = client_of(Sharing, options(api, tmp_path, retries=0))
    api.fail(Fault(status=503), path="/image*", times=-1)
    with pytest.raises(Exception, match="503 Server Error"):
        user.look_up("image", "debian")
    api.heal()
    user.close()
    assert user.look_up("image", "debian") == its_id


def test_a_child_process_does_not_wait_for_what_its_parent_asks(
    api: OpenStackApi, pool: ThreadPoolExecutor, tmp_path: Path
) -> None:
    its_id = api.have("image", "images", name="debian")
    user = client_of(Hasty, options(api, tmp_path, timeout_seconds=LONGEST_SECONDS))
    user.probe()
    api.fail(HANGS, path="/image*")
    slow = pool.submit(user.look_up, "image", "debian")
    api.wait_for("GET", "/image*")
    child = os.fork()
    if child == 0:
        # Nothing of the test run may go on here.
        os._exit(0 if user.look_up("image", "debian") == its_id else 1)
    assert os.waitpid(child, 0)[1] == 0
    assert not slow.done()
    api.heal()
    assert slow.result(PATIENCE_SECONDS) == its_id


def test_a_version_of_a_dead_service_is_asked_for_as_often_as_by_one(
    api: OpenStackApi, pool: ThreadPoolExecutor, tmp_path: Path
) -> None:
    class Version(Sharing):
        service = "block_storage"

    user = hurried(client_of(Version, options(api, tmp_path, timeout_seconds=LONGEST_SECONDS, retries=1)))
    api.fail(HANGS, path="/volume*", times=-1)
    start = threading.Barrier(16)

    def version() -> str:
        start.wait(PATIENCE_SECONDS)
        return user.api_version

    failures = [each.exception(PATIENCE_SECONDS) for each in [pool.submit(version) for _ in range(16)]]
    assert all(isinstance(each, Exception) for each in failures)
    api.wait_for("*", "/volume*", times=2)
    assert api.count("*", "/volume*") == 2


@pytest.mark.parametrize(
    ("fault", "said"),
    [
        (HANGS, "ReadTimeout: .*Read timed out"),
        (Fault(how=How.CLOSE), "ConnectionError: .*Connection aborted"),
        (Fault(status=503), "HTTPError: 503 Server Error: Service Unavailable for url: http://.*"),
        (Fault(status=500), "HTTPError: 500 Server Error: Internal Server Error for url: http://.*"),
    ],
)
@pytest.mark.parametrize("service", ["compute", "image", "volume", "identity"])
def test_a_dead_service_is_reported_as_dead(
    service: str, fault: Fault, said: str, api: OpenStackApi, tmp_path: Path
) -> None:
    seconds = 0.2 if fault is HANGS and service == "identity" else LONGEST_SECONDS
    found = client_of(VERSIONS[service], options(api, tmp_path, timeout_seconds=seconds, retries=0))
    if service != "identity":
        OpenStack.probe(found)
        if fault is HANGS:
            hurried(found)
    api.fail(fault, path=f"/{service}*", times=-1)
    with pytest.raises(Exception) as caught:
        _ = found.api_version
    assert re.match(said, typed_message(caught.value))
    assert "version" not in str(caught.value)
