"""A login that is not valid any more: another token, and another password in clouds.yaml, under a running client."""

import threading
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from tests.services.openstack_api import OpenStackApi, User, openstack_api
from tests.unit.workers.clients.openstack import client, client_of
from workers.clients import openstack_errors
from workers.clients.openstack import Nova

DEMO = User(name="demo", project="demo")
#: How many threads use a client at once.
THREADS = 8


@pytest.fixture
def api() -> Iterator[OpenStackApi]:
    with openstack_api(DEMO) as api:
        api.have("compute", "flavors", name="small", id="7")
        yield api


def rotate(api: OpenStackApi, password: str = "another") -> None:
    """Change the password, and forget all logins."""
    api.passwords["demo"] = password
    api.revoke_tokens()


def test_another_password_in_the_file_is_used_by_a_running_client(api: OpenStackApi, tmp_path: Path) -> None:
    user = client(api, tmp_path)
    assert user.look_up("flavor", "7") == "7"
    rotate(api)
    api.write_clouds(tmp_path)
    assert user.look_up("flavor", "7") == "7"
    assert user.look_up("flavor", "small") == "7"


def test_a_request_is_sent_again_with_it(api: OpenStackApi, tmp_path: Path) -> None:
    path = str(api.write_clouds(tmp_path))
    nova = client_of(Nova, {"cloud": "demo", "config_file": path})
    assert nova.ask("GET", "/flavors")["flavors"]
    rotate(api)
    api.write_clouds(tmp_path)
    assert nova.ask("GET", "/flavors")["flavors"]


def test_without_a_change_of_the_file_the_refusal_is_raised_after_one_login(
    api: OpenStackApi, tmp_path: Path
) -> None:
    user = client(api, tmp_path)
    user.look_up("flavor", "7")
    rotate(api)
    before = api.logins
    with pytest.raises(Exception, match="401") as caught:
        user.look_up("flavor", "7")
    assert openstack_errors.is_unauthorized(caught.value)
    assert not user.is_retryable(caught.value)
    assert api.logins == before + 1


def test_a_file_with_another_wrong_password_is_tried_once(api: OpenStackApi, tmp_path: Path) -> None:
    user = client(api, tmp_path)
    user.look_up("flavor", "7")
    rotate(api, "right")
    api.passwords["demo"] = "wrong"
    api.write_clouds(tmp_path)
    api.passwords["demo"] = "right"
    before = api.logins
    with pytest.raises(Exception, match="401"):
        user.look_up("flavor", "7")
    assert api.logins == before + 2
    api.write_clouds(tmp_path)
    assert user.look_up("flavor", "7") == "7"


@pytest.mark.parametrize("text", ["", "clouds: [", "clouds: {}"])
def test_a_file_in_the_middle_of_a_change_leaves_the_old_login(
    text: str, api: OpenStackApi, tmp_path: Path
) -> None:
    user = client(api, tmp_path)
    user.look_up("flavor", "7")
    rotate(api)
    (tmp_path / "clouds.yaml").write_text(text)
    with pytest.raises(Exception, match="401"):
        user.look_up("flavor", "7")
    api.write_clouds(tmp_path)
    assert user.look_up("flavor", "7") == "7"


def test_all_threads_go_on_with_the_new_login(api: OpenStackApi, tmp_path: Path) -> None:
    user = client(api, tmp_path)
    user.look_up("flavor", "7")
    rotate(api)
    api.write_clouds(tmp_path)
    together = threading.Barrier(THREADS)

    def look(_: int) -> str:
        together.wait()
        return user.look_up("flavor", "7")

    with ThreadPoolExecutor(THREADS) as pool:
        assert list(pool.map(look, range(THREADS))) == ["7"] * THREADS


def test_a_token_that_has_expired_is_replaced_without_reading_the_file(
    api: OpenStackApi, tmp_path: Path
) -> None:
    user = client(api, tmp_path)
    user.look_up("flavor", "7")
    (tmp_path / "clouds.yaml").unlink()
    api.revoke_tokens()
    assert user.look_up("flavor", "7") == "7"
    assert api.logins == 2
