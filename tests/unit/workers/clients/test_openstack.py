"""What the client of OpenStack finds, on a cloud that answers as the real services do."""

from collections.abc import Iterator
from pathlib import Path

import pytest
from openstack.exceptions import BadRequestException, ForbiddenException, NotFoundException

from orchestrator.plugins.asking import AmbiguousName, EntityNotFound
from orchestrator.plugins.steps import RateLimited
from tests.services.http_api import Fault
from tests.services.openstack_api import OpenStackApi, User, may_be_called, openstack_api
from tests.unit.workers.clients.openstack import PLACES, client
from workers.clients.openstack import OpenStack
from workers.clients.openstack_entities import KINDS

ROOT = User(name="root", project="admin", admin=True)
DEMO = User(name="demo", project="demo")
#: Those that have ids besides their names.
WITH_IDS = [kind for kind in PLACES if kind != "keypair"]
#: A colleague in demo's project, and a stranger.
ANNA = User(name="anna", project="demo")
OTTO = User(name="otto", project="otto")


@pytest.fixture(scope="module")
def cloud() -> Iterator[OpenStackApi]:
    with openstack_api(ROOT, DEMO, ANNA, OTTO) as api:
        yield api


@pytest.fixture
def api(cloud: OpenStackApi) -> OpenStackApi:
    """The cloud, with nothing in it."""
    cloud.begin_anew()
    return cloud


@pytest.fixture(scope="module")
def demo(cloud: OpenStackApi, tmp_path_factory: pytest.TempPathFactory) -> OpenStack:
    return client(cloud, tmp_path_factory.mktemp("demo"))


@pytest.fixture(scope="module")
def root(cloud: OpenStackApi, tmp_path_factory: pytest.TempPathFactory) -> OpenStack:
    return client(cloud, tmp_path_factory.mktemp("root"), "root")


def test_every_kind_is_tried_here() -> None:
    assert PLACES.keys() == KINDS.keys()


@pytest.mark.parametrize("kind", PLACES)
class TestEveryKind:
    def test_is_found_by_its_id_with_one_request(self, kind: str, api: OpenStackApi, root: OpenStack) -> None:
        its_id = api.have(*PLACES[kind], name="web", of="root")
        wanted = "web" if kind == "keypair" else its_id
        assert root.look_up(kind, wanted) == wanted
        assert len(api.looked()) == 1

    def test_is_found_by_its_name_with_two_requests_at_most(
        self, kind: str, api: OpenStackApi, root: OpenStack
    ) -> None:
        its_id = api.have(*PLACES[kind], name="web", of="root")
        api.have(*PLACES[kind], name="web2", of="root")
        assert root.look_up(kind, "web") == ("web" if kind == "keypair" else its_id)
        assert len(api.looked()) <= 2

    def test_is_not_found_where_there_is_none(self, kind: str, api: OpenStackApi, root: OpenStack) -> None:
        api.have(*PLACES[kind], name="web", of="root")
        with pytest.raises(EntityNotFound, match=f"there is no {kind} 'wet'"):
            root.look_up(kind, "wet")
        with pytest.raises(EntityNotFound):
            root.look_up(kind, "9a1e0c5c-7f7e-4a4c-8a5e-2f6d1c9b1f00")

    def test_is_no_longer_found_when_it_is_gone(self, kind: str, api: OpenStackApi, root: OpenStack) -> None:
        api.have(*PLACES[kind], name="web", of="root")
        root.look_up(kind, "web")
        api.lose(*PLACES[kind], name="web")
        with pytest.raises(EntityNotFound):
            root.look_up(kind, "web")

    def test_is_found_however_many_there_are(self, kind: str, api: OpenStackApi, root: OpenStack) -> None:
        ids = [api.have(*PLACES[kind], name=f"web{number}", of="root") for number in range(10)]
        assert root.look_up(kind, "web9") == ("web9" if kind == "keypair" else ids[9])


@pytest.mark.parametrize("kind", WITH_IDS)
class TestEveryKindWithIds:
    def test_is_refused_where_several_have_the_name(
        self, kind: str, api: OpenStackApi, root: OpenStack
    ) -> None:
        ids = sorted(api.have(*PLACES[kind], name="web", of="root") for _ in range(2))
        with pytest.raises(AmbiguousName) as caught:
            root.look_up(kind, "web")
        assert caught.value.ids == tuple(ids)

    def test_of_one_name_and_another_id_the_id_wins(
        self, kind: str, api: OpenStackApi, root: OpenStack
    ) -> None:
        its_id = api.have(*PLACES[kind], name="web", of="root")
        api.have(*PLACES[kind], name=its_id, of="root")
        assert root.look_up(kind, its_id) == its_id


#: Names that mean something in an address, to a service that narrows lists down, or to a database.
ODD_NAMES = (
    "detail",
    "default",
    "..",
    ".",
    "a/b",
    "../flavors",
    "a?b=c",
    "a#b",
    "a%2Fb",
    "a&name=b",
    "in:web,wet",
    "neq:web",
    "we.",
    ".*",
    "a(b",
    "a|b",
    "^web$",
    " ",
    "web site",
    "größe",
    "鍵",
    "WEB",
    "{web}",
    "x" * 300,
)


@pytest.mark.parametrize("name", ODD_NAMES)
def test_odd_names_are_names_like_others(name: str, api: OpenStackApi, root: OpenStack) -> None:
    api.have("volume", "types", name="lvm")
    for kind in WITH_IDS:
        place = PLACES[kind]
        if (kind, name) == ("domain", "default"):
            # It is there.
            continue
        api.have(*place, name="web", of="root")
        with pytest.raises(EntityNotFound):
            root.look_up(kind, name)
        if place[0] == "identity" and not may_be_called(name):
            continue
        its_id = api.have(*place, name=name, of="root")
        assert root.look_up(kind, name) == its_id


def test_an_id_may_have_characters_that_mean_something_in_an_address(
    api: OpenStackApi, root: OpenStack
) -> None:
    for its_id in ("max%41", "a?b", "a#b", "a&b", "größe", "uid=max,ou=staff"):
        api.have("identity", "users", name=f"the one with {its_id}", id=its_id)
        api.forget_requests()
        assert root.look_up("user", its_id) == its_id
        assert len(api.looked()) == 1


def test_an_answer_about_another_thing_is_none(api: OpenStackApi, root: OpenStack) -> None:
    its_id = api.have("compute", "flavors", name="small")
    api.fail(
        Fault(status=200, body=b'{"flavor": {"id": "the default", "name": "default"}}'), path="*/flavors/*"
    )
    assert root.look_up("flavor", "small") == its_id


@pytest.mark.parametrize("status", [400, 403, 404])
def test_whatever_is_said_of_an_id_that_is_none_it_may_be_a_name(
    status: int, api: OpenStackApi, root: OpenStack
) -> None:
    its_id = api.have("identity", "users", name="max")
    api.fail(Fault(status=status), path="*/users/max")
    assert root.look_up("user", "max") == its_id


def test_a_list_that_is_refused_is_no_proof_that_a_thing_is_not(api: OpenStackApi, root: OpenStack) -> None:
    refusal = b'{"error": {"code": 400, "message": "Invalid input for field/attribute enabled."}}'
    api.fail(Fault(status=400, body=refusal), path="*/v3/users", times=-1)
    with pytest.raises(BadRequestException):
        root.look_up("user", "max")


def test_a_keypair_is_one_of_the_user(api: OpenStackApi, demo: OpenStack, tmp_path: Path) -> None:
    api.have("compute", "os-keypairs", name="mine", of="demo")
    assert demo.look_up("keypair", "mine") == "mine"
    with pytest.raises(EntityNotFound):
        client(api, tmp_path, "anna").look_up("keypair", "mine")


def test_what_belongs_to_another_project_is_not_there(
    api: OpenStackApi, demo: OpenStack, tmp_path: Path
) -> None:
    hers = api.have("network", "networks", name="hers", of="anna")
    his = api.have("network", "networks", name="his", of="otto")
    shared = api.have("network", "networks", name="all", of="otto", shared=True)
    assert [demo.look_up("network", "hers"), demo.look_up("network", "all")] == [hers, shared]
    for text in ("his", his):
        with pytest.raises(EntityNotFound):
            demo.look_up("network", text)


@pytest.mark.parametrize("kind", ["flavor", "volume type"])
def test_an_administrator_finds_what_is_not_public(kind: str, api: OpenStackApi, root: OpenStack) -> None:
    its_id = api.have(*PLACES[kind], name="big", is_public=False)
    assert root.look_up(kind, "big") == root.look_up(kind, its_id) == its_id


def test_a_hidden_image_is_found_where_no_other_has_its_name(api: OpenStackApi, demo: OpenStack) -> None:
    old = api.have("image", "images", name="debian", os_hidden=True)
    assert demo.look_up("image", "debian") == old
    new = api.have("image", "images", name="debian")
    assert demo.look_up("image", "debian") == new
    assert demo.look_up("image", old) == old


def test_a_name_with_a_domain_is_the_one_in_it(api: OpenStackApi, root: OpenStack) -> None:
    domain = api.have("identity", "domains", name="staff")
    here = api.have("identity", "users", name="max")
    there = api.have("identity", "users", name="max", domain_id=domain)
    assert root.look_up("user", "max{staff}") == there
    assert root.look_up("user", f"max{{{domain}}}") == there
    assert root.look_up("user", "max{Default}") == here
    with pytest.raises(AmbiguousName):
        root.look_up("user", "max")
    with pytest.raises(EntityNotFound, match="there is no domain 'guests'"):
        root.look_up("user", "max{guests}")


def test_who_may_not_look_is_told_neither_yes_nor_no(api: OpenStackApi, demo: OpenStack) -> None:
    assert demo.look_up("project", DEMO.project_id) == DEMO.project_id
    for text in (OTTO.project_id, "otto", "nobody"):
        with pytest.raises(ForbiddenException) as caught:
            demo.look_up("project", text)
        assert not demo.is_not_found(caught.value)
        assert not demo.is_retryable(caught.value)


def test_an_address_that_is_not_there_is_no_proof_that_a_thing_is_not(
    api: OpenStackApi, demo: OpenStack
) -> None:
    demo.proxy()
    api.fail(Fault(status=404), path="/compute/*", times=-1)
    with pytest.raises(NotFoundException):
        demo.look_up("keypair", "mine")


def test_every_request_takes_from_the_limit_of_the_cloud(api: OpenStackApi, tmp_path: Path) -> None:
    one = client(api, tmp_path, "root", requests_per_second=0.01, burst=9)
    with pytest.raises(RateLimited, match="openstack: the limit of requests is reached"):
        list(map(one.ask, ["GET"] * 9, ["/users"] * 9))
    # The login and the discovery of the service's versions count, too.
    assert len(api.requests) == 9
    assert any(each.path.endswith("/users") for each in api.requests)
