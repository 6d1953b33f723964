"""The properties and attributes of an instance."""

from collections.abc import Mapping
from typing import Final

from orchestrator.plugins.constraints import Range
from orchestrator.plugins.custom import Custom
from orchestrator.plugins.properties import Attribute, CacheMode, Property, PropertyType
from workers.resources.nodes.disks import DISKS_PROPERTY
from workers.resources.nodes.placing import PLACING_PROPERTIES
from workers.resources.nodes.readiness import READY_SCHEMA

#: The default hypervisor.
DEFAULT_HYPERVISOR: Final = "process"
GRACE_SECONDS: Final = 10.0
_AGAIN: Final = "A change stops the instance and starts it again."

INSTANCE_PROPERTIES: Final[Mapping[str, Property]] = {
    "hypervisor": Property(
        type=PropertyType.STRING,
        default=DEFAULT_HYPERVISOR,
        constraints=(Custom("node.hypervisor"),),
        description="What runs it, by its name in the node's settings: process, oci, qemu, libvirt.",
    ),
    "image": Property(
        type=PropertyType.STRING,
        default="",
        description="The image, in the hypervisor's own terms; empty: none.",
    ),
    "command": Property(
        type=PropertyType.ANY,
        update_allowed=True,
        description="The arguments of what runs in it as a list, or one text that is split as a shell would; not "
        f"given: what the image says. {_AGAIN}",
    ),
    "env": Property(
        type=PropertyType.MAP,
        default={},
        update_allowed=True,
        description=f"Variables of its environment. {_AGAIN}",
    ),
    "cwd": Property(
        type=PropertyType.STRING,
        default="",
        update_allowed=True,
        description=f"Where the command runs; empty: the hypervisor's choice. {_AGAIN}",
    ),
    "user": Property(
        type=PropertyType.STRING,
        default="",
        update_allowed=True,
        description=f"The user under which it runs; empty: the agent's. {_AGAIN}",
    ),
    "memory": Property(
        type=PropertyType.INTEGER,
        required=True,
        update_allowed=True,
        constraints=(Range(min=1),),
        description="In MiB. Changed in place where the hypervisor can; else the instance is stopped and started "
        "again.",
    ),
    "vcpus": Property(
        type=PropertyType.INTEGER,
        default=1,
        update_allowed=True,
        constraints=(Range(min=1),),
        description="Virtual processors; changed as `memory` is.",
    ),
    "disks": DISKS_PROPERTY,
    "networks": Property(
        type=PropertyType.LIST,
        default=[],
        update_allowed=True,
        schema=Property(type=PropertyType.MAP),
        description=f"Its networks, in the hypervisor's own terms. {_AGAIN}",
    ),
    "options": Property(
        type=PropertyType.MAP,
        default={},
        update_allowed=True,
        description=f"Whatever else the hypervisor takes. {_AGAIN}",
    ),
    "ready": Property(
        type=PropertyType.MAP,
        default={},
        update_allowed=True,
        schema=READY_SCHEMA,
        description="The readiness condition, probed on its node: tcp, http or exit; without one, that it runs.",
    ),
    "grace": Property(
        type=PropertyType.NUMBER,
        default=GRACE_SECONDS,
        update_allowed=True,
        constraints=(Range(0, 600),),
        description="Seconds to wait for its end when it is stopped or deleted.",
    ),
    **PLACING_PROPERTIES,
}

INSTANCE_ATTRIBUTES: Final[Mapping[str, Attribute]] = {
    "node": Attribute("The node it is on.", PropertyType.STRING),
    "hypervisor": Attribute("What runs it.", PropertyType.STRING),
    "name": Attribute("Its name on the node.", PropertyType.STRING),
    "state": Attribute(
        "running, paused, shutdown, crashed or unknown; null: it does not exist.",
        PropertyType.STRING,
        cache_mode=CacheMode.NONE,
    ),
    "instance_id": Attribute(
        "Its id in the hypervisor: the number of a process, the id of a domain.",
        PropertyType.STRING,
        cache_mode=CacheMode.NONE,
    ),
    "memory_used": Attribute(
        "In MiB; null where it is unknown.", PropertyType.INTEGER, cache_mode=CacheMode.NONE
    ),
    "cpu_seconds": Attribute(
        "The processor time that it has used.", PropertyType.NUMBER, cache_mode=CacheMode.NONE
    ),
    "details": Attribute(
        "Further information of its hypervisor, such as the file with its output.",
        PropertyType.MAP,
        cache_mode=CacheMode.NONE,
    ),
}
