"""``libvirt``: domains of whatever libvirt runs, by the URI of its driver."""

import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import replace
from pathlib import Path
from typing import Any, ClassVar, Final

from pydantic import Field

from workers.agent.hypervisors.acceleration import fault_of_kvm
from workers.agent.hypervisors.disk_image import DiskImages, ImageFile
from workers.agent.hypervisors.domain import NAMESPACE, DomainKind, domain_options, domain_xml
from workers.agent.hypervisors.hypervisor import (
    CannotDo,
    Hypervisor,
    HypervisorBusy,
    HypervisorFault,
    HypervisorOptions,
    InstanceData,
    InstanceSpec,
    InstanceState,
    NodeData,
    NoInstance,
)
from workers.agent.hypervisors.kernel import BYTES_PER_MIB, node_of_kernel
from workers.agent.hypervisors.libvirt_connection import LibvirtConnection, libvirt
from workers.agent.hypervisors.records import InstanceRecords
from workers.agent.names import fault_of_name

_KIB_PER_MIB: Final = 1024
_NANOSECONDS: Final = 1_000_000_000
_ROOT: Final = "root.qcow2"
_REBOOT_GRACE_SECONDS: Final = 60.0
_END_SECONDS: Final = 30.0
_LOOK_SECONDS: Final = 0.1
#: The drivers whose guests are processes of this machine's kernel, which knows better than libvirt what is free.
_OF_KERNEL: Final = ("QEMU", "LXC")
#: States by libvirt's numbers, with its words. One without a state is a guest of Xen that waits for its turn.
_STATES: Final = (
    ("no state", InstanceState.RUNNING),
    ("running", InstanceState.RUNNING),
    ("blocked", InstanceState.RUNNING),
    ("paused", InstanceState.PAUSED),
    ("in shutdown", InstanceState.RUNNING),
    ("shut off", InstanceState.SHUTDOWN),
    ("crashed", InstanceState.CRASHED),
    ("suspended by itself", InstanceState.PAUSED),
)
_SHUT_OFF: Final = 5
#: Why one is shut off that nobody has asked to be: it has crashed, or did not start.
_CRASHES: Final = (3, 6)


class LibvirtOptions(HypervisorOptions):
    """Which libvirt."""

    uri: str = Field(
        default="qemu:///system",
        repr=False,
        description="The driver and where it is, such as qemu:///system, lxc:///, or test:///default for trying out.",
    )
    domain_type: str = Field(
        default="",
        pattern=r"^[a-z]*$",
        description="Such as kvm or qemu; empty: kvm where a machine really starts with it.",
    )
    disk_directory: str = Field(
        default="",
        description="Where the disks are put that are made of images, for libvirt's own user to find; empty: with the "
        "agent's files.",
    )
    image_program: str = Field(default="qemu-img", description="The program that makes images of disks.")


class Libvirt(Hypervisor):
    """Domains that libvirt keeps: all of its domains are told of, only those that are ours are changed."""

    name = "libvirt"
    description = "Domains of whatever libvirt runs."
    Options = LibvirtOptions
    abilities: ClassVar[frozenset[str]] = frozenset(
        {"pause", "reboot", "resize", "snapshot", "networks", "disks"}
    )

    def __init__(self, options: LibvirtOptions, directory: Path) -> None:
        super().__init__(options, directory)
        self._connection = LibvirtConnection(options.uri)
        self._records = InstanceRecords(directory)
        self._images = DiskImages(options.image_program)

    def probe(self) -> str:
        """Connect."""
        try:
            with self._connection.use() as connection:
                connection.getType()
        except HypervisorFault as fault:
            return str(fault)
        return ""

    def node(self) -> NodeData:
        """Return the machine as its kernel sees it, or as libvirt does where that is another, or no kernel's matter."""
        with self._connection.use() as connection:
            _, memory_mib, cpus, _, cells, sockets, _, _ = connection.getInfo()
            version = connection.getVersion()
            layout = {"cpu_nodes": cells, "cpu_sockets": max(1, min(cells * sockets, cpus))}
            numbers = (version // 1_000_000, version // 1000 % 1000, version % 1000)
            if connection.getType() in _OF_KERNEL and self._is_local():
                return replace(node_of_kernel(), **layout, hv_version=numbers)
            promised = sum(
                _memory_mib(domain.info()) for domain in connection.listAllDomains() if domain.isActive()
            )
            # Free memory is a constant to the driver for tests, or unknown to it.
            told = (
                memory_mib - promised
                if connection.getType() == "TEST"
                else connection.getFreeMemory() // BYTES_PER_MIB
            )
            free = max(0, min(told, memory_mib))
            return NodeData(
                memory_total_mib=memory_mib,
                memory_free_mib=free,
                memory_dom0_mib=memory_mib - free,
                cpu_total=cpus,
                cpu_dom0=cpus,
                hv_version=numbers,
                **layout,
            )

    def instances(self) -> Sequence[InstanceData]:
        """Return every domain, whoever made it."""
        found: list[InstanceData] = []
        library = libvirt()
        with self._connection.use() as connection:
            stats = _all_stats(library, connection)
            for domain in connection.listAllDomains():
                with _unless_gone(library):
                    found.append(self._data(domain, stats.get(domain.name(), {})))
        return found

    def instance(self, name: str) -> InstanceData | None:
        """Return one."""
        library = libvirt()
        with self._connection.use() as connection:
            if (domain := _lookup(library, connection, name)) is not None:
                with _unless_gone(library):
                    return self._data(domain, {})
        return None

    # -- running -----------------------------------------------------------------------------------------------

    def start(self, spec: InstanceSpec) -> InstanceData:
        """Define the domain as it is asked for now, and start it, unless it runs."""
        own = self._records.directory_of(spec.name)
        with self._records.alone(spec.name), self._connection.use() as connection:
            domain = _lookup(libvirt(), connection, spec.name)
            if domain is not None:
                self._check_ours(domain)
                if domain.isActive():
                    if self._data(domain, {}).state is InstanceState.PAUSED:
                        domain.resume()
                    return self._data(domain, {})
            kind = self._kind(connection, own)
            domain_options(spec, kind)
            domain = connection.defineXML(domain_xml(spec, kind, self._root(spec, kind, own)))
            domain.create()
            return self._data(domain, {})

    def stop(self, name: str, *, grace_seconds: float) -> None:
        """Ask the guest to shut itself down, and end it after the grace."""
        with self._records.alone(name), self._ours(name) as domain:
            self._stop(domain, grace_seconds)

    def remove(self, name: str) -> None:
        """End it, and forget it with all that is kept of it; volumes stay."""
        if fault_of_name(name):
            return
        library = libvirt()
        with self._records.alone(name):
            with self._connection.use() as connection:
                domain = _lookup(library, connection, name)
                if domain is not None:
                    self._check_ours(domain)
                    with _unless_gone(library):
                        self._end(domain)
                        _undefine(library, domain)
            self._root_file(name, self._records.directory_of(name)).unlink(missing_ok=True)
            self._records.forget(name)

    def reboot(self, name: str) -> InstanceData:
        """Shut it down and start it as it is defined."""
        with self._records.alone(name), self._ours(name) as domain:
            self._stop(domain, _REBOOT_GRACE_SECONDS)
            domain.create()
            return self._data(domain, {})

    def pause(self, name: str) -> None:
        """Stop its processors."""
        with self._records.alone(name), self._ours(name) as domain:
            if self._data(domain, {}).state is not InstanceState.PAUSED:
                domain.suspend()

    def unpause(self, name: str) -> None:
        """Let its processors go on."""
        with self._records.alone(name), self._ours(name) as domain:
            if self._data(domain, {}).state is not InstanceState.RUNNING:
                domain.resume()

    def resize(self, name: str, *, memory_mib: int, vcpus: int) -> InstanceData:
        """Give it another size, now and for its next starts, within the largest that it was defined with."""
        library = libvirt()
        with self._records.alone(name), self._ours(name) as domain:
            most_memory, most_vcpus = (
                domain.maxMemory() // _KIB_PER_MIB,
                domain.vcpusFlags(library.VIR_DOMAIN_AFFECT_CONFIG | library.VIR_DOMAIN_VCPU_MAXIMUM),
            )
            if memory_mib > most_memory or vcpus > most_vcpus:
                raise CannotDo(
                    f"it was defined with {most_memory} MiB and {most_vcpus} processors at most: options "
                    "max_memory_mib and max_vcpus make room"
                )
            # One after the other: not every driver takes both at once.
            for when in ([library.VIR_DOMAIN_AFFECT_LIVE] if domain.isActive() else []) + [
                library.VIR_DOMAIN_AFFECT_CONFIG
            ]:
                domain.setMemoryFlags(memory_mib * _KIB_PER_MIB, when)
                domain.setVcpusFlags(vcpus, when)
            return self._data(domain, {})

    # -- what is kept ------------------------------------------------------------------------------------------

    def snapshot(self, name: str, tag: str) -> Mapping[str, Any]:
        """Have libvirt keep it, in place of what was kept under this tag."""
        if fault := fault_of_name(tag):
            raise HypervisorFault(f"the tag of a snapshot: {fault}")
        with self._records.alone(name), self._ours(name) as domain:
            if tag in domain.snapshotListNames():
                domain.snapshotLookupByName(tag).delete()
            domain.snapshotCreateXML(f"<domainsnapshot><name>{tag}</name></domainsnapshot>")
            return {"state": str(self._data(domain, {}).state)}

    def restore(self, name: str, tag: str) -> None:
        """Have libvirt bring it back."""
        with self._records.alone(name), self._ours(name) as domain:
            if tag not in domain.snapshotListNames():
                raise HypervisorFault(f"instance {name!r} has no snapshot {tag!r}")
            domain.revertToSnapshot(domain.snapshotLookupByName(tag))

    def forget_snapshot(self, name: str, tag: str) -> None:
        """Have libvirt delete what it keeps."""
        with self._records.alone(name), suppress(NoInstance), self._ours(name) as domain:
            if tag in domain.snapshotListNames():
                domain.snapshotLookupByName(tag).delete()

    def watch(self, changed: Callable[[str], None]) -> Callable[[], None]:
        """Hear of each event in the life of a domain."""
        return self._connection.watch(changed)

    def close(self) -> None:
        """Let go of the connection."""
        self._connection.close()

    # -- the steps themselves ----------------------------------------------------------------------------------

    @contextmanager
    def _ours(self, name: str) -> Iterator[Any]:
        """Hand out a domain that may be changed.

        Raises:
            NoInstance: there is none.
            HypervisorFault: somebody else has made it, or libvirt refuses what is done.
        """
        with self._connection.use() as connection:
            if (domain := _lookup(libvirt(), connection, name)) is None:
                raise NoInstance(f"there is no instance {name!r}")
            self._check_ours(domain)
            yield domain

    def _check_ours(self, domain: Any) -> None:
        library = libvirt()
        try:
            domain.metadata(library.VIR_DOMAIN_METADATA_ELEMENT, NAMESPACE)
        except library.libvirtError as error:
            if error.get_error_code() == library.VIR_ERR_NO_DOMAIN_METADATA:
                raise HypervisorFault(
                    f"domain {domain.name()!r} was made by somebody else: it is left alone"
                ) from error
            raise

    def _kind(self, connection: Any, own: Path) -> DomainKind:
        driver = connection.getType()
        log = str(own / "log") if self._is_local() else ""
        if self.options.domain_type:
            return DomainKind(type=self.options.domain_type, log=log)
        if driver != "QEMU":
            return DomainKind(type=driver.lower())
        offered = "<domain type='kvm'" in connection.getCapabilities()
        return DomainKind(type="kvm" if offered and not self._fault_of_kvm() else "qemu", log=log)

    def _fault_of_kvm(self) -> str:
        """Return why KVM cannot be used; of another machine libvirt has to be believed."""
        return fault_of_kvm("qemu-system-x86_64") if self._is_local() else ""

    def _is_local(self) -> bool:
        return ":///" in self.options.uri

    def _root(self, spec: InstanceSpec, kind: DomainKind, own: Path) -> ImageFile | None:
        """Return the disk of its own that is made of the image, which is made once."""
        own.mkdir(parents=True, exist_ok=True, mode=0o700)
        if not spec.image or kind.is_container:
            return None
        if not kind.is_machine_of_qemu:
            raise CannotDo(f"domains of type {kind.type} take no image; disks are volumes")
        file = self._root_file(spec.name, own)
        if not file.exists():
            image = self._images.examine(spec.image)
            size = domain_options(spec, kind).root_size_mib
            self._images.put_layer(file, image, size_mib=size)
        return ImageFile(path=str(file), format="qcow2")

    def _root_file(self, name: str, own: Path) -> Path:
        place = self.options.disk_directory
        return Path(place) / f"{name}-{_ROOT}" if place else own.absolute() / _ROOT

    def _stop(self, domain: Any, grace_seconds: float) -> None:
        if not domain.isActive():
            return
        if grace_seconds > 0:
            if self._data(domain, {}).state is InstanceState.PAUSED:
                domain.resume()
            # One without a driver that listens is ended after the grace.
            with suppress(libvirt().libvirtError):
                domain.shutdown()
            deadline = time.monotonic() + grace_seconds
            while domain.isActive() and time.monotonic() < deadline:
                time.sleep(min(_LOOK_SECONDS, grace_seconds))
        self._end(domain)

    def _end(self, domain: Any) -> None:
        deadline = time.monotonic() + _END_SECONDS
        while domain.isActive():
            try:
                domain.destroy()
            except libvirt().libvirtError:
                # It may have ended at the same moment.
                if domain.isActive() and time.monotonic() >= deadline:
                    raise HypervisorBusy(
                        f"domain {domain.name()!r} does not end though it was destroyed"
                    ) from None
                time.sleep(_LOOK_SECONDS)

    def _data(self, domain: Any, stats: Mapping[str, Any]) -> InstanceData:
        known = {"state.state", "balloon.current", "vcpu.current", "cpu.time"} <= stats.keys()
        state, reason = (stats["state.state"], stats["state.reason"]) if known else domain.state()
        info = None if known else domain.info()
        word, meaning = _STATES[state] if 0 <= state < len(_STATES) else ("unknown", InstanceState.UNKNOWN)
        if state == _SHUT_OFF and reason in _CRASHES:
            meaning = InstanceState.CRASHED
        number = domain.ID()
        rss = stats.get("balloon.rss")
        return InstanceData(
            name=domain.name(),
            id=str(number) if number >= 0 else "",
            memory_mib=stats["balloon.current"] // _KIB_PER_MIB if info is None else _memory_mib(info),
            vcpus=stats["vcpu.current"] if info is None else info[3],
            state=meaning,
            raw_state=word,
            cpu_seconds=(stats["cpu.time"] if info is None else info[4]) / _NANOSECONDS,
            memory_used_mib=rss // _KIB_PER_MIB if rss is not None else None,
            details={"uuid": domain.UUIDString()},
        )


def _memory_mib(info: Sequence[int]) -> int:
    """Return what a domain has of memory, which libvirt counts in KiB."""
    return info[2] // _KIB_PER_MIB


def _all_stats(library: Any, connection: Any) -> dict[str, Mapping[str, Any]]:
    """Return what there is to say of all domains at once, without waiting for those that are busy.

    Not every driver can: nothing is then said.
    """
    wanted = (
        library.VIR_DOMAIN_STATS_STATE
        | library.VIR_DOMAIN_STATS_CPU_TOTAL
        | library.VIR_DOMAIN_STATS_BALLOON
        | library.VIR_DOMAIN_STATS_VCPU
    )
    try:
        told = connection.getAllDomainStats(wanted, library.VIR_CONNECT_GET_ALL_DOMAINS_STATS_NOWAIT)
    except library.libvirtError:
        return {}
    return {domain.name(): stats for domain, stats in told}


def _lookup(library: Any, connection: Any, name: str) -> Any:
    """Return the domain of this name; None: there is none."""
    if fault_of_name(name):
        return None
    try:
        return connection.lookupByName(name)
    except library.libvirtError as error:
        if error.get_error_code() == library.VIR_ERR_NO_DOMAIN:
            return None
        raise


@contextmanager
def _unless_gone(library: Any) -> Iterator[None]:
    """Pass over a domain that is removed while it is looked at."""
    try:
        yield
    except library.libvirtError as error:
        if error.get_error_code() != library.VIR_ERR_NO_DOMAIN:
            raise


def _undefine(library: Any, domain: Any) -> None:
    kept = library.VIR_DOMAIN_UNDEFINE_MANAGED_SAVE | library.VIR_DOMAIN_UNDEFINE_SNAPSHOTS_METADATA
    try:
        domain.undefineFlags(kept | library.VIR_DOMAIN_UNDEFINE_NVRAM)
    except library.libvirtError as error:
        if error.get_error_code() == library.VIR_ERR_NO_DOMAIN:
            return
        # Drivers of what has no firmware know only the older order.
        domain.undefineFlags(kept)
