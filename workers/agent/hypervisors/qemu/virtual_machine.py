"""The options of a virtual machine, and the command line of qemu for it."""

import json
import os
import platform
import stat
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any, Final, Literal

from pydantic import Field

from workers.agent.hypervisors.disk_image import ImageFile
from workers.agent.hypervisors.hypervisor import (
    CannotDo,
    Disk,
    HypervisorFault,
    HypervisorOptions,
    InstanceSpec,
)
from workers.agent.hypervisors.requested_options import RequestedOptions

_MACHINES: Final = {"x86_64": "q35", "aarch64": "virt", "riscv64": "virt", "ppc64le": "pseries"}
#: The default factor by which it may grow while it runs.
_GROWTH: Final = 4
_MEMORY_SLOTS: Final = 16
#: Three monitors, since each takes one client at a time: reads never wait for changes, nor listeners for either.
LOOK: Final = "look.sock"
WORK: Final = "work.sock"
WATCH: Final = "watch.sock"
PID_FILE: Final = "pid"
_PROGRAM: Final = f"qemu-system-{platform.machine()}"


class MachineOptions(RequestedOptions):
    """The options of a virtual machine in a template."""

    root_size_mib: int = Field(
        default=0, ge=0, description="The size of the disk made from the image; 0: that of the image."
    )
    max_memory_mib: int = Field(
        default=0,
        ge=0,
        description="The memory to which it can grow while it runs; 0: four times its memory at the start.",
    )
    max_vcpus: int = Field(
        default=0, ge=0, description="The number of processors, likewise; 0: four times that at the start."
    )
    kernel: str = Field(default="", description="The file of a Linux kernel to start without firmware.")
    initrd: str = Field(default="", description="The file of its initial RAM disk.")
    append: str = Field(default="", description="The kernel's command line.")


class MachineNetwork(RequestedOptions):
    """A network card of a virtual machine."""

    mode: Literal["user", "tap", "bridge"] = Field(
        default="user",
        description="user (qemu's user-mode network), tap (an existing device), bridge (by qemu's helper).",
    )
    device: str = Field(
        default="", pattern=r"^[A-Za-z0-9_.-]{0,15}$", description="The tap device or the bridge."
    )
    mac: str = Field(
        default="", pattern=r"^([0-9a-fA-F]{2}(:[0-9a-fA-F]{2}){5})?$", description="The MAC address."
    )
    forward: tuple[str, ...] = Field(
        default=(),
        description="For mode user, forwarded ports of the machine, such as tcp:127.0.0.1:8022-:22.",
    )


class QemuOptions(HypervisorOptions):
    """The qemu programs, and the acceleration of virtual machines."""

    program: str = Field(default=_PROGRAM, description="The path of qemu for this machine's processor.")
    image_program: str = Field(
        default="qemu-img", description="The path of the program that makes disk images."
    )
    accelerator: Literal["auto", "kvm", "tcg"] = Field(
        default="auto",
        description="kvm (hardware virtualization), tcg (emulation), or auto: kvm if a machine really starts "
        "with it.",
    )
    machine: str = Field(
        default="", pattern=r"^[A-Za-z0-9._,=-]*$", description="The machine type; empty: qemu's default."
    )
    cpu: str = Field(
        default="",
        pattern=r"^[A-Za-z0-9._,=+-]*$",
        description="The processor model; empty: all features of the host.",
    )
    sandbox: bool = Field(
        default=True,
        description="Whether qemu runs with its seccomp sandbox; some builds do not support it.",
    )
    networks: tuple[Literal["user", "tap", "bridge"], ...] = Field(
        default=("user", "tap", "bridge"), description="The network modes that instances may use."
    )


def machine_options(spec: InstanceSpec) -> MachineOptions:
    """Return the options of the virtual machine.

    Raises:
        HypervisorFault: they are invalid.
        CannotDo: they apply to processes or containers only.
    """
    for word in ("command", "cwd", "user"):
        if getattr(spec, word):
            raise CannotDo(f"a virtual machine runs what its disks hold: it takes no {word}")
    options = MachineOptions.read(spec.options, "options")
    if (options.initrd or options.append) and not options.kernel:
        raise HypervisorFault("options: initrd and append belong to a kernel")
    if 0 < options.max_memory_mib < spec.memory_mib or 0 < options.max_vcpus < spec.vcpus:
        raise HypervisorFault("options: the largest size is below the one it starts with")
    for word, path in (("kernel", options.kernel), ("initrd", options.initrd)):
        if path and not Path(path).is_file():
            raise HypervisorFault(f"options.{word}: there is no {path}")
    return options


def machine_networks(spec: InstanceSpec) -> Sequence[MachineNetwork]:
    """Return its network cards.

    Raises:
        HypervisorFault: one is invalid.
    """
    read: list[MachineNetwork] = []
    for number, given in enumerate(spec.networks):
        network = MachineNetwork.read(given, f"networks.{number}")
        if (network.mode == "user") == bool(network.device):
            raise HypervisorFault(
                f"networks.{number}: modes tap and bridge need a device, mode user has none"
            )
        if network.forward and network.mode != "user":
            raise HypervisorFault(f"networks.{number}: only mode user can forward")
        read.append(network)
    return read


def machine_command(
    spec: InstanceSpec,
    *,
    emulator: QemuOptions,
    directory: Path,
    root: ImageFile | None,
    below: ImageFile | None,
) -> list[str]:
    """Return the command that runs the virtual machine beside its agent; its directory is ``directory``.

    The accelerator of ``emulator`` is kvm or tcg. ``root`` is the disk that was made of its image, ``below`` the image
    that this is a layer upon.

    Raises:
        HypervisorFault: something requested is not possible.
    """
    options, networks = machine_options(spec), machine_networks(spec)
    if refused := next((network.mode for network in networks if network.mode not in emulator.networks), ""):
        raise CannotDo(f"networks: this node allows {', '.join(emulator.networks) or 'none'}, not {refused}")
    cpu = emulator.cpu or ("host" if emulator.accelerator == "kvm" else "max")
    memory = f"size={spec.memory_mib}M,slots={_MEMORY_SLOTS},maxmem={_most(spec.memory_mib, options.max_memory_mib)}M"
    # A guest that powers itself off stays as a stopped process, so that its state can be read.
    command = [emulator.program, "-name", f"guest={spec.name}", "-accel", emulator.accelerator, "-cpu", cpu]
    command += ["-machine", emulator.machine or _MACHINES.get(platform.machine(), "none"), "-m", memory]
    command += ["-smp", f"cpus={spec.vcpus},maxcpus={_most(spec.vcpus, options.max_vcpus)}"]
    command += ["-nodefaults", "-no-user-config", "-display", "none", "-action", "shutdown=pause,panic=pause"]
    # More cannot be denied: to run beside its agent it forks, and begins a session of its own.
    command += ["-sandbox", "on,obsolete=deny,resourcecontrol=deny"] if emulator.sandbox else []
    command += ["-device", _json(driver="virtio-balloon-pci", id="balloon")]
    command += [
        "-chardev",
        _comma("file,id=log,append=on,path=", directory / "log"),
        "-serial",
        "chardev:log",
    ]
    for kernel_flag, value in (
        ("-kernel", options.kernel),
        ("-initrd", options.initrd),
        ("-append", options.append),
    ):
        command += [kernel_flag, value] if value else []
    if root is not None:
        command += _disk("root", root, below=below, readonly=False, bootindex=0)
    for number, disk in enumerate(spec.disks):
        command += _disk_of(disk, number)
    for number, network in enumerate(networks):
        command += _card(network, number)
    if spec.env:
        command += ["-fw_cfg", _comma("name=opt/org.isotherm/env,file=", directory / "env")]
    for monitor in (LOOK, WORK, WATCH):
        command += ["-qmp", f"unix:{monitor},server=on,wait=off"]
    return [*command, "-pidfile", str(directory / PID_FILE), "-daemonize"]


def _disk_of(disk: Disk, number: int) -> list[str]:
    if not Path(disk.path).exists():
        raise HypervisorFault(f"disk {number}: there is no {disk.path}")
    if disk.format == "dir":
        place = _comma(f"local,id=fs{number},security_model=mapped-xattr,path=", disk.path)
        readonly = ",readonly=on" if disk.readonly else ""
        device = _json(driver="virtio-9p-pci", fsdev=f"fs{number}", mount_tag=f"disk{number}")
        return ["-fsdev", place + readonly, "-device", device]
    image = ImageFile(path=disk.path, format=disk.format)
    return _disk(f"disk{number}", image, below=None, readonly=disk.readonly, bootindex=number + 1)


def _disk(
    node: str, image: ImageFile, *, below: ImageFile | None, readonly: bool, bootindex: int
) -> list[str]:
    # The header of a file must not decide which others are opened: the backing file is given here, or there is none.
    layers = {"backing": _layer(below) if below is not None else None} if image.format == "qcow2" else {}
    place = {**_layer(image), **layers, "node-name": node, "read-only": readonly}
    device = {"driver": "virtio-blk-pci", "drive": node, "serial": node, "bootindex": bootindex}
    return ["-blockdev", json.dumps(place), "-device", json.dumps(device)]


def _layer(image: ImageFile) -> dict[str, Any]:
    is_device = os.path.exists(image.path) and stat.S_ISBLK(os.stat(image.path).st_mode)  # noqa: PTH110, PTH116
    file = {"driver": "host_device" if is_device else "file", "filename": str(Path(image.path).absolute())}
    layer: dict[str, Any] = {"driver": image.format, "file": file}
    return {**layer, "backing": None} if image.format == "qcow2" else layer


def _card(network: MachineNetwork, number: int) -> Iterator[str]:
    kind = network.mode
    fields: dict[str, Any] = {"type": kind, "id": f"net{number}"}
    if kind == "tap":
        fields |= {"ifname": network.device, "script": "no", "downscript": "no"}
    elif kind == "bridge":
        fields["br"] = network.device
    elif network.forward:
        fields["hostfwd"] = [{"str": each} for each in network.forward]
    yield from ("-netdev", json.dumps(fields))
    mac = {"mac": network.mac} if network.mac else {}
    yield from ("-device", json.dumps({"driver": "virtio-net-pci", "netdev": f"net{number}", **mac}))


def _most(size: int, given: int) -> int:
    return given or size * _GROWTH


def _json(**fields: Any) -> str:
    return json.dumps(fields)


def _comma(before: str, path: Path | str) -> str:
    """Return an option that ends with a path: a comma in it is doubled, or it would end the option."""
    return before + str(path).replace(",", ",,")
