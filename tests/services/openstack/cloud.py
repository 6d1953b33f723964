"""The contract of a resource type on a real cloud: the run's (:mod:`tests.services.cloud_of_the_run`).

Each process of the tests acts in a project and as a user of its own there, so that it may count what its project has.
"""

import fcntl
import os
import secrets
import tempfile
from collections.abc import Collection, Iterator, Mapping
from contextlib import contextmanager, suppress
from functools import cache
from http import HTTPStatus
from pathlib import Path
from typing import Any, ClassVar, Final

import pytest
import yaml
from openstack.config import OpenStackConfig
from openstack.connection import Connection

from isotherm.testing import ResourceConformance
from tests.services.cloud_of_the_run import clouds_file
from workers.resources.openstack.cloud_object import CloudObject

#: The entries of clouds.yaml: the user of a project, and an administrator.
USER = "devcloud"
ADMIN = "devcloud-admin"


@contextmanager
def alone() -> Iterator[None]:
    """Keep the other processes of tests out: while one looks for a thing and makes it, no other may do the same."""
    directory = os.open(clouds_file().parent, os.O_RDONLY)
    try:
        fcntl.flock(directory, fcntl.LOCK_EX)
        yield
    finally:
        os.close(directory)


class Place:
    """A project with a user of its own, and a clouds.yaml in which that is ``devcloud``."""

    def __init__(self) -> None:
        there = clouds_file()
        self._admin: Any = connection(there, ADMIN)
        name, password = f"isotherm-tests-{secrets.token_hex(4)}", secrets.token_hex(12)
        identity = self._admin.identity
        self.project = identity.create_project(name=name).id
        self.user = identity.create_user(name=name, password=password, default_project_id=self.project).id
        identity.assign_project_role_to_user(self.project, self.user, identity.find_role("member"))
        entries = yaml.safe_load(there.read_text())
        auth = entries["clouds"][USER]["auth"]
        auth |= {"username": name, "password": password, "project_name": name}
        self._directory = tempfile.TemporaryDirectory(prefix="isotherm-clouds-")
        self.file = Path(self._directory.name) / "clouds.yaml"
        self.file.write_text(yaml.safe_dump(entries))

    def give_up(self) -> None:
        """Delete it, with what the cloud and the fixtures of tests have put into it."""
        user: Any = connected(USER)
        with suppress(Exception):
            # A test that failed may have left something that is in the way.
            for key in user.compute.keypairs():
                user.compute.delete_keypair(key)
            for router in user.network.routers(project_id=self.project):
                for port in user.network.ports(device_id=router.id):
                    user.network.remove_interface_from_router(router, port_id=port.id)
                user.network.delete_router(router)
            for network in user.network.networks(project_id=self.project):
                user.network.delete_network(network)
            for group in self._admin.network.security_groups(project_id=self.project):
                self._admin.network.delete_security_group(group)
        self._admin.identity.delete_user(self.user)
        self._admin.identity.delete_project(self.project)
        self._directory.cleanup()


@cache
def place() -> Place:
    """Return the place of this process, made when a test first needs it; without a cloud, the test is skipped."""
    with alone():
        made = Place()
        # Services that have just started answer the first requests wrongly if several come at once. The network service
        # also makes the project's default security group when it is first asked.
        things(connection(made.file, USER))
        things(connection(made.file, ADMIN))
        return made


def own_file() -> str:
    """Return the clouds.yaml of this process."""
    return str(place().file)


def is_placed() -> bool:
    """Whether a test of this process has needed the cloud."""
    return place.cache_info().currsize > 0


def give_up_place() -> None:
    """Delete the place of this process, if it has one."""
    if is_placed():
        place().give_up()


def connection(file: Path, cloud: str) -> Any:
    """Return a new connection to an entry of a clouds.yaml."""
    settings = OpenStackConfig(config_files=[str(file)], load_envvars=False)
    return Connection(config=settings.get_one(cloud=cloud))


@cache
def connected(cloud: str) -> Any:
    """Return a connection to an entry of clouds.yaml, one for all tests of a process: each has logins of its own."""
    return connection(place().file, cloud)


#: By service: the kinds of things that a project has.
KINDS: Final[Mapping[str, tuple[str, ...]]] = {
    "compute": ("servers", "keypairs", "server_groups"),
    "network": ("networks", "subnets", "ports", "routers", "ips", "security_groups"),
    "block_storage": ("volumes", "snapshots"),
    "image": ("images",),
}


def things(cloud: Any) -> dict[str, set[str]]:
    """Return the ids of what the project of a connection has, by kind."""
    own = cloud.session.get_project_id()
    found: dict[str, set[str]] = {}
    for service, kinds in KINDS.items():
        for kind in kinds:
            # A server that is deleted is shown for a moment longer.
            listed = [
                each
                for each in getattr(getattr(cloud, service), kind)()
                if getattr(each, "status", "") != "DELETED"
            ]
            owned = {
                str(each.id): getattr(each, "owner", None) or getattr(each, "project_id", None)
                for each in listed
            }
            found[kind] = {each for each, owner in owned.items() if owner in (own, None)}
    return found


def whole(cloud: Any) -> set[str]:
    """Return what the project of a connection has, in words."""
    return {f"{kind} {each}" for kind, ids in things(cloud).items() for each in ids}


#: Why a type has no stage of a life.
NOTHING_CHANGES: Final = "none of its properties may change in place"
UNIQUE: Final = "the service refuses a second one like it, and deletes none before the other is there"


class CloudConformance(ResourceConformance):
    """The contract of resource types, for one whose objects are in a cloud, where nothing may be left of them."""

    pytestmark = [pytest.mark.devcloud, pytest.mark.slow]
    type: ClassVar[type[CloudObject]]
    #: The entry of clouds.yaml: ``devcloud``, or ``devcloud-admin`` for what only an administrator may do.
    cloud: ClassVar[str] = USER
    #: Whether the physical id is that of an object of the collection, and not of a relation between some.
    is_shown: ClassVar[bool] = True
    #: By stage of a life (:mod:`tests.services.openstack.life`), why there is none.
    cannot: ClassVar[Mapping[str, str]] = {}
    #: Changes for its life alone: each of those of the contract multiplies the tests of crashes.
    more_changes: ClassVar[Mapping[str, Any]] = {}
    #: Whether its life is looked at; not that of variants.
    lives: ClassVar[bool] = True

    @property
    def settings(self) -> Mapping[str, Any]:  # type: ignore[override]
        return {"clients": {"openstack": {"cloud": self.cloud, "config_file": own_file()}}}

    def objects(self) -> Collection[str]:
        """Return the ids of all objects in the type's collection that are not of another project."""
        kind, service = self.type.collection, self.service()
        answer = service.get(kind.details or kind.path, microversion=kind.microversion).json()
        own = service.get_project_id()
        return [str(each["id"]) for each in answer[kind.plural] if each.get("project_id", own) == own]

    def asked(self, object_id: str) -> Mapping[str, Any] | None:
        """Return an object of the collection as the service shows it, asked without the type; None if it is gone."""
        kind = self.type.collection
        answer = self.service().get(kind.at(object_id), microversion=kind.microversion)
        if answer.status_code == HTTPStatus.NOT_FOUND:
            return None
        found: Mapping[str, Any] = answer.json()
        return found[kind.key] if kind.key else found

    def everything(self) -> set[str]:
        """Return what there is of the type; for a user, with all else that the project has."""
        own = {f"{self.type.__name__} {each}" for each in self.objects()}
        return own if self.cloud == ADMIN else own | whole(connected(USER))

    def service(self, name: str = "") -> Any:
        """Return openstacksdk's proxy of the type's service, or of another."""
        names = {"neutron": "network", "nova": "compute", "cinder": "block_storage", "glance": "image"}
        name = name or names.get(self.type.client_name, "identity")
        return getattr(connected(self.cloud), name)
