"""Whole stacks on a real cloud: the example, and what users of Heat rely on without saying it."""

import json
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.services.openstack.stacks import (
    FLAVOR,
    IMAGE,
    INSIDE,
    LARGER,
    MADE_BY_WEB,
    OUTSIDE,
    WEB,
    Stacks,
    furnished,
)

pytestmark = [
    pytest.mark.devcloud(every_run=True),
    pytest.mark.slow,
]


@pytest.fixture
def stacks(tmp_path: Path) -> Iterator[Stacks]:
    with furnished():
        yield Stacks(tmp_path)


def written(directory: Path, **resources: Any) -> Path:
    file = directory / "template.yaml"
    file.write_text(json.dumps({"heat_template_version": "2021-04-16", "resources": resources}))
    return file


@pytest.mark.devcloud(every_run=False)
def test_a_web_application_on_three_servers_is_made_changed_and_deleted(stacks: Stacks) -> None:
    before = stacks.things()
    given = ("-P", f"image={IMAGE}", "-P", f"flavor={FLAVOR}", "-P", f"outside={OUTSIDE}")
    stacks.create("web", WEB, *given)
    made = {kind: ids - before[kind] for kind, ids in stacks.things().items()}
    assert {kind: len(ids) for kind, ids in made.items() if ids} == MADE_BY_WEB
    (address,) = stacks.cloud.network.ips(id=made["ips"])
    assert address.floating_ip_address == stacks.output("web", "address")
    stacks.run("stack", "check", "web", "--wait")
    changes = ("-P", "worker_count=3", "-P", "volume_size=2", "-P", f"flavor={LARGER}")
    stacks.update("web", WEB, *given[:2], *given[4:], *changes)
    later = stacks.things()
    assert len(later["servers"] - before["servers"]) == 4
    # What needs no other is the same as before.
    assert made["volumes"] <= later["volumes"]
    assert made["routers"] <= later["routers"]
    (volume,) = (stacks.cloud.block_storage.get_volume(each) for each in made["volumes"])
    assert (volume.size, volume.status) == (2, "in-use")
    stacks.delete("web")
    assert stacks.things() == before


NET = {"type": "OS::Neutron::Net"}
SUBNET = {
    "type": "OS::Neutron::Subnet",
    "properties": {"network": {"get_resource": "net"}, "cidr": "10.7.0.0/24"},
}


def test_a_port_beside_a_subnet_of_its_network_has_an_address(stacks: Stacks, tmp_path: Path) -> None:
    port = {"type": "OS::Neutron::Port", "properties": {"network": {"get_resource": "net"}}}
    stacks.create("s", written(tmp_path, port=port, net=NET, subnet=SUBNET))
    (made,) = (each["physical_id"] for each in stacks.resources("s") if each["name"] == "port")
    assert stacks.cloud.network.get_port(made).fixed_ips
    assert "port -> subnet" in stacks.run("stack", "graph", "s").replace('"', "")
    stacks.delete("s")


def test_a_floating_ip_beside_the_router_of_its_port_leads_there(stacks: Stacks, tmp_path: Path) -> None:
    gateway = {"external_gateway_info": {"network": OUTSIDE}}
    ends = {"router": {"get_resource": "router"}, "subnet": {"get_resource": "subnet"}}
    leads = {"floating_network": OUTSIDE, "port_id": {"get_resource": "port"}}
    stacks.create(
        "s",
        written(
            tmp_path,
            address={"type": "OS::Neutron::FloatingIP", "properties": leads},
            port={"type": "OS::Neutron::Port", "properties": {"network": {"get_resource": "net"}}},
            net=NET,
            subnet=SUBNET,
            router={"type": "OS::Neutron::Router", "properties": gateway},
            interface={"type": "OS::Neutron::RouterInterface", "properties": ends},
        ),
    )
    ids = {each["name"]: each["physical_id"] for each in stacks.resources("s")}
    assert stacks.cloud.network.get_ip(ids["address"]).port_id == ids["port"]
    stacks.delete("s")


def test_a_port_that_is_replaced_keeps_its_address_and_gets_it_back(stacks: Stacks, tmp_path: Path) -> None:
    def template(mac: str, *, fails: bool = False) -> Path:
        user = {"fail": fails, "value": {"get_resource": "port"}}
        subnet, address = {"get_resource": "subnet"}, "10.7.0.77"
        properties = {
            "network": {"get_resource": "net"},
            "fixed_ips": [{"subnet": subnet, "ip_address": address}],
            "mac_address": mac,
        }
        return written(
            tmp_path,
            net=NET,
            subnet=SUBNET,
            port={"type": "OS::Neutron::Port", "properties": properties},
            # The old port stays until what uses it uses the new one.
            user={"type": "OS::Heat::TestResource", "properties": user},
        )

    def port() -> Any:
        (found,) = (each["physical_id"] for each in stacks.resources("s") if each["name"] == "port")
        return stacks.cloud.network.get_port(found)

    stacks.create("s", template("02:00:00:00:00:01"))
    first = port()
    stacks.update("s", template("02:00:00:00:00:02"))
    second = port()
    assert second.id != first.id
    assert [each["ip_address"] for each in second.fixed_ips] == ["10.7.0.77"]
    file = template("02:00:00:00:00:03", fails=True)
    with pytest.raises(AssertionError, match="ROLLBACK_COMPLETE"):
        stacks.run("stack", "update", "s", "-t", str(file), "--rollback", "--wait")
    assert port().id == second.id
    assert [each["ip_address"] for each in port().fixed_ips] == ["10.7.0.77"]
    assert len(list(stacks.cloud.network.ports(network_id=second.network_id))) == 1
    stacks.delete("s")


def pairs(directory: Path, count: int) -> Path:
    """Write a template of so many servers, each with a port."""
    server = {
        "type": "OS::Nova::Server",
        "properties": {"image": IMAGE, "flavor": FLAVOR, "networks": [{"port": {"get_resource": "port"}}]},
    }
    port = {"type": "OS::Neutron::Port", "properties": {"network": INSIDE}}
    pair = {"heat_template_version": "2021-04-16", "resources": {"port": port, "server": server}}
    (directory / "pair.yaml").write_text(json.dumps(pair))
    properties = {"count": count, "resource_def": {"type": "pair.yaml"}}
    return written(directory, pairs={"type": "OS::Heat::ResourceGroup", "properties": properties})


@pytest.mark.devcloud(every_run=False)
def test_many_servers_and_ports_cost_few_requests_each(stacks: Stacks, tmp_path: Path) -> None:
    """One list answers for all servers that are waited for, and nothing is looked up twice."""
    count, before = 50, stacks.things()
    # As long as they are looked up once, however slow the cloud is.
    stacks.configure(ISOTHERM_CONSTRAINT_CACHE__EXPIRATION_SECONDS="3600")
    begun = time.monotonic()
    with stacks.counted() as requests:
        stacks.create("many", pairs(tmp_path, count), "--timeout", "30")
    seconds = time.monotonic() - begun
    made = {kind: len(ids - before[kind]) for kind, ids in stacks.things().items()}
    assert (made["servers"], made["ports"]) == (count, count)
    print(dict(requests))
    made_by = {what: number for (method, what), number in requests.items() if method == "POST"}
    assert made_by == {"servers": count, "ports": count, "auth/tokens": 1}
    read = {what: number for (method, what), number in requests.items() if method == "GET"}
    # Their existence is checked for the servers.
    assert read.pop("ports") == count
    polls = read.pop("servers/detail") + read.pop("servers", 0)
    # Each is looked at every second, most of them by one list; the first of a second, and one that is alone, by itself.
    assert polls <= 2 * seconds + count
    # Versions of services, the network, the image and the flavor.
    assert sum(read.values()) <= 12
    stacks.delete("many")
    assert stacks.things() == before


@pytest.mark.devcloud(every_run=False)
def test_a_storm_of_refusals_is_survived(stacks: Stacks, tmp_path: Path) -> None:
    before = stacks.things()
    with stacks.counted(refused=40) as requests:
        stacks.create("stormy", pairs(tmp_path, 3))
    made = {kind: len(ids - before[kind]) for kind, ids in stacks.things().items()}
    assert (made["servers"], made["ports"]) == (3, 3)
    assert requests["", "refused"] == 40
    stacks.delete("stormy")
    assert stacks.things() == before
