"""``libvirt``: domains of whatever hypervisor libvirt runs, by the URI of its driver."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import replace
from pathlib import Path
from typing import Any, ClassVar, Final

from pydantic import Field

from cache.stores.private_files import make_private_directory
from workers.agent.hypervisors.acceleration import fault_of_kvm
from workers.agent.hypervisors.disk_image import DiskImages, ImageFile
from workers.agent.hypervisors.hypervisor import (
    CannotDo,
    Hypervisor,
    HypervisorFault,
    HypervisorOptions,
    InstanceData,
    InstanceSpec,
    InstanceState,
    NodeData,
    NoInstance,
)
from workers.agent.hypervisors.kernel import BYTES_PER_MIB, node_of_kernel
from workers.agent.hypervisors.libvirt.connection import LibvirtConnection, libvirt
from workers.agent.hypervisors.libvirt.domain import (
    NAMESPACE,
    DomainKind,
    DomainNetwork,
    DomainOptions,
    domain_options,
    domain_xml,
)
from workers.agent.hypervisors.libvirt.domain_ending import end_domain, stop_domain, undefine, wait_for_memory
from workers.agent.hypervisors.libvirt.domain_view import (
    KIB_PER_MIB,
    domain_data,
    domain_state,
    domain_stats,
    look_up,
    memory_mib_of,
    unless_gone,
)
from workers.agent.hypervisors.records import InstanceRecords
from workers.agent.names import fault_of_name

_ROOT: Final = "root.qcow2"
_REBOOT_GRACE_SECONDS: Final = 60.0
#: The drivers whose guests are processes of this machine's kernel, which knows better than libvirt what is free.
_OF_KERNEL: Final = ("QEMU", "LXC")


class LibvirtOptions(HypervisorOptions):
    """The libvirt to use."""

    uri: str = Field(
        default="qemu:///system",
        repr=False,
        description="The URI of the driver, such as qemu:///system, lxc:///, or test:///default for tests.",
    )
    domain_type: str = Field(
        default="",
        pattern=r"^[a-z]*$",
        description="The domain type, such as kvm or qemu; empty: kvm if a machine really starts with it.",
    )
    disk_directory: str = Field(
        default="",
        description="The directory of disks made from images, which libvirt's user must be able to read; "
        "empty: that of the agent.",
    )
    image_program: str = Field(
        default="qemu-img", description="The path of the program that makes disk images."
    )


class Libvirt(Hypervisor):
    """libvirt's domains: all are reported, only those made by this agent are changed."""

    name = "libvirt"
    description = "Domains of any driver of libvirt."
    Options = LibvirtOptions
    InstanceOptions = DomainOptions
    InstanceNetwork = DomainNetwork
    abilities: ClassVar[frozenset[str]] = frozenset(
        {"pause", "reboot", "resize", "snapshot", "networks", "disks"}
    )

    walled = True

    def __init__(self, options: LibvirtOptions, directory: Path) -> None:
        super().__init__(options, directory)
        self._connection = LibvirtConnection(options.uri)
        self._records = InstanceRecords(directory)
        self._images = DiskImages(options.image_program)

    def probe(self) -> str:
        """Connect to libvirt."""
        try:
            with self._connection.use() as connection:
                connection.getType()
        except HypervisorFault as fault:
            return str(fault)
        return ""

    def files_of(self, spec: InstanceSpec) -> Sequence[str]:
        """Return the kernel and its initial RAM disk."""
        return [str(spec.options[option]) for option in ("kernel", "initrd") if spec.options.get(option)]

    def networks_of(self, spec: InstanceSpec) -> Sequence[str]:
        """Return its cards' networks."""
        cards = [DomainNetwork.read(each, f"networks.{number}") for number, each in enumerate(spec.networks)]
        return [card.mode if card.mode == "user" else f"{card.mode}:{card.source}" for card in cards]

    def writes_image(self, spec: InstanceSpec) -> bool:
        """Return whether it is a container, which writes into the directory that is its image."""
        return bool(spec.image) and "lxc" in (self.options.domain_type, self.options.uri.partition(":")[0])

    def node(self) -> NodeData:
        """Return the machine as its kernel sees it, or as libvirt does where the kernel cannot."""
        with self._connection.use() as connection:
            _, memory_mib, cpus, _, cells, sockets, _, _ = connection.getInfo()
            version = connection.getVersion()
            layout = {"cpu_nodes": cells, "cpu_sockets": max(1, min(cells * sockets, cpus))}
            numbers = (version // 1_000_000, version // 1000 % 1000, version % 1000)
            if connection.getType() in _OF_KERNEL and self._is_local():
                return replace(node_of_kernel(), **layout, hv_version=numbers)
            promised = sum(
                memory_mib_of(domain.info()) for domain in connection.listAllDomains() if domain.isActive()
            )
            # Free memory is a constant in the driver for tests, or unknown to it.
            unused = (
                memory_mib - promised
                if connection.getType() == "TEST"
                else connection.getFreeMemory() // BYTES_PER_MIB
            )
            free = max(0, min(unused, memory_mib))
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
        """Return every domain, foreign ones included."""
        found: list[InstanceData] = []
        library = libvirt()
        with self._connection.use() as connection:
            domains = connection.listAllDomains()
            stats = domain_stats(library, connection, domains)
            for domain in domains:
                with unless_gone(library):
                    own_stats = stats.get(domain.name(), {})
                    found.append(domain_data(domain, own_stats, self._log(domain.name())))
        return found

    def instance(self, name: str) -> InstanceData | None:
        """Return one."""
        library = libvirt()
        with self._connection.use() as connection:
            if (domain := look_up(library, connection, name)) is not None:
                with unless_gone(library):
                    own_stats = domain_stats(library, connection, [domain]).get(name, {})
                    return domain_data(domain, own_stats, self._log(name))
        return None

    # -- running -----------------------------------------------------------------------------------------------

    def start(self, spec: InstanceSpec) -> InstanceData:
        """Define the domain by its specification and start it, unless it runs."""
        own = self._records.directory_of(spec.name)
        with self._records.alone(spec.name), self._connection.use() as connection:
            domain = look_up(libvirt(), connection, spec.name)
            if domain is not None:
                self._check_ours(domain)
                if domain.isActive():
                    if domain_state(domain) is InstanceState.PAUSED:
                        domain.resume()
                    return self._look(domain)
            kind = self._kind(connection, own)
            domain_options(spec, kind)
            domain = connection.defineXML(domain_xml(spec, kind, self._root(spec, kind, own)))
            domain.create()
            return self._look(domain)

    def stop(self, name: str, *, grace_seconds: float) -> None:
        """Request the guest to shut itself down, and end it after the grace."""
        with self._records.alone(name), self._ours(name) as domain:
            stop_domain(domain, grace_seconds)

    def remove(self, name: str) -> None:
        """End it, and delete it with all that is kept of it; volumes stay."""
        if fault_of_name(name):
            return
        library = libvirt()
        with self._records.alone(name):
            with self._connection.use() as connection:
                domain = look_up(library, connection, name)
                if domain is not None:
                    self._check_ours(domain)
                    with unless_gone(library):
                        end_domain(domain)
                        undefine(library, domain)
            self._root_file(name, self._records.directory_of(name)).unlink(missing_ok=True)
            self._records.forget(name)

    def reboot(self, name: str) -> InstanceData:
        """Shut it down and start it as it is defined."""
        with self._records.alone(name), self._ours(name) as domain:
            stop_domain(domain, _REBOOT_GRACE_SECONDS)
            domain.create()
            return self._look(domain)

    def pause(self, name: str) -> None:
        """Stop its processors."""
        with self._records.alone(name), self._ours(name) as domain:
            if domain_state(domain) is not InstanceState.PAUSED:
                domain.suspend()

    def unpause(self, name: str) -> None:
        """Resume its processors."""
        with self._records.alone(name), self._ours(name) as domain:
            if domain_state(domain) is not InstanceState.RUNNING:
                domain.resume()

    def resize(self, name: str, *, memory_mib: int, vcpus: int) -> InstanceData:
        """Resize it, now and for its next starts, within the largest size that it was defined with.

        Raises:
            CannotDo: it is larger than the largest size.
        """
        library = libvirt()
        with self._records.alone(name), self._ours(name) as domain:
            most_memory, most_vcpus = (
                domain.maxMemory() // KIB_PER_MIB,
                domain.vcpusFlags(library.VIR_DOMAIN_AFFECT_CONFIG | library.VIR_DOMAIN_VCPU_MAXIMUM),
            )
            if memory_mib > most_memory or vcpus > most_vcpus:
                raise CannotDo(
                    f"it was defined with {most_memory} MiB and {most_vcpus} processors at most: options "
                    "max_memory_mib and max_vcpus make room"
                )
            # One after the other: not every driver accepts both at once.
            for when in (library.VIR_DOMAIN_AFFECT_LIVE, library.VIR_DOMAIN_AFFECT_CONFIG):
                if when == library.VIR_DOMAIN_AFFECT_CONFIG or domain.isActive():
                    domain.setVcpusFlags(vcpus, when)
                    domain.setMemoryFlags(memory_mib * KIB_PER_MIB, when)
            wait_for_memory(domain, memory_mib)
            return self._look(domain)

    # -- snapshots ---------------------------------------------------------------------------------------------

    def snapshot(self, name: str, tag: str) -> Mapping[str, Any]:
        """Make a snapshot with libvirt, in place of an earlier one of this tag.

        Raises:
            HypervisorFault: the tag is invalid.
        """
        if fault := fault_of_name(tag):
            raise HypervisorFault(f"the tag of a snapshot: {fault}")
        with self._records.alone(name), self._ours(name) as domain:
            if tag in domain.snapshotListNames():
                domain.snapshotLookupByName(tag).delete()
            domain.snapshotCreateXML(f"<domainsnapshot><name>{tag}</name></domainsnapshot>")
            return {"state": str(domain_state(domain))}

    def restore(self, name: str, tag: str) -> None:
        """Revert to a snapshot.

        Raises:
            HypervisorFault: there is no such snapshot.
        """
        with self._records.alone(name), self._ours(name) as domain:
            if tag not in domain.snapshotListNames():
                raise HypervisorFault(f"instance {name!r} has no snapshot {tag!r}")
            domain.revertToSnapshot(domain.snapshotLookupByName(tag))

    def forget_snapshot(self, name: str, tag: str) -> None:
        """Delete a snapshot."""
        with self._records.alone(name), suppress(NoInstance), self._ours(name) as domain:
            if tag in domain.snapshotListNames():
                domain.snapshotLookupByName(tag).delete()

    def watch(self, changed: Callable[[str], None]) -> Callable[[], None]:
        """Watch each lifecycle event of a domain."""
        return self._connection.watch(changed)

    def close(self) -> None:
        """Close the connection."""
        self._connection.close()

    # -- steps -------------------------------------------------------------------------------------------------

    @contextmanager
    def _ours(self, name: str) -> Iterator[Any]:
        """Yield a domain that may be changed."""
        with self._connection.use() as connection:
            if (domain := look_up(libvirt(), connection, name)) is None:
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
        has_kvm = "<domain type='kvm'" in connection.getCapabilities()
        # Of another machine, libvirt's report is trusted.
        if has_kvm and self._is_local():
            has_kvm = not fault_of_kvm("qemu-system-x86_64")
        return DomainKind(type="kvm" if has_kvm else "qemu", log=log)

    def _is_local(self) -> bool:
        return ":///" in self.options.uri

    def _root(self, spec: InstanceSpec, kind: DomainKind, own: Path) -> ImageFile | None:
        make_private_directory(own)
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

    def _look(self, domain: Any) -> InstanceData:
        return domain_data(domain, {}, self._log(domain.name()))

    def _log(self, name: str) -> dict[str, str]:
        log = self.directory / name / "log"
        return {"log": str(log)} if not fault_of_name(name) and log.exists() else {}
