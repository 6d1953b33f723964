"""The properties and attributes of an instance."""

from collections.abc import Mapping
from typing import Final

from orchestrator.plugins.constraints import Range
from orchestrator.plugins.custom import Custom
from orchestrator.plugins.properties import Attribute, Property, PropertyType
from workers.resources.nodes.disks import DISKS_PROPERTY
from workers.resources.nodes.placing import PLACING_PROPERTIES
from workers.resources.nodes.readiness import READY_SCHEMA
from workers.resources.schemas import anything, integer, listing, live, mapping, number, text

#: The default hypervisor.
DEFAULT_HYPERVISOR: Final = "process"
GRACE_SECONDS: Final = 10.0
_AGAIN: Final = "A change stops the instance and starts it again."

INSTANCE_PROPERTIES: Final[Mapping[str, Property]] = {
    "hypervisor": text(
        "What runs it, by its name in the node's settings: process, oci, qemu, libvirt.",
        default=DEFAULT_HYPERVISOR,
        constraints=(Custom("node.hypervisor"),),
    ),
    "image": text("The image, in the hypervisor's own terms; empty: none.", default=""),
    "command": anything(
        "The arguments of what runs in it as a list, or one text that is split as a shell would; not "
        f"given: what the image says. {_AGAIN}",
        update_allowed=True,
    ),
    "env": mapping(f"Variables of its environment. {_AGAIN}", default={}, update_allowed=True),
    "cwd": text(
        f"Where the command runs; empty: the hypervisor's choice. {_AGAIN}", default="", update_allowed=True
    ),
    "user": text(
        f"The user under which it runs; empty: the agent's. {_AGAIN}", default="", update_allowed=True
    ),
    "memory": integer(
        "In MiB. Changed in place where the hypervisor can; else the instance is stopped and started again.",
        required=True,
        update_allowed=True,
        constraints=(Range(min=1),),
    ),
    "vcpus": integer(
        "Virtual processors; changed as `memory` is.",
        default=1,
        update_allowed=True,
        constraints=(Range(min=1),),
    ),
    "disks": DISKS_PROPERTY,
    "networks": listing(
        f"Its networks, in the hypervisor's own terms. {_AGAIN}",
        default=[],
        update_allowed=True,
        schema=mapping(),
    ),
    "options": mapping(f"Whatever else the hypervisor takes. {_AGAIN}", default={}, update_allowed=True),
    "ready": mapping(
        "The readiness condition, probed on its node: tcp, http or exit; without one, that it runs.",
        default={},
        update_allowed=True,
        schema=READY_SCHEMA,
    ),
    "grace": number(
        "Seconds to wait for its end when it is stopped or deleted.",
        default=GRACE_SECONDS,
        update_allowed=True,
        constraints=(Range(0, 600),),
    ),
    **PLACING_PROPERTIES,
}

INSTANCE_ATTRIBUTES: Final[Mapping[str, Attribute]] = {
    "node": Attribute("The node it is on.", PropertyType.STRING),
    "hypervisor": Attribute("What runs it.", PropertyType.STRING),
    "name": Attribute("Its name on the node.", PropertyType.STRING),
    "state": live(
        "running, paused, shutdown, crashed or unknown; null: it does not exist.", PropertyType.STRING
    ),
    "instance_id": live(
        "Its id in the hypervisor: the number of a process, the id of a domain.", PropertyType.STRING
    ),
    "memory_used": live("In MiB; null where it is unknown.", PropertyType.INTEGER),
    "cpu_seconds": live("The processor time that it has used.", PropertyType.NUMBER),
    "details": live(
        "Further information of its hypervisor, such as the file with its output.", PropertyType.MAP
    ),
}
