"""The properties and attributes of servers."""

import base64
import json
from collections.abc import Mapping, Sequence
from typing import Any, Final

from orchestrator.plugins.constraints import AllowedValues
from orchestrator.plugins.custom import Custom
from orchestrator.plugins.properties import Attribute, Property, PropertyError
from orchestrator.plugins.support import Support, SupportStatus
from orchestrator.plugins.translation import Replace, Rule
from workers.resources.openstack.lookups import looked_up
from workers.resources.schemas import boolean, integer, listing, live, mapping, text

_HIDDEN: Final = SupportStatus(status=Support.HIDDEN)
_FILES: Final = SupportStatus(
    status=Support.DEPRECATED, message="newer compute services put no files into servers: use user_data"
)
#: Transports of metadata that would need another service, and that service.
_NEEDED: Final = {"POLL_TEMP_URL": "object storage", "ZAQAR_MESSAGE": "message queues"}
_DEVICE_NAME: Final = "The name of the device in the server, such as vda."
_DELETE: Final = "Whether the volume is deleted with the server."
_SIZE: Final = "The size of the volume, in GB; by default that of its source."
_VOLUME: Final = (Custom("cinder.volume"),)
_SNAPSHOT: Final = (Custom("cinder.snapshot"),)
_IMAGE: Final = (Custom("glance.image"),)
_NETWORK: Final = (Custom("neutron.network"),)

_BLOCK_DEVICE: Final = mapping(
    schema={
        "device_name": text(_DEVICE_NAME, required=True),
        "volume_id": text("The volume.", constraints=_VOLUME),
        "snapshot_id": text("The snapshot from which a volume is made.", constraints=_SNAPSHOT),
        "volume_size": integer(_SIZE),
        "delete_on_termination": boolean(_DELETE),
    }
)
_BLOCK_DEVICE_V2: Final = mapping(
    schema={
        "device_name": text(_DEVICE_NAME),
        "volume_id": text("The volume.", constraints=_VOLUME),
        "image": text("The id or name of the image from which a volume is made.", constraints=_IMAGE),
        "image_id": text("The old name of image.", constraints=_IMAGE, support_status=_HIDDEN),
        "snapshot_id": text("The snapshot from which a volume is made.", constraints=_SNAPSHOT),
        "swap_size": integer("The size of a swap device, in MB."),
        "ephemeral_size": integer("The size of a disk of the host's, in GB."),
        "ephemeral_format": text(
            "The file system of a disk of the host's.",
            constraints=(AllowedValues(("ext2", "ext3", "ext4", "xfs", "ntfs")),),
        ),
        "device_type": text("The kind of device.", constraints=(AllowedValues(("cdrom", "disk")),)),
        "disk_bus": text(
            "Its bus; by default the hypervisor's choice.",
            constraints=(AllowedValues(("ide", "lame_bus", "scsi", "usb", "virtio")),),
        ),
        "boot_index": integer("Its place in the order of booting: 0 is first, -1 is never."),
        "volume_size": integer(_SIZE),
        "delete_on_termination": boolean(_DELETE),
    }
)
_PORT_EXTRA: Final = mapping(
    "Further values of the port that is made for this network.",
    schema={
        "admin_state_up": boolean("Whether it is up.", default=True),
        "allowed_address_pairs": listing(
            "Other addresses from which it may send.",
            schema=mapping(
                schema={
                    "mac_address": text("The MAC address.", constraints=(Custom("mac_addr"),)),
                    "ip_address": text("The address, or a network.", required=True),
                }
            ),
        ),
        "binding:vnic_type": text(
            "The kind of card.",
            default="normal",
            constraints=(
                AllowedValues(
                    (
                        "normal", "direct", "macvtap", "direct-physical", "baremetal", "virtio-forwarder",
                        "smart-nic", "vdpa", "accelerator-direct", "accelerator-direct-physical",
                        "remote-managed",
                    )
                ),
            ),
        ),
        "mac_address": text("Its MAC address.", constraints=(Custom("mac_addr"),)),
        "no_fixed_ips": boolean("Whether it has no addresses.", default=False),
        "port_security_enabled": boolean("Whether its traffic is checked."),
        "propagate_uplink_status": boolean("Whether it follows its uplink's status."),
        "qos_policy": text("Its QoS policy."),
        "value_specs": mapping("Further values, sent as they are.", default={}),
    },
)  # fmt: skip
_NIC: Final = mapping(
    schema={
        "uuid": text("The old name of network.", constraints=_NETWORK, support_status=_HIDDEN),
        "network": text("The id or name of a network on which a port is made.", constraints=_NETWORK),
        "allocate_network": text(
            "auto: the compute service chooses the network; none: there is none. Nothing else may be given then.",
            constraints=(AllowedValues(("none", "auto")),),
        ),
        "fixed_ip": text("The address on that network.", constraints=(Custom("ip_addr"),)),
        "port": text("The id or name of a port.", constraints=(Custom("neutron.port"),)),
        "port_extra_properties": _PORT_EXTRA,
        "subnet": text(
            "The id or name of the subnet of the address.", constraints=(Custom("neutron.subnet"),)
        ),
        "floating_ip": text("The id of a floating IP for it; needs a port or a subnet."),
        "tag": text("A tag, by which the server knows the card."),
    }
)

PROPERTIES: Final[Mapping[str, Property]] = {
    "name": text("Its name; by default a unique one.", update_allowed=True),
    "image": text(
        "The id or name of the image; not needed to boot from a volume.",
        constraints=_IMAGE,
        update_allowed=True,
    ),
    "block_device_mapping": listing("Volumes of the server, in the old form.", schema=_BLOCK_DEVICE),
    "block_device_mapping_v2": listing("Disks and volumes of the server.", schema=_BLOCK_DEVICE_V2),
    "flavor": text(
        "The id or name of the flavor.",
        required=True,
        constraints=(Custom("nova.flavor"),),
        update_allowed=True,
    ),
    "flavor_update_policy": text(
        "Whether another flavor resizes the server, or replaces it.",
        default="RESIZE",
        constraints=(AllowedValues(("RESIZE", "REPLACE")),),
        update_allowed=True,
    ),
    "image_update_policy": text(
        "Whether another image rebuilds the server, with or without its ephemeral disks kept, or replaces it.",
        default="REBUILD",
        constraints=(AllowedValues(("REBUILD", "REPLACE", "REBUILD_PRESERVE_EPHEMERAL")),),
        update_allowed=True,
    ),
    "key_name": text("The name of the key pair for logging in.", constraints=(Custom("nova.keypair"),)),
    "admin_user": text("Has no effect: the image names its user.", support_status=_HIDDEN),
    "availability_zone": text("The availability zone."),
    "security_groups": listing(
        "The ids or names of the security groups of ports that are made for it.", default=[]
    ),
    "networks": listing(
        "Its networks, in the order of its cards; by default the service's choice.",
        schema=_NIC,
        update_allowed=True,
    ),
    "scheduler_hints": mapping("Hints on where it is placed, such as group."),
    "metadata": mapping(
        "Its metadata in the service; what is no text becomes JSON.", update_allowed=True, default={}
    ),
    "user_data_format": text(
        "RAW: user_data as it is; HEAT_CFNTOOLS: in a message with what cloud-init needs to run it; "
        "SOFTWARE_CONFIG: in a message, beside the resource's metadata and what os-collect-config needs to poll them.",
        default="HEAT_CFNTOOLS",
        constraints=(AllowedValues(("HEAT_CFNTOOLS", "RAW", "SOFTWARE_CONFIG")),),
    ),
    "software_config_transport": text(
        "How the server gets the metadata of deployments. POLL_SERVER_CFN and POLL_SERVER_HEAT: it polls the address "
        "of the API, in the same way; the others are refused with the format SOFTWARE_CONFIG.",
        default="POLL_SERVER_CFN",
        constraints=(
            AllowedValues(("POLL_SERVER_CFN", "POLL_SERVER_HEAT", "POLL_TEMP_URL", "ZAQAR_MESSAGE")),
        ),
        update_allowed=True,
    ),
    "user_data_update_policy": text(
        "Whether other user_data replaces the server, or is ignored.",
        default="REPLACE",
        constraints=(AllowedValues(("REPLACE", "IGNORE")),),
        update_allowed=True,
    ),
    "user_data": text(
        "What cloud-init runs: a text, or get_resource of a config, whose text is used.",
        default="",
        update_allowed=True,
    ),
    "reservation_id": text("Has no effect: the service makes these ids."),
    "config_drive": boolean("Whether it has a disk with its configuration."),
    "diskConfig": text(
        "How its disk is partitioned: AUTO fits it to the flavor.", constraints=(AllowedValues(("AUTO", "MANUAL")),)
    ),
    "personality": mapping("Files in it: contents by path.", default={}, support_status=_FILES),
    "admin_pass": text("The administrator's password.", update_allowed=True, sensitive=True),
    "tags": listing("Its tags.", schema=text(), update_allowed=True),
    "deployment_swift_data": mapping(
        "Where the metadata of deployments would be kept; has no effect.",
        default={},
        update_allowed=True,
        schema={"container": text("The container."), "object": text("The object.")},
    ),
}  # fmt: skip

ATTRIBUTES: Final[Mapping[str, Attribute]] = {
    "name": live("Its name."),
    "addresses": live(
        "By name and by id of each network, a list of its addresses: addr, version, port, subnets, network and more."
    ),
    "networks": live("By name and by id of each network, a list of its addresses."),
    "first_address": live("The first of its addresses; empty if it has none.", support_status=_HIDDEN),
    "instance_name": live("Its name on its host, which only administrators see."),
    "accessIPv4": live("The IPv4 address at which it is to be reached, if that was set."),
    "accessIPv6": live("The IPv6 address at which it is to be reached, if that was set."),
    "console_urls": live(
        "By kind of console (novnc, spice-html5, serial ...), its address, or why it has none."
    ),
    "os_collect_config": live("The settings with which its agent polls its metadata.", sensitive=True),
    "tags": live("Its tags."),
}


def rules() -> Sequence[Rule]:
    """Return the translation rules: old names become new ones, and names become ids."""
    of_network = [looked_up(name, "networks", name) for name in ("network", "port", "subnet")]
    return [
        Replace(path=("networks", "network"), sibling="uuid"),
        Replace(path=("block_device_mapping_v2", "image"), sibling="image_id"),
        looked_up("flavor", "flavor"),
        looked_up("image", "image"),
        looked_up("image", "block_device_mapping_v2", "image"),
        *of_network,
    ]


def texts_of(metadata: Mapping[str, Any]) -> dict[str, str]:
    """Return metadata as the service keeps it: what is no text as JSON."""
    return {name: each if isinstance(each, str) else json.dumps(each) for name, each in metadata.items()}


def files_of(personality: Mapping[str, Any]) -> list[dict[str, str]]:
    """Return files as the service takes them."""
    return [
        {"path": path, "contents": base64.b64encode(str(content).encode()).decode()}
        for path, content in personality.items()
    ]


def check_transport(properties: Mapping[str, Any]) -> None:
    """Refuse transports of metadata that there are not.

    Raises:
        PropertyError: it is one of them.
    """
    transport = properties["software_config_transport"]
    if transport in _NEEDED and properties["user_data_format"] == "SOFTWARE_CONFIG":
        message = f"{transport} is not supported: it needs a service for {_NEEDED[transport]}"
        hint = "use POLL_SERVER_CFN: servers poll their metadata at the address of Isotherm's API"
        raise PropertyError(("software_config_transport",), message, hint)
