"""Write ``docs/backends.md`` from the hypervisors and storage themselves: ``python docs/make_backends.py``."""

import json
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any

from pydantic import BaseModel

from workers.agent.hypervisors.containers.hypervisor import Oci
from workers.agent.hypervisors.fake import Fake
from workers.agent.hypervisors.hypervisor import Hypervisor
from workers.agent.hypervisors.libvirt.hypervisor import Libvirt
from workers.agent.hypervisors.process.hypervisor import ProcessHypervisor
from workers.agent.hypervisors.qemu.hypervisor import Qemu
from workers.agent.storage.file import FileStorage
from workers.agent.storage.lvm_vg import LvmVg
from workers.agent.storage.storage import Storage

PAGE = Path(__file__).with_name("backends.md")

INTRODUCTION = """\
# Hypervisors and storage

<!-- Written by docs/make_backends.py from workers/agent/hypervisors and workers/agent/storage: change it there. -->

The settings of an agent list its hypervisors and storage units, each with settings of its own
(`[agent.hypervisors.qemu]`, `[agent.storage.fast]`; see [nodes.md](nodes.md)). Options of a single instance or volume
are in the properties `options` and `networks` of `Isotherm::Node::Instance`, and `options` of `Isotherm::Node::Volume`.
Unknown names are refused with the nearest right one.
"""

#: With what templates may say of an instance, and of each of its networks.
HYPERVISORS: tuple[tuple[type[Hypervisor], type[BaseModel] | None, type[BaseModel] | None], ...] = tuple(
    (each, each.InstanceOptions, each.InstanceNetwork)
    for each in (ProcessHypervisor, Oci, Qemu, Libvirt, Fake)
)
STORAGE: tuple[tuple[type[Storage], type[BaseModel] | None], ...] = tuple(
    (each, each.VolumeOptions) for each in (FileStorage, LvmVg)
)


def page() -> str:
    """Return the page's text."""
    return INTRODUCTION + "".join((*_hypervisors(), *_storage()))


def _hypervisors() -> Iterator[str]:
    for hypervisor, options, network in HYPERVISORS:
        yield f"\n## Hypervisor `{hypervisor.name}`\n\n{hypervisor.description}\n"
        yield f"\nAbilities: {', '.join(sorted(hypervisor.abilities)) or 'none'}.\n"
        yield from _table("Setting", hypervisor.Options)
        yield from _table("Option of an instance", options)
        yield from _table("Option of a network", network)


def _storage() -> Iterator[str]:
    for storage, options in STORAGE:
        yield f"\n## Storage `{storage.kind}`\n\n{storage.description}\n"
        yield from _table("Setting", storage.Options)
        yield from _table("Option of a volume", options)


def _table(heading: str, model: type[BaseModel] | None) -> Iterable[str]:
    if model is None or not model.model_fields:
        return
    yield f"\n| {heading} | Default | Meaning |\n|---|---|---|\n"
    for name, field in model.model_fields.items():
        meaning = (field.description or "").replace("|", r"\|")
        yield f"| `{name}` | {_default(name, field.default)} | {meaning} |\n"


def _default(name: str, default: Any) -> str:
    if name == "program":
        # It is that of the processor of whatever machine this runs on.
        return "`qemu-system-` and the processor"
    if default is None or default in ("", ()):
        return "empty"
    return f"`{default if isinstance(default, str) else json.dumps(default)}`"


if __name__ == "__main__":
    PAGE.write_text(page())
