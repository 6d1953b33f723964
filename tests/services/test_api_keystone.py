"""The API with callers of a real keystone: ``OS_CLIENT_CONFIG_FILE`` names a clouds.yaml with ``devcloud``, whose user
may do what a member may, and ``devcloud-admin``, an administrator.
"""

import fcntl
import json
import subprocess
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import httpx
import pytest
import yaml

from tests.services.api_process import serving
from tests.services.cloud_of_the_run import clouds_file
from tests.services.openstack.cloud import ADMIN, USER, connected, connection, own_file
from tests.services.openstack.stacks import (
    FLAVOR,
    IMAGE,
    LARGER,
    MADE_BY_WEB,
    OUTSIDE,
    WEB,
    Stacks,
    furnished,
)
from tests.services.openstack_client import Openstack
from tests.services.process import free_port
from tests.services.test_openstack_options import type_all, write_files
from tests.waiting import PATIENCE_SECONDS, until

pytestmark = [pytest.mark.devcloud(every_run=True), pytest.mark.slow]

WAITING = """
heat_template_version: 2018-08-31
resources:
  handle: {type: OS::Heat::WaitConditionHandle}
  wait: {type: OS::Heat::WaitCondition, properties: {handle: {get_resource: handle}, timeout: 3600}}
outputs:
  command: {value: {get_attr: [handle, curl_cli]}}
"""


@pytest.fixture(scope="module")
def clouds() -> dict[str, Any]:
    found: dict[str, Any] = yaml.safe_load(clouds_file().read_text())["clouds"]
    return found


@pytest.fixture(scope="module")
def url(clouds: dict[str, Any], tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """The address of the API, which is in keystone's catalogue meanwhile, and no other process's."""
    with clouds_file().open() as held:
        fcntl.flock(held, fcntl.LOCK_EX)
        yield from registered(clouds, tmp_path_factory)


def registered(clouds: dict[str, Any], tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """Yield the address of an API that is in keystone's catalogue until the end."""
    directory, port = tmp_path_factory.mktemp("keystone"), free_port()
    login = clouds["devcloud-admin"]["auth"]
    options = {"auth_type": "password", **login}
    written = "\n".join(f'{name} = "{value}"' for name, value in options.items())
    (directory / "isotherm.toml").write_text(f"[keystone_authtoken]\n{written}\n")
    (directory / "policy.yaml").write_text('"stacks:global_index": "role:admin"\n')
    environment = {
        "ISOTHERM_CONFIG": str(directory / "isotherm.toml"),
        "ISOTHERM_API_URL": f"http://127.0.0.1:{port}/v1",
        "ISOTHERM_API_POLICY_FILE": str(directory / "policy.yaml"),
        # The user of the settings is not the one for whom stacks act.
        "ISOTHERM_CLIENTS": json.dumps(
            {"openstack": {"cloud": "devcloud-admin", "config_file": str(clouds_file())}}
        ),
    }
    admin: Any = connection(clouds_file(), ADMIN).identity
    service = admin.create_service(name="isotherm-test", type="orchestration")
    address = f"http://127.0.0.1:{port}/v1/%(project_id)s"
    endpoint = admin.create_endpoint(
        service_id=service.id,
        interface="public",
        url=address,
        region_id=clouds["devcloud"].get("region_name"),
    )
    try:
        with serving(directory, f"--auth keystone --port {port}", environment=environment) as (served, _):
            yield served
    finally:
        admin.delete_endpoint(endpoint)
        admin.delete_service(service)


def names(client: Openstack, *options: str) -> set[str]:
    return {each["Stack Name"] for each in client.data("stack", "list", *options)}


def test_stack_of_a_user_is_signalled_updated_and_deleted_and_seen_by_no_other_project(
    url: str, tmp_path: Path
) -> None:
    (tmp_path / "waiting.yaml").write_text(WAITING)
    file = str(clouds_file())
    demo = Openstack(tmp_path, "--os-cloud", "devcloud", OS_CLIENT_CONFIG_FILE=file)
    admin = Openstack(tmp_path, "--os-cloud", "devcloud-admin", OS_CLIENT_CONFIG_FILE=file)
    demo.run("stack", "create", "-t", "waiting.yaml", "waits")
    until(lambda: demo.data("stack", "resource", "list", "--filter", "name=wait", "waits"))
    command = demo.data("stack", "output", "show", "waits", "command")["output_value"]
    said = subprocess.run(
        f"{command} --silent --data-binary '{{}}'", shell=True, capture_output=True, text=True, check=True
    )
    assert said.stdout.startswith("HTTP/1.1 200 OK")
    demo.wait("waits", "CREATE_COMPLETE")
    assert "waits" not in names(admin)
    assert "not found" in admin.refusal("stack", "show", "waits")
    demo.run("stack", "update", "--existing", "waits")
    demo.wait("waits", "UPDATE_COMPLETE")
    demo.run("stack", "delete", "--yes", "--wait", "waits")
    assert names(demo) == set()
    for client in (demo, admin):
        client.close()


@pytest.mark.devcloud(every_run=False)
def test_administrator_lists_the_stacks_of_a_project(url: str, tmp_path: Path) -> None:
    (tmp_path / "waiting.yaml").write_text(WAITING)
    file = str(clouds_file())
    demo = Openstack(tmp_path, "--os-cloud", "devcloud", OS_CLIENT_CONFIG_FILE=file)
    admin = Openstack(tmp_path, "--os-cloud", "devcloud-admin", OS_CLIENT_CONFIG_FILE=file)
    demo.run("stack", "create", "-t", "waiting.yaml", "listed")
    of_demo = ("--project", "demo", "--project-domain", "default")
    (listed,) = admin.data("stack", "list", "--all-projects", *of_demo)
    assert listed["Stack Name"] == "listed"
    assert "listed" not in names(admin, "--all-projects", "--project", "admin")
    assert names(admin, *of_demo) == set()
    assert "stacks:global_index does not allow" in demo.refusal("stack", "list", "--all-projects")
    demo.run("stack", "delete", "--yes", "--wait", "listed")
    for client in (demo, admin):
        client.close()


NETWORK = """
heat_template_version: 2018-08-31
parameters: {tags: {type: comma_delimited_list, default: "a"}}
resources:
  outer:
    type: OS::Heat::ResourceGroup
    properties:
      count: 1
      resource_def: {type: OS::Neutron::Net, properties: {name: of-the-caller, tags: {get_param: tags}}}
"""


def credentials(user: Any) -> set[str]:
    """Return the ids of a user's application credentials."""
    identity = user.identity
    return {each.id for each in identity.application_credentials(user=user.session.get_user_id())}


def test_stack_acts_for_its_caller_by_a_credential_that_goes_with_it(url: str, tmp_path: Path) -> None:
    (tmp_path / "network.yaml").write_text(NETWORK)
    file = str(clouds_file())
    demo = Openstack(tmp_path, "--os-cloud", "devcloud", OS_CLIENT_CONFIG_FILE=file)
    user: Any = connection(clouds_file(), USER)
    before = credentials(user)
    demo.run("stack", "create", "--wait", "-t", "network.yaml", "net")
    (network,) = user.network.networks(name="of-the-caller")
    assert network.project_id == user.session.get_project_id()
    (first,) = credentials(user) - before
    # An update brings another credential, and the first one goes.
    demo.run("stack", "update", "--wait", "--existing", "--parameter", "tags=b", "net")
    assert user.network.get_network(network.id).tags == ["b"]
    until(lambda: first not in credentials(user))
    assert len(credentials(user) - before) == 1
    # Without a token, the stack is deleted by the credential that it has.
    demo.run("stack", "delete", "--yes", "--wait", "net")
    assert list(user.network.networks(name="of-the-caller")) == []
    until(lambda: credentials(user) == before)
    demo.close()


def test_whole_template_is_made_changed_and_deleted_with_everything_that_was_made_for_it(
    url: str, tmp_path: Path
) -> None:
    demo = Openstack(tmp_path, "--os-cloud", "devcloud", OS_CLIENT_CONFIG_FILE=own_file())
    admin: Any = connected(ADMIN)
    with furnished():
        there = Stacks(tmp_path)

        def everything() -> dict[str, set[str]]:
            """Return the ids of all that is in the project, and of who may act in it."""
            assigned = admin.identity.role_assignments(scope_project_id=there.cloud.session.get_project_id())
            return {
                **there.things(),
                "credentials": credentials(there.cloud),
                "users": {each.user["id"] for each in assigned},
            }

        before = everything()
        given = {"image": IMAGE, "flavor": FLAVOR, "outside": OUTSIDE}
        parameters = [word for name, value in given.items() for word in ("--parameter", f"{name}={value}")]
        demo.run("stack", "create", "--wait", "-t", str(WEB), *parameters, "web")
        made = {kind: len(ids - before[kind]) for kind, ids in everything().items()}
        assert {kind: count for kind, count in made.items() if count} == {**MADE_BY_WEB, "credentials": 1}
        address = demo.data("stack", "output", "show", "web", "address")["output_value"]
        (ip,) = there.cloud.network.ips(floating_ip_address=address)
        assert ip.project_id == there.cloud.session.get_project_id()
        demo.run("stack", "update", "--wait", "--existing", "--parameter", f"flavor={LARGER}", "web")
        assert {kind: len(ids - before[kind]) for kind, ids in everything().items()}["servers"] == 3
        demo.run("stack", "delete", "--yes", "--wait", "web")
        until(lambda: everything() == before)
    demo.close()


@pytest.mark.devcloud(every_run=False)
def test_every_command_says_what_it_should(url: str, tmp_path: Path) -> None:
    write_files(tmp_path)
    file = str(clouds_file())
    admin = Openstack(tmp_path, "--os-cloud", "devcloud-admin", OS_CLIENT_CONFIG_FILE=file)
    type_all(admin)
    admin.close()


def test_what_keystone_has_not_confirmed_is_refused(url: str) -> None:
    forged = {
        "X-Identity-Status": "Confirmed",
        "X-Project-Id": "p",
        "X-Roles": "admin",
        "X-User-Name": "root",
    }
    for headers in ({}, {"X-Auth-Token": "bogus"}, forged):
        answer = httpx.get(f"{url}/p/stacks", headers=headers, trust_env=False, timeout=PATIENCE_SECONDS)
        assert answer.status_code == 401
        assert answer.json()["error"]["type"] == "HTTPUnauthorized"
