"""Templates of other people, unchanged, on a real cloud: made, changed and deleted, with nothing left."""

import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any, NamedTuple

import pytest

from tests.services.openstack.stacks import FLAVOR, IMAGE, INSIDE, KEY, LARGER, OUTSIDE, Stacks, furnished

CORPUS = Path(__file__).parents[4] / "shared" / "corpus" / "heat-templates"

pytestmark = [
    pytest.mark.devcloud,
    pytest.mark.slow,
    pytest.mark.skipif(not CORPUS.is_dir(), reason="the corpus of templates is not beside the repository"),
]

SERVER = {"key_name": KEY, "image": IMAGE, "flavor": FLAVOR}
NETWORKS = {"public_net_id": OUTSIDE, "private_net_id": INSIDE, "private_subnet_id": INSIDE}
ADMIN = "devcloud-admin"


class Case(NamedTuple):
    """A template with values of its parameters, those that an update changes, and the cloud's user."""

    template: str
    given: dict[str, str]
    changed: dict[str, str]
    cloud: str = "devcloud"


CASES = [
    Case("hot/hello_world.yaml", {**SERVER, "admin_pass": "Secret12"}, {"flavor": LARGER}),
    Case("hot/asg_of_servers.yaml", {**SERVER, "network": INSIDE}, {"flavor": LARGER}),
    Case("hot/asg_of_stacks.yaml", {**SERVER, "network": INSIDE}, {"flavor": LARGER}),
    Case("hot/vm_with_cinder.yaml", {**SERVER, "network": INSIDE}, {"vol_size": "2"}),
    Case("hot/server_console.yaml", {"image": IMAGE, "flavor": FLAVOR}, {"flavor": LARGER}),
    Case(
        "hot/servers_in_new_neutron_net.yaml",
        {
            **SERVER,
            "public_net": OUTSIDE,
            "private_net_name": "corpus",
            "private_net_cidr": "10.31.0.0/24",
            "private_net_gateway": "10.31.0.1",
            "private_net_pool_start": "10.31.0.10",
            "private_net_pool_end": "10.31.0.99",
        },
        {"private_net_pool_end": "10.31.0.120"},
    ),
    Case(
        "hot/resource_group/server_with_volumes.yaml",
        {"key_name": KEY, "image_id": IMAGE, "instance_type": FLAVOR},
        {"num_volumes": "3"},
    ),
    Case("hot/condition.yaml", {}, {"env_type": "prod"}),
    Case(
        "hot/keystone/keystone_role.yaml",
        {"role_name": "corpus-role"},
        {"role_name": "corpus-other"},
        ADMIN,
    ),
    Case(
        "hot/keystone/keystone_service.yaml",
        {"name": "corpus", "description": "A service.", "type": "corpus"},
        {"description": "Another."},
        ADMIN,
    ),
    Case(
        "hot/keystone/keystone_region.yaml",
        {"region_id": "corpus-1", "parent_region_id": "corpus-0"},
        {},
        ADMIN,
    ),
    Case("hot/keystone/keystone_domain.yaml", {"domain_name": "corpus"}, {"domain_enabled": "false"}, ADMIN),
    Case(
        "hot/keystone/keystone_project.yaml",
        {
            "project_name": "corpus",
            "project_description": "A project.",
            "project_enabled": "true",
            "project_domain": "default",
        },
        {"project_enabled": "false"},
        ADMIN,
    ),
    Case(
        "hot/keystone/keystone_group.yaml",
        {
            "group_name": "corpus",
            "group_description": "A group.",
            "group_domain": "default",
            "group_role": "member",
            "group_role_domain": "default",
            "group_role_project": "admin",
        },
        {"group_role": "reader"},
        ADMIN,
    ),
    Case(
        "hot/keystone/keystone_user.yaml",
        {
            "user_name": "corpus",
            "user_description": "A user.",
            "user_enabled": "true",
            "user_domain": "default",
            "user_email": "corpus@example.org",
            "user_password": "one-that-is-long",
            "user_default_project": "admin",
            "user_groups": "",
            "group_role": "member",
            "group_role_domain": "default",
            "group_role_project": "admin",
        },
        {"group_role": "reader", "user_email": "other@example.org"},
        ADMIN,
    ),
    Case(
        "hot/keystone/keystone_service_endpoint.yaml",
        {
            "name": "corpus",
            "description": "A service.",
            "type": "corpus",
            "region": "RegionOne",
            "public_url": "http://127.0.0.1:1",
            "internal_url": "http://127.0.0.1:2",
            "admin_url": "http://127.0.0.1:3",
        },
        {"public_url": "http://127.0.0.1:4"},
        ADMIN,
    ),
    Case(
        "hot/nova/host_aggregate.yaml",
        {
            "host_aggregate_name": "corpus",
            "availability_zone_name": "nova",
            "hosts": "",
            "metadata": '{"a": "1"}',
        },
        {"metadata": '{"a": "2"}'},
        ADMIN,
    ),
    Case("hot/servers_in_existing_neutron_net.yaml", {**SERVER, **NETWORKS}, {"flavor": LARGER}),
    Case(
        "hot/servers_in_existing_neutron_network_no_floating_ips.yaml",
        {**SERVER, "net_id": INSIDE, "subnet_id": INSIDE},
        {"flavor": LARGER},
    ),
    Case("hot/software-config/example-templates/example-cloud-init.yaml", SERVER, {"flavor": LARGER}),
    Case("cfn/F17/Neutron.yaml", {}, {}),
    Case("cfn/F17/Neutron.template", {}, {}),
    Case("hot/resource_group/resource_group_index_lookup.yaml", {}, {}),
]


@pytest.fixture(scope="module", autouse=True)
def _furnished() -> Iterator[None]:
    with furnished():
        yield


def words(values: dict[str, str]) -> list[str]:
    return [word for name, value in values.items() for word in ("-P", f"{name}={value}")]


@pytest.mark.parametrize("case", CASES, ids=[case.template for case in CASES])
def test_a_template_of_others_runs_unchanged(case: Case, tmp_path: Path) -> None:
    stacks, template = Stacks(tmp_path, case.cloud), CORPUS / case.template
    before, times = stacks.things(), []

    def timed(act: Any, *arguments: Any) -> None:
        begun = time.monotonic()
        act("corpus", *arguments)
        times.append(time.monotonic() - begun)

    timed(stacks.create, template, *words(case.given))
    count = len(stacks.resources("corpus"))
    stacks.run("stack", "check", "corpus", "--wait")
    timed(stacks.update, template, *words({**case.given, **case.changed}))
    timed(stacks.delete)
    assert stacks.things() == before
    print(f"\n| {case.template} | {count} | {' | '.join(f'{each:.0f}' for each in times)} |")
