"""The options of a domain, and its description in libvirt's XML."""

import json
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Final, Literal
from uuid import NAMESPACE_URL, UUID, uuid5
from xml.etree import ElementTree as ET

from pydantic import Field

from workers.agent.hypervisors.disk_image import ImageFile
from workers.agent.hypervisors.hypervisor import CannotDo, Disk, HypervisorFault, InstanceSpec
from workers.agent.hypervisors.requested_options import RequestedOptions

#: Marks this agent's domains, in their metadata.
NAMESPACE: Final = "urn:isotherm:instance:1"


class DomainOptions(RequestedOptions):
    """The options of a domain in a template."""

    root_size_mib: int = Field(
        default=0, ge=0, description="The size of the disk made from the image; 0: that of the image."
    )
    max_memory_mib: int = Field(
        default=0,
        ge=0,
        description="The memory to which it can grow while it runs; 0: its memory at the start.",
    )
    max_vcpus: int = Field(
        default=0, ge=0, description="The number of processors, likewise; 0: that at the start."
    )
    kernel: str = Field(default="", description="The file of a Linux kernel to start without firmware.")
    initrd: str = Field(default="", description="The file of its initial RAM disk.")
    append: str = Field(default="", description="The kernel's command line.")


class DomainNetwork(RequestedOptions):
    """A network card of a domain."""

    mode: Literal["network", "bridge", "user"] = Field(
        default="network", description="network (one of libvirt's), bridge, user (qemu's user-mode network)."
    )
    source: str = Field(default="default", description="The name of the network, or the bridge.")
    mac: str = Field(
        default="", pattern=r"^([0-9a-fA-F]{2}(:[0-9a-fA-F]{2}){5})?$", description="The MAC address."
    )


@dataclass(frozen=True, slots=True, kw_only=True)
class DomainKind:
    """A kind of domain that a driver of libvirt runs."""

    #: Such as kvm, qemu, lxc, xen, test.
    type: str
    #: The file that its serial port is written to; empty: none.
    log: str = ""

    @property
    def is_container(self) -> bool:
        """Whether it runs a command in a directory instead of a machine with disks."""
        return self.type == "lxc"

    @property
    def is_machine_of_qemu(self) -> bool:
        """Whether qemu runs it."""
        return self.type in ("kvm", "qemu")


def domain_uuid(name: str) -> str:
    """Return the UUID of an instance's domain: its own name, where that is one."""
    try:
        return str(UUID(name))
    except ValueError:
        return str(uuid5(NAMESPACE_URL, f"{NAMESPACE}:{name}"))


def domain_options(spec: InstanceSpec, kind: DomainKind) -> DomainOptions:
    """Return the options of the domain.

    Raises:
        HypervisorFault: they are invalid.
        CannotDo: domains of this kind have no such option.
    """
    options = DomainOptions.read(spec.options, "options")
    if not kind.is_container:
        for word in ("command", "cwd", "user"):
            if getattr(spec, word):
                raise CannotDo(f"a virtual machine runs what its disks hold: it takes no {word}")
    elif not spec.command or not spec.image:
        raise HypervisorFault("a container of libvirt needs a command, and a directory as its image")
    if spec.env and not (kind.is_container or kind.is_machine_of_qemu):
        raise CannotDo(f"domains of type {kind.type} take no env")
    if 0 < options.max_memory_mib < spec.memory_mib or 0 < options.max_vcpus < spec.vcpus:
        raise HypervisorFault("options: the largest size is below the one it starts with")
    return options


def domain_xml(spec: InstanceSpec, kind: DomainKind, root: ImageFile | None) -> str:
    """Return the description of a domain; ``root`` is the disk that was made of its image.

    Raises:
        HypervisorFault: something requested is not possible.
    """
    options = domain_options(spec, kind)
    domain = ET.Element("domain", type=kind.type)
    _add(domain, "name", spec.name)
    _add(domain, "uuid", domain_uuid(spec.name))
    if title := spec.title.replace("\n", " ").strip():
        _add(domain, "title", title)
    ET.SubElement(_add(domain, "metadata"), f"{{{NAMESPACE}}}instance")
    _add(domain, "memory", str(options.max_memory_mib or spec.memory_mib), unit="MiB")
    _add(domain, "currentMemory", str(spec.memory_mib), unit="MiB")
    _add(domain, "vcpu", str(options.max_vcpus or spec.vcpus), current=str(spec.vcpus))
    _add_system(domain, spec, kind, options)
    for event, action in (("poweroff", "destroy"), ("reboot", "restart"), ("crash", "destroy")):
        _add(domain, f"on_{event}", action)
    devices = _add(domain, "devices")
    devices.extend(list(_disks(spec, kind, root)))
    devices.extend(list(_cards(spec)))
    if kind.is_machine_of_qemu:
        if kind.log:
            serial = _add(devices, "serial", type="file")
            _add(serial, "source", path=kind.log, append="on")
        _add(devices, "memballoon", model="virtio")
    return ET.tostring(domain, encoding="unicode")


def _add_system(domain: ET.Element, spec: InstanceSpec, kind: DomainKind, options: DomainOptions) -> None:
    system = _add(domain, "os")
    _add(system, "type", "exe" if kind.is_container else "hvm")
    if kind.is_container:
        _add(system, "init", spec.command[0])
        for argument in spec.command[1:]:
            _add(system, "initarg", argument)
        for name, value in spec.env.items():
            _add(system, "initenv", value, name=name)
        for tag, value in (("initdir", spec.cwd), ("inituser", spec.user)):
            if value:
                _add(system, tag, value)
        return
    for tag, value in (("kernel", options.kernel), ("initrd", options.initrd), ("cmdline", options.append)):
        if value:
            _add(system, tag, value)
    if kind.is_machine_of_qemu:
        # Without it, the guest does not notice the power button.
        _add(_add(domain, "features"), "acpi")
        if spec.env:
            handed = _add(domain, "sysinfo", type="fwcfg")
            _add(handed, "entry", json.dumps(dict(spec.env)), name="opt/org.isotherm/env")


def _disks(spec: InstanceSpec, kind: DomainKind, root: ImageFile | None) -> Iterator[ET.Element]:
    if kind.is_container:
        yield _directory(spec.image, "/", readonly=False)
    disks: Sequence[Disk] = spec.disks
    if root is not None:
        disks = [Disk(path=root.path, format=root.format), *disks]
    letter = 0
    for number, disk in enumerate(spec.disks):
        if disk.format == "dir":
            target = f"/disks/{number}" if kind.is_container else f"disk{number}"
            yield _directory(disk.path, target, readonly=disk.readonly)
    for disk in disks:
        if disk.format == "dir":
            continue
        if kind.is_container:
            raise CannotDo(f"a container of libvirt takes directories as disks, not {disk.format}")
        yield _image(disk, f"vd{chr(ord('a') + letter)}")
        letter += 1


def _directory(path: str, target: str, *, readonly: bool) -> ET.Element:
    element = ET.Element("filesystem", type="mount")
    _add(element, "source", dir=path)
    _add(element, "target", dir=target)
    if readonly:
        _add(element, "readonly")
    return element


def _image(disk: Disk, target: str) -> ET.Element:
    is_device = Path(disk.path).is_block_device()
    element = ET.Element("disk", type="block" if is_device else "file", device="disk")
    _add(element, "driver", name="qemu", type=disk.format)
    _add(element, "source", **{"dev" if is_device else "file": disk.path})
    _add(element, "target", dev=target, bus="virtio")
    if disk.readonly:
        _add(element, "readonly")
    return element


def _cards(spec: InstanceSpec) -> Iterator[ET.Element]:
    for number, given in enumerate(spec.networks):
        network = DomainNetwork.read(given, f"networks.{number}")
        card = ET.Element("interface", type=network.mode)
        if network.mode != "user":
            _add(card, "source", **{network.mode: network.source})
        if network.mac:
            _add(card, "mac", address=network.mac)
        _add(card, "model", type="virtio")
        yield card


def _add(parent: ET.Element, tag: str, text: str | None = None, **attributes: str) -> ET.Element:
    element = ET.SubElement(parent, tag, attributes)
    element.text = text
    return element
