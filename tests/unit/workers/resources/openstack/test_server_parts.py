"""The parts of a server that need no service: its networks, disks and user data."""

import base64
import json
from email import message_from_string
from typing import Any

import pytest

from orchestrator.definition import UNKNOWN
from orchestrator.plugins.properties import PropertyError, convert_properties
from orchestrator.plugins.siblings import Sibling, Siblings, reference_to
from workers.resources.openstack.cinder.volume_attachment import VolumeAttachment
from workers.resources.openstack.neutron.subnet import Subnet
from workers.resources.openstack.nova.server.block_devices import block_devices, boots_from_volume
from workers.resources.openstack.nova.server.networks import dropped, fitting, observed
from workers.resources.openstack.nova.server.schema import check_transport
from workers.resources.openstack.nova.server.server import Server
from workers.resources.openstack.nova.server.user_data import encoded


def properties(**given: Any) -> dict[str, Any]:
    """Return the properties of a server, without look-ups."""
    return convert_properties(Server.properties_schema, {"flavor": "small", **given}, constraints=False)


def card(port: str, network: str, subnet: str = "s", address: str = "10.0.0.5") -> dict[str, Any]:
    return {"port_id": port, "net_id": network, "fixed_ips": [{"subnet_id": subnet, "ip_address": address}]}


def test_the_narrowest_network_gets_its_card_first() -> None:
    networks: list[dict[str, Any]] = [
        {"network": "n"},
        {"network": "n", "fixed_ip": "10.0.0.6"},
        {"port": "p3"},
    ]
    cards = [card("p1", "n", address="10.0.0.6"), card("p2", "n"), card("p3", "n")]
    found = {number: each["port_id"] for number, each in fitting(networks, cards).items()}
    assert found == {0: "p2", 1: "p1", 2: "p3"}


def test_networks_are_observed_as_given_unless_cards_differ() -> None:
    given: list[dict[str, Any]] = [{"network": "n", "port": None}, {"port": "p2"}]
    assert observed(given, [card("p2", "m"), card("p1", "n")]) == given
    assert observed(given, [card("p2", "m"), card("p9", "x")]) == [
        {"port": "p2"},
        {"port": "p9", "network": "x"},
    ]


def test_ports_that_are_no_longer_given_are_let_go() -> None:
    before: list[dict[str, Any]] = [{"port": "a"}, {"port": "b"}, {"network": "n", "port": None}]
    assert dropped(before, [{"port": "b"}], "port") == ["a"]
    assert dropped(None, [{"port": "b"}], "port") == []


@pytest.mark.parametrize(
    ("given", "path"),
    [
        ({"image": "i", "networks": [{}]}, ("networks", 0)),
        ({"image": "i", "networks": [{"port": "p", "fixed_ip": "10.0.0.1"}]}, ("networks", 0, "fixed_ip")),
        ({"image": "i", "networks": [{"network": "n", "floating_ip": "f"}]}, ("networks", 0, "floating_ip")),
        (
            {"image": "i", "networks": [{"allocate_network": "auto"}, {"network": "n"}]},
            ("networks", 0, "allocate_network"),
        ),
        ({"image": "i", "networks": [{"port": "p"}], "security_groups": ["g"]}, ("security_groups",)),
        ({}, ("image",)),
        ({"image": "i", "block_device_mapping_v2": [{"boot_index": 1}]}, ("block_device_mapping_v2", 0)),
        (
            {"image": "i", "block_device_mapping_v2": [{"volume_id": "v", "image": "j"}]},
            ("block_device_mapping_v2", 0),
        ),
        (
            {
                "image": "i",
                "block_device_mapping": [{"device_name": "vdb", "volume_id": "v"}],
                "block_device_mapping_v2": [{"volume_id": "v"}],
            },
            ("block_device_mapping_v2",),
        ),
    ],
)
def test_wrong_properties_are_refused_where_they_are(
    given: dict[str, Any], path: tuple[str | int, ...]
) -> None:
    with pytest.raises(PropertyError) as refused:
        Server.validate(properties(**given))
    assert refused.value.path == path


def test_a_volume_to_boot_from_needs_no_image() -> None:
    given = properties(block_device_mapping=[{"device_name": "vda", "volume_id": "v"}])
    Server.validate(given)
    assert boots_from_volume(given)
    [device] = block_devices(given)
    assert (device["source_type"], device["uuid"], device["boot_index"]) == ("volume", "v", 0)


def test_the_image_stays_the_first_disk_beside_others() -> None:
    given = properties(image="i", block_device_mapping_v2=[{"swap_size": 512}, {"ephemeral_size": 1}])
    image, swap, ephemeral = block_devices(given)
    assert (image["source_type"], image["uuid"], image["boot_index"]) == ("image", "i", 0)
    assert (swap["guest_format"], swap["volume_size"]) == ("swap", 512)
    assert (ephemeral["destination_type"], ephemeral["volume_size"]) == ("local", 1)
    assert not boots_from_volume(given)


def decoded(kind: str, text: str, metadata: Any = None) -> str:
    return base64.b64decode(encoded(kind, text, metadata or {})).decode()


def test_raw_user_data_is_sent_as_it_is() -> None:
    assert decoded("RAW", "#!/bin/sh\necho é\n") == "#!/bin/sh\necho é\n"
    assert encoded("RAW", "", {"a": 1}) == ""


def test_other_formats_are_messages_with_the_metadata() -> None:
    message = message_from_string(decoded("HEAT_CFNTOOLS", "#!/bin/sh\n", {"a": 1}))
    names = [part.get_filename() for part in message.get_payload()]  # type: ignore[union-attr]
    assert names == ["part-handler.py", "cfn-userdata", "cfn-init-data", "run-userdata.sh"]
    inner = decoded("SOFTWARE_CONFIG", "#cloud-config\n", {})
    message = message_from_string(decoded("SOFTWARE_CONFIG", inner, {}))
    names = [part.get_filename() for part in message.get_payload()]  # type: ignore[union-attr]
    assert names == ["userdata", "cfn-init-data", "cfn-init-data"]


def test_a_server_follows_the_subnets_of_its_networks() -> None:
    def subnet(name: str, network: object) -> Sibling:
        return Sibling(name, Subnet, lambda: {"network": network})

    networks = [{"network": reference_to("net")}, {"port": reference_to("port")}]
    own = Sibling("server", Server, lambda: properties(image="i", networks=networks))
    others = [subnet("a", reference_to("net")), subnet("b", reference_to("other")), subnet("c", UNKNOWN)]
    # Another kind of object, and a nested template.
    others += [Sibling("e", VolumeAttachment, dict), Sibling("d", None, dict)]
    siblings = Siblings({each.name: each for each in (own, *others)})
    assert list(Server.implied_requirements(own, siblings)) == ["a", "c"]


def test_user_data_have_what_the_server_polls_with_beside_what_the_template_says() -> None:
    metadata = {"os-collect-config": {"polling_interval": 5}, "role": "web"}
    collects = {"cfn": {"path": "it.Metadata"}, "collectors": ["cfn"]}
    content = base64.b64decode(encoded("SOFTWARE_CONFIG", "", metadata, collects)).decode()
    (part,) = (each for each in message_from_string(content).walk() if each.get_filename() == "cfn-init-data")
    whole = {"polling_interval": 5, **collects}
    assert json.loads(str(part.get_payload())) == {"os-collect-config": whole, "role": "web"}


@pytest.mark.parametrize("transport", ["POLL_TEMP_URL", "ZAQAR_MESSAGE"])
def test_transports_of_metadata_that_need_another_service_are_refused(transport: str) -> None:
    given = {"software_config_transport": transport, "user_data_format": "SOFTWARE_CONFIG"}
    with pytest.raises(PropertyError, match=f"{transport} is not supported"):
        check_transport(given)
    check_transport({**given, "user_data_format": "RAW"})
