"""What the client of OpenStack does when the cloud does not answer as it should."""

from collections.abc import Iterator
from pathlib import Path

import pytest
from keystoneauth1.exceptions import Unauthorized
from openstack.exceptions import ServiceDisabledException

from orchestrator.plugins.asking import EntityNotFound
from tests.services.http_api import Fault, How
from tests.services.openstack_api import OpenStackApi, openstack_api
from tests.unit.workers.clients.openstack import PLACES, Hasty, client, client_of, hurried
from tests.waiting import PATIENCE_SECONDS
from workers.clients.openstack import OpenStack

FLAVORS = "/compute/*/flavors*"


@pytest.fixture(scope="module")
def cloud() -> Iterator[OpenStackApi]:
    with openstack_api() as api:
        yield api


@pytest.fixture
def api(cloud: OpenStackApi) -> OpenStackApi:
    """The cloud, with a flavor ``small`` in it."""
    cloud.begin_anew()
    cloud.have("compute", "flavors", name="small", id="7")
    return cloud


@pytest.mark.parametrize(
    "fault",
    [
        pytest.param(Fault(status=408), id="408"),
        pytest.param(Fault(status=429), id="429"),
        pytest.param(Fault(status=429, headers={"Retry-After": "0"}), id="429 at once"),
        pytest.param(Fault(status=500), id="500"),
        pytest.param(Fault(status=502, body=b"<html>", headers={"Content-Type": "text/html"}), id="502"),
        pytest.param(Fault(status=503), id="503"),
        pytest.param(Fault(status=504), id="504"),
        pytest.param(Fault(status=200, body=b"<html>", headers={"Content-Type": "text/html"}), id="no JSON"),
        pytest.param(Fault(how=How.CLOSE), id="closed"),
        pytest.param(Fault(how=How.CLOSE_HALF_WAY, body=b'{"flavor": '), id="closed half way"),
    ],
)
class TestWhatPasses:
    def test_is_asked_again(self, fault: Fault, api: OpenStackApi, tmp_path: Path) -> None:
        api.fail(fault, path=FLAVORS, times=2)
        assert client(api, tmp_path).look_up("flavor", "7") == "7"
        assert api.count("GET", FLAVORS) == 3

    def test_is_asked_so_often_and_no_more(self, fault: Fault, api: OpenStackApi, tmp_path: Path) -> None:
        api.fail(fault, path=FLAVORS, times=-1)
        patient = client(api, tmp_path, retries=1)
        with pytest.raises(Exception) as caught:
            patient.look_up("flavor", "7")
        assert patient.is_retryable(caught.value)
        assert not patient.is_not_found(caught.value)
        assert api.count("GET", FLAVORS) == 2


@pytest.mark.parametrize("status", [401, 405, 406, 409, 410, 413, 422, 501])
def test_what_does_not_pass_is_not_asked_again(status: int, api: OpenStackApi, tmp_path: Path) -> None:
    # A token that is refused is replaced once.
    api.fail(Fault(status=status), path=FLAVORS, times=-1)
    steady = client(api, tmp_path)
    with pytest.raises(Exception) as caught:
        steady.look_up("flavor", "7")
    assert not steady.is_retryable(caught.value)
    assert not isinstance(caught.value, EntityNotFound)
    assert api.count("GET", FLAVORS) == (2 if status == 401 else 1)


def test_openstacksdk_does_not_try_again_besides(api: OpenStackApi, tmp_path: Path) -> None:
    user = client(api, tmp_path, retries=1)
    api.fail(Fault(status=503), path="/image/v2/images*", times=-1)
    with pytest.raises(Exception, match="503"):
        user.look_up("image", "debian")
    assert api.count("GET", "/image/v2/images*") == 2


def test_a_cloud_that_asks_for_a_long_pause_is_left_alone(api: OpenStackApi, tmp_path: Path) -> None:
    api.fail(Fault(status=503, headers={"Retry-After": "3600"}), path=FLAVORS, times=-1)
    with pytest.raises(Exception, match="503"):
        client(api, tmp_path).look_up("flavor", "7")
    assert api.count("GET", FLAVORS) == 1


def test_a_cloud_that_hangs_is_waited_for_so_long(api: OpenStackApi, tmp_path: Path) -> None:
    hasty = client(api, tmp_path, retries=1, timeout_seconds=PATIENCE_SECONDS)
    # Which finds what it takes to look anything up.
    api.have("compute", "flavors", name="known")
    assert hasty.look_up("flavor", "known")
    hurried(hasty)
    api.forget_requests()
    api.fail(Fault(how=How.HANG), path=FLAVORS, times=-1)
    with pytest.raises(Exception, match="timed out") as caught:
        hasty.look_up("flavor", "7")
    assert hasty.is_retryable(caught.value)
    # Who gives up may do so before the request is counted.
    api.wait_for("GET", FLAVORS, times=2)
    assert api.count("GET", FLAVORS) == 2


@pytest.mark.parametrize("kind", ["image", "network", "volume", "server"])
@pytest.mark.parametrize(
    "part", ["/identity/v3/auth/tokens", "/identity/v3", "/SERVICE", "/SERVICE/v2*", "/SERVICE*"]
)
def test_whatever_part_is_out_of_order_nothing_is_said_to_be_absent(
    part: str, kind: str, api: OpenStackApi, tmp_path: Path
) -> None:
    place = PLACES[kind]
    path = part.replace("SERVICE", place[0])
    its_id = api.have(*place, name="web")
    for status in (503, 404):
        user = client(api, tmp_path, retries=0)
        api.fail(Fault(status=status), path=path, times=-1)
        for text in ("web", its_id):
            found = outcome(user, kind, text)
            assert not isinstance(found, EntityNotFound), f"{path} answers {status}, and {found}"
            # Where versions cannot be had, some of the services are found all the same.
            assert (
                found == its_id
                or status == 404
                or (isinstance(found, Exception) and user.is_retryable(found))
            )
        api.heal()
        assert user.look_up(kind, "web") == its_id
        user.close()


def outcome(user: OpenStack, entity: str, text: str) -> str | Exception:
    try:
        return user.look_up(entity, text)
    except Exception as error:  # noqa: BLE001  # whatever there is
        return error


def test_a_cloud_that_is_not_there_is_asked_again(api: OpenStackApi, tmp_path: Path) -> None:
    user = client(api, tmp_path)
    api.close()
    with pytest.raises(Exception, match=r"(?i)connection") as caught:
        user.look_up("flavor", "7")
    assert user.is_retryable(caught.value)
    api.launch()
    assert user.look_up("flavor", "7") == "7"


def test_a_connection_that_went_away_is_made_again(api: OpenStackApi, tmp_path: Path) -> None:
    user = client(api, tmp_path, retries=2)
    user.look_up("flavor", "7")
    api.close()
    api.launch()
    assert user.look_up("flavor", "small") == "7"


def test_a_wrong_password_is_tried_once(api: OpenStackApi, tmp_path: Path) -> None:
    path = api.write_clouds(tmp_path)
    path.write_text(path.read_text().replace('"password": "demo"', '"password": "domo"'))
    stranger = client_of(Hasty, {"cloud": "demo", "config_file": str(path)})
    with pytest.raises(Unauthorized) as caught:
        stranger.look_up("flavor", "7")
    assert not stranger.is_retryable(caught.value)
    assert api.logins == 1
    assert "domo" not in str(caught.value)


def test_a_token_that_is_no_longer_valid_is_replaced_once(api: OpenStackApi, tmp_path: Path) -> None:
    user = client(api, tmp_path)
    user.look_up("flavor", "7")
    api.revoke_tokens()
    assert user.look_up("flavor", "7") == "7"
    assert api.logins == 2


def test_a_service_that_the_cloud_has_not_is_no_missing_thing(api: OpenStackApi, tmp_path: Path) -> None:
    api.left_out.add("volume")
    user = client(api, tmp_path)
    with pytest.raises(ServiceDisabledException, match="block-storage") as caught:
        user.look_up("volume", "data")
    assert not user.is_retryable(caught.value)


@pytest.mark.parametrize("body", [b"{}", b"[]", b"null", b'{"flavors": 7}', b'{"flavors": [7]}'])
def test_an_answer_that_makes_no_sense_is_no_missing_thing(
    body: bytes, api: OpenStackApi, tmp_path: Path
) -> None:
    api.fail(Fault(status=200, body=body), path=FLAVORS, times=-1)
    with pytest.raises(Exception) as caught:
        client(api, tmp_path, retries=0).look_up("flavor", "small")
    assert not isinstance(caught.value, EntityNotFound)
