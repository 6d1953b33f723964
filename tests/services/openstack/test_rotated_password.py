"""A user whose password is changed under a running client, on a real identity service."""

import json
import secrets
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from keystoneauth1.identity.v3 import Password
from keystoneauth1.session import Session

from tests.services.openstack.cloud import CloudConformance, connected
from tests.unit.workers.clients.openstack import client_of
from tests.waiting import until
from workers.clients.openstack import Keystone, OpenStack

pytestmark = CloudConformance.pytestmark


@pytest.fixture
def user() -> Iterator[Any]:
    """Make a user with a project, and return it."""
    identity = connected("devcloud-admin").identity
    name = f"isotherm-rotated-{secrets.token_hex(4)}"
    project = identity.create_project(name=name, domain_id="default")
    made = identity.create_user(name=name, domain_id="default", password=secrets.token_hex(16))
    try:
        identity.assign_project_role_to_user(project, made, identity.find_role("member"))
        yield made
    finally:
        identity.delete_user(made)
        identity.delete_project(project)


def login(user: Any, password: str) -> dict[str, Any]:
    """Return by what the user logs in."""
    return {
        "auth_url": connected("devcloud").config.get_auth_args()["auth_url"],
        "username": user.name,
        "password": password,
        "project_name": user.name,
        "user_domain_id": "default",
        "project_domain_id": "default",
    }


def write(path: Path, user: Any, password: str) -> None:
    """Write a clouds.yaml of the user alone."""
    own = {"auth": login(user, password), "region_name": "RegionOne"}
    path.write_text(json.dumps({"clouds": {"own": own}}))


def test_a_running_client_goes_on_with_another_password(user: Any, tmp_path: Path) -> None:
    path = tmp_path / "clouds.yaml"
    first, second, third = (secrets.token_hex(16) for _ in range(3))
    rotate(user, first)
    write(path, user, first)
    client = client_of(Keystone, {"cloud": "own", "config_file": str(path)})
    assert names(client) == [user.name]
    rotate(user, second)
    write(path, user, second)
    assert names(client) == [user.name]
    rotate(user, third)
    with pytest.raises(Exception, match="401"):
        names(client)


def rotate(user: Any, password: str) -> None:
    """Change the password, and wait until the service accepts tokens again: it refuses all of the same second."""
    connected("devcloud-admin").identity.update_user(user, password=password)
    until(lambda: is_let_in(user, password))


def is_let_in(user: Any, password: str) -> bool:
    """Return whether a new token of the user is accepted."""
    session = Session(Password(**login(user, password)))
    endpoint = {"service_type": "identity", "interface": "public", "region_name": "RegionOne"}
    return bool(session.get("/auth/projects", endpoint_filter=endpoint, raise_exc=False).ok)


def names(client: OpenStack) -> list[str]:
    """Return the names of the projects that a client's user may use."""
    return [each["name"] for each in client.ask("GET", "/auth/projects")["projects"]]
