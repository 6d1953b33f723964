"""Constraints on what an OpenStack cloud has, through the whole product: on a small cloud of ours, and on a real one.

The real one is a devcloud on this machine, or any cloud where ``devcloud`` may make things in a project and
``devcloud-admin`` is an administrator: ``OS_CLIENT_CONFIG_FILE`` names a clouds.yaml with both. Without, its tests are
skipped, with the reason.
"""

import itertools
import json
import logging
import os
import re
import uuid
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest
import yaml
from click.testing import CliRunner, Result

from orchestrator.cli.main import isotherm
from orchestrator.config.settings import Settings
from orchestrator.plugins.clients import Clients
from tests.services.openstack_api import OpenStackApi, User, openstack_api
from workers.clients.openstack import Neutron, Nova

#: The project whose stacks see the cloud as its administrator does; those of any other see it as a user.
ADMIN = "admins"
#: Constraints that only an administrator can have checked.
OF_ADMINS = ("keystone.project", "keystone.user", "keystone.role")


@dataclass(kw_only=True)
class Lent:
    """A cloud that a test may use, and what is in it: values by the constraint that they are given to."""

    config_file: Path
    user: str
    admin: str
    retries: int = 2
    there: dict[str, list[str]] = field(default_factory=dict)
    several: dict[str, str] = field(default_factory=dict)
    #: What belongs to others.
    unseen: dict[str, list[str]] = field(default_factory=dict)

    def environment(self) -> dict[str, str]:
        clients = {
            "openstack": {
                "cloud": self.user,
                "config_file": str(self.config_file),
                "retries": self.retries,
                "projects": {ADMIN: {"cloud": self.admin}},
            }
        }
        return {"ISOTHERM_CLIENTS": json.dumps(clients)}


@contextmanager
def small_cloud(directory: Path) -> Iterator[Lent]:
    users = [User(name="demo", project="demo"), User(name="root", project="admin", admin=True)]
    with openstack_api(*users, User(name="otto", project="otto")) as api:
        lent = Lent(config_file=api.write_clouds(directory), user="demo", admin="root")
        fill_small_cloud(api, lent)
        yield lent


def fill_small_cloud(api: OpenStackApi, lent: Lent) -> None:
    places = {
        "nova.flavor": ("compute", "flavors"),
        "nova.keypair": ("compute", "os-keypairs"),
        "nova.server": ("compute", "servers"),
        "glance.image": ("image", "images"),
        "neutron.network": ("network", "networks"),
        "neutron.subnet": ("network", "subnets"),
        "neutron.port": ("network", "ports"),
        "neutron.router": ("network", "routers"),
        "neutron.security_group": ("network", "security-groups"),
        "cinder.volume": ("volume", "volumes"),
        "cinder.snapshot": ("volume", "snapshots"),
        "cinder.vtype": ("volume", "types"),
        "keystone.project": ("identity", "projects"),
        "keystone.user": ("identity", "users"),
        "keystone.role": ("identity", "roles"),
    }
    for constraint, place in places.items():
        its_id = api.have(*place, name="it's mine: 1")
        lent.there[constraint] = ["it's mine: 1", *([its_id] if constraint != "nova.keypair" else [])]
        if constraint not in ("nova.flavor", "nova.keypair", "cinder.vtype", *OF_ADMINS):
            lent.several[constraint] = "twin"
            api.have(*place, name="twin")
            api.have(*place, name="twin")
            lent.unseen[constraint] = ["his", api.have(*place, name="his", of="otto")]
    lent.unseen["nova.keypair"] = ["his"]
    api.have("compute", "os-keypairs", name="his", of="otto")


@contextmanager
def devcloud() -> Iterator[Lent]:
    named = os.environ.get("OS_CLIENT_CONFIG_FILE", "")
    if not named:
        pytest.skip("no OpenStack cloud: OS_CLIENT_CONFIG_FILE names no clouds.yaml")
    file = Path(named)
    clouds = (yaml.safe_load(file.read_text()) if file.is_file() else {}).get("clouds", {})
    if missing := {"devcloud", "devcloud-admin"} - clouds.keys():
        pytest.skip(f"no OpenStack cloud: {file} has no {' and no '.join(sorted(missing))}")
    lent = Lent(config_file=file, user="devcloud", admin="devcloud-admin")
    with ExitStack() as made:
        fill_devcloud(lent, connected(file, "devcloud"), connected(file, "devcloud-admin"), made)
        yield lent


def connected(file: Path, cloud: str) -> Any:
    from keystoneauth1.exceptions import ClientException
    from openstack.config import OpenStackConfig
    from openstack.connection import Connection

    region = OpenStackConfig(config_files=[str(file)], load_envvars=False).get_one(cloud=cloud)
    connection = Connection(config=region)
    try:
        connection.session.get_token()
    except ClientException as error:
        pytest.skip(f"no OpenStack cloud: {cloud} of {file} does not let anybody in: {error}")
    return connection


def fill_devcloud(lent: Lent, user: Any, admin: Any, made: ExitStack) -> None:
    """Make one of everything, and twins of what may have them; ``made`` takes all of it away again."""
    maker = Maker(lent=lent, made=made)
    picture = make_image(maker, user.image)
    port = make_networks(maker, user.network, admin.network)
    make_servers(
        maker, user.compute, admin.compute, {"image_id": picture.id, "networks": [{"port": port.id}]}
    )
    make_volumes(maker, user.block_storage, admin.block_storage)
    identity = admin.identity
    maker.keep("keystone.project", identity.create_project, identity.delete_project)
    person = maker.keep("keystone.user", identity.create_user, identity.delete_user)
    lent.there["keystone.user"].append(f"{person.name}{{Default}}")
    maker.keep("keystone.role", identity.create_role, identity.delete_role)


@dataclass(kw_only=True)
class Maker:
    """Makes things whose names nobody else has, and notes them."""

    lent: Lent
    made: ExitStack
    tag: str = field(default_factory=lambda: f"isotherm-{uuid.uuid4().hex[:8]}")

    def keep(
        self, constraint: str, make: Callable[..., Any], delete: Callable[[Any], object], **how: Any
    ) -> Any:
        """Make one."""
        # Glance takes what is before a colon for an operator.
        thing = make(name=f"{self.tag}: it's mine" if "image" in constraint else f"{self.tag} mine", **how)
        self.made.callback(delete, thing)
        self.lent.there[constraint] = [thing.name, thing.id]
        return thing

    def twins(
        self, constraint: str, make: Callable[..., Any], delete: Callable[[Any], object], **how: Any
    ) -> Any:
        """Make one, and two more of one name; return the first."""
        self.lent.several[constraint] = f"{self.tag} twin"
        first = self.keep(constraint, make, delete, **how)
        for _ in range(2):
            self.made.callback(delete, make(name=f"{self.tag} twin", **how))
        return first

    def hide(self, constraint: str, make: Callable[..., Any], delete: Callable[[Any], object]) -> None:
        """Make one that belongs to others."""
        thing = make(name=f"{self.tag} others")
        self.made.callback(delete, thing)
        self.lent.unseen[constraint] = [thing.name] if thing.id == thing.name else [thing.name, thing.id]


def make_image(maker: Maker, image: Any) -> Any:
    # openstacksdk itself trips over a colon when it looks whether there is one of the name.
    how = {"data": b"0" * 64, "disk_format": "raw", "container_format": "bare", "allow_duplicates": True}
    return maker.twins("glance.image", image.create_image, image.delete_image, **how)


def make_networks(maker: Maker, network: Any, of_admin: Any) -> Any:
    net = maker.twins("neutron.network", network.create_network, network.delete_network)
    maker.hide("neutron.network", of_admin.create_network, of_admin.delete_network)
    cidrs = (f"10.{number}.0.0/24" for number in itertools.count(1))

    def subnet(name: str) -> Any:
        return network.create_subnet(name=name, network_id=net.id, ip_version=4, cidr=next(cidrs))

    maker.twins("neutron.subnet", subnet, network.delete_subnet)
    port = maker.twins("neutron.port", network.create_port, network.delete_port, network_id=net.id)
    maker.twins("neutron.router", network.create_router, network.delete_router)
    maker.twins("neutron.security_group", network.create_security_group, network.delete_security_group)
    return port


def make_servers(maker: Maker, compute: Any, of_admin: Any, how: Mapping[str, Any]) -> None:
    size = {"ram": 64, "vcpus": 1, "disk": 1}
    flavor = maker.keep("nova.flavor", of_admin.create_flavor, of_admin.delete_flavor, **size)
    maker.keep("nova.keypair", compute.create_keypair, compute.delete_keypair)
    maker.hide("nova.keypair", of_admin.create_keypair, of_admin.delete_keypair)

    def delete(server: Any) -> None:
        compute.delete_server(server)
        compute.wait_for_delete(server, wait=60)

    maker.keep("nova.server", compute.create_server, delete, flavor_id=flavor.id, **how)


def make_volumes(maker: Maker, storage: Any, of_admin: Any) -> None:
    def volume(name: str) -> Any:
        return storage.wait_for_status(storage.create_volume(name=name, size=1), "available", wait=60)

    def snapshot(name: str) -> Any:
        made = storage.create_snapshot(name=name, volume_id=disk.id)
        return storage.wait_for_status(made, "available", wait=60)

    def delete_volume(thing: Any) -> None:
        storage.delete_volume(thing)
        storage.wait_for_delete(thing, wait=60)

    def delete_snapshot(thing: Any) -> None:
        storage.delete_snapshot(thing)
        storage.wait_for_delete(thing, wait=60)

    maker.keep("cinder.vtype", of_admin.create_type, of_admin.delete_type)
    disk = maker.twins("cinder.volume", volume, delete_volume)
    maker.twins("cinder.snapshot", snapshot, delete_snapshot)


@pytest.fixture(
    scope="module",
    params=["small cloud", pytest.param("devcloud", marks=pytest.mark.devcloud)],
)
def lent(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Lent]:
    directory = tmp_path_factory.mktemp("cloud")
    with small_cloud(directory) if request.param == "small cloud" else devcloud() as lent:
        yield lent


@dataclass(kw_only=True)
class Desk:
    """Where somebody types commands, with a template whose parameters have constraints."""

    directory: Path
    lent: Lent

    def run(self, *words: str, **environment: str) -> Result:
        around = {**self.lent.environment(), "ISOTHERM_STATE_DIRECTORY": str(self.directory / "state")}
        return CliRunner().invoke(isotherm, list(words), prog_name="isotherm", env={**around, **environment})

    def template(self, constraints: Sequence[str]) -> str:
        """Write a template with a parameter for each constraint, called ``nova_flavor``, and return where."""
        parameters = {
            constraint.replace(".", "_"): {
                "type": "string",
                "constraints": [{"custom_constraint": constraint}],
            }
            for constraint in constraints
        }
        value = {"type": "OS::Heat::Value", "properties": {"value": {"get_param": next(iter(parameters))}}}
        return self.write("things.yaml", {"parameters": parameters, "resources": {"it": value}})

    def write(self, name: str, content: Mapping[str, Any]) -> str:
        path = self.directory / name
        path.write_text(yaml.safe_dump({"heat_template_version": "2021-04-16", **content}))
        return str(path)

    def preview(self, values: Mapping[str, str], project: str = "default") -> Result:
        words = [f"{constraint.replace('.', '_')}={value}" for constraint, value in values.items()]
        options = [part for word in words for part in ("-P", word)]
        template = self.template(list(values))
        return self.run("stack", "preview", "web", "-t", template, *options, ISOTHERM_PROJECT=project)


@pytest.fixture
def desk(tmp_path: Path, lent: Lent) -> Desk:
    return Desk(directory=tmp_path, lent=lent)


def by_project(constraints: Mapping[str, Any]) -> Iterator[tuple[str, dict[str, Any]]]:
    """Yield what users can have checked, and what only administrators can, with a project of each."""
    yield "default", {name: value for name, value in constraints.items() if name not in OF_ADMINS}
    if of_admins := {name: value for name, value in constraints.items() if name in OF_ADMINS}:
        yield ADMIN, of_admins


def test_what_is_there_passes_by_name_and_by_id(desk: Desk) -> None:
    assert len(desk.lent.there) == 15
    for project, values in by_project(desk.lent.there):
        for number in range(max(map(len, values.values()))):
            chosen = {constraint: each[min(number, len(each) - 1)] for constraint, each in values.items()}
            result = desk.preview(chosen, project)
            assert result.exit_code == 0, result.output


def refusals(result: Result) -> dict[str, str]:
    """Return what is said of each parameter."""
    assert result.exit_code == 2, result.output
    return dict(re.findall(r"parameters\.(\w+): (.*)", result.output))


def test_what_is_not_there_is_refused_all_at_once(desk: Desk) -> None:
    for wrong in ("no such thing", str(uuid.uuid4())):
        for project, values in by_project(desk.lent.there):
            said = refusals(desk.preview(dict.fromkeys(values, wrong), project))
            assert said.keys() == {constraint.replace(".", "_") for constraint in values}
            for constraint in values:
                sentence = said[constraint.replace(".", "_")]
                assert re.match(f"there is no [a-z ]+ '{wrong}'; .*'{constraint}'", sentence)


def test_a_name_of_several_is_refused_with_their_ids(desk: Desk) -> None:
    said = refusals(desk.preview(desk.lent.several))
    assert len(said) == len(desk.lent.several)
    for sentence in said.values():
        assert re.match(r"several have the name '.*' \([0-9a-f-]{36}, [0-9a-f-]{36}\): give the id", sentence)


def test_what_others_have_is_refused_as_if_it_were_not(desk: Desk) -> None:
    for constraint, values in desk.lent.unseen.items():
        for value in values:
            said = refusals(desk.preview({constraint: value}))
            assert [sentence.startswith("there is no") for sentence in said.values()] == [True]


def test_what_only_administrators_may_look_at_is_neither_there_nor_absent(desk: Desk) -> None:
    result = desk.preview({"keystone.role": desk.lent.there["keystone.role"][0]})
    assert result.exit_code == 3, result.output
    assert "403" in result.output
    assert "there is no role" not in result.output


class Requests(logging.Handler):
    """Counts what keystoneauth sends, but for logins and questions about versions."""

    def __init__(self) -> None:
        super().__init__(logging.DEBUG)
        self.sent: Counter[str] = Counter()

    def emit(self, record: logging.LogRecord) -> None:
        if found := re.search(r"REQ: curl -g -i -X (\w+) [a-z]+://[^/]+(/\S*)", record.getMessage()):
            self.sent[f"{found[1]} {found[2]}"] += 1

    def of(self, word: str) -> int:
        """Return how many requests had a word in their path."""
        return sum(count for request, count in self.sent.items() if word in request)


@pytest.fixture
def requests() -> Iterator[Requests]:
    logger = logging.getLogger("keystoneauth.session")
    handler = Requests()
    before = logger.level
    logger.addHandler(handler)
    logger.setLevel(logging.DEBUG)
    yield handler
    logger.removeHandler(handler)
    logger.setLevel(before)


#: How many servers a stack has that all want the same.
SERVERS = 12


def fleet(desk: Desk) -> list[str]:
    """Return the words of a command for a stack of servers that share an image, a flavor, a key and a network."""
    wanted = {
        "image": "glance.image",
        "flavor": "nova.flavor",
        "key": "nova.keypair",
        "net": "neutron.network",
    }
    constrained = {
        name: {"type": "string", "constraints": [{"custom_constraint": constraint}]}
        for name, constraint in wanted.items()
    }
    value = {"type": "OS::Heat::Value", "properties": {"value": {"get_param": "image"}}}
    desk.write("server.yaml", {"parameters": constrained, "resources": {"it": value}})
    given = {name: {"get_param": name} for name in wanted}
    servers = {f"server{number}": {"type": "server.yaml", "properties": given} for number in range(SERVERS)}
    template = desk.write(
        "fleet.yaml", {"parameters": {name: {"type": "string"} for name in wanted}, "resources": servers}
    )
    # Each by its id: the cloud is asked once for it, and not for a list besides.
    values = [f"{name}={desk.lent.there[constraint][-1]}" for name, constraint in wanted.items()]
    return ["-t", template, *(part for value in values for part in ("-P", value))]


def asked(requests: Requests) -> dict[str, int]:
    return {kind: requests.of(f"/{kind}/") for kind in ("images", "flavors", "os-keypairs", "networks")}


def test_a_stack_of_many_asks_once_for_what_they_share(desk: Desk, requests: Requests) -> None:
    result = desk.run("stack", "create", "fleet", *fleet(desk))
    assert result.exit_code == 0, result.output
    assert asked(requests) == dict.fromkeys(("images", "flavors", "os-keypairs", "networks"), 1)


def test_without_the_cache_they_ask_once_in_one_examination(desk: Desk, requests: Requests) -> None:
    result = desk.run("stack", "create", "fleet", *fleet(desk), ISOTHERM_CONSTRAINT_CACHE__ENABLED="false")
    assert result.exit_code == 0, result.output
    assert asked(requests) == dict.fromkeys(("images", "flavors", "os-keypairs", "networks"), 1)


def test_one_that_is_gone_is_refused_before_anything_is_made(desk: Desk, requests: Requests) -> None:
    words = fleet(desk)
    flavor = next(word for word in words if word.startswith("flavor="))
    result = desk.run(
        "stack", "create", "fleet", *[word if word != flavor else "flavor=xxl" for word in words]
    )
    assert result.exit_code == 2, result.output
    assert "there is no flavor 'xxl'" in result.output
    assert json.loads(desk.run("stack", "list", "-f", "json").output) == []


@pytest.mark.parametrize("lent", [pytest.param("devcloud", marks=pytest.mark.devcloud)], indirect=True)
def test_what_a_real_cloud_refuses_is_understood(desk: Desk) -> None:
    options = {"cloud": desk.lent.user, "config_file": str(desk.lent.config_file)}
    clients = Clients(Settings(clients={"openstack": options})).of("default")
    nova, neutron = clients.get("nova"), clients.get("neutron")
    assert isinstance(nova, Nova)
    assert isinstance(neutron, Neutron)
    compute, network = nova.proxy(), neutron.proxy()
    with pytest.raises(Exception) as exists:
        compute.create_keypair(name=desk.lent.there["nova.keypair"][0])
    with pytest.raises(Exception) as absent:
        compute.get_flavor("none-such")
    with pytest.raises(Exception) as in_use:
        network.delete_network(desk.lent.there["neutron.network"][1])
    verdicts = [
        (nova.is_conflict(each.value), nova.is_not_found(each.value), nova.is_retryable(each.value))
        for each in (exists, absent, in_use)
    ]
    assert verdicts == [(True, False, False), (False, True, False), (True, False, False)]


@pytest.mark.parametrize("name", ["nova", "glance", "neutron", "cinder", "keystone"])
def test_every_service_tells_its_version(name: str, desk: Desk) -> None:
    options = {"cloud": desk.lent.user, "config_file": str(desk.lent.config_file)}
    client = Clients(Settings(clients={"openstack": options})).of("default").get(name)
    assert re.fullmatch(r"[23]\.\d+", client.api_version)
    assert client.probe()


def test_a_cloud_that_is_away_makes_no_value_wrong(tmp_path: Path) -> None:
    with small_cloud(tmp_path) as lent:
        lent.retries = 0
    result = Desk(directory=tmp_path, lent=lent).preview({"nova.flavor": "small"}, "default")
    assert result.exit_code == 3, result.output
    assert "there is no flavor" not in result.output
