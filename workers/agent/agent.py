"""The agent of a machine: answers reads, and carries out each mutation once, however often it is delivered.

It has no access to the state of record. Its host (``workers.agent.serving``, or embedded mode by a call) passes
it requests, from any number of threads.
"""

import os
import socket
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import ExitStack, contextmanager
from functools import cached_property
from pathlib import Path
from typing import Any, Final, TypeVar
from uuid import uuid4

import psutil

from cache.node_state.lease import Lease
from cache.node_state.requests import SCHEMA_VERSION, MachineStateRequest
from cache.stores.regions import masked
from orchestrator.config.logger import get_logger
from orchestrator.config.settings import Settings
from orchestrator.nodes.rpc.errors import (
    BackendAway,
    Gone,
    NotSupported,
    RpcRetryable,
)
from orchestrator.nodes.rpc.names import read_boot_id
from orchestrator.nodes.rpc.registry import NodeRpc, load_rpcs
from workers.agent.answering import Answering, Identity
from workers.agent.backends import Backends, Unusable, hypervisors_of, storage_of
from workers.agent.brackets import Invalidation
from workers.agent.commands.recovery import recover_processes
from workers.agent.fence import Fence, check_fence
from workers.agent.hypervisors.hypervisor import Hypervisor
from workers.agent.journal import Journal
from workers.agent.limits import Limits
from workers.agent.locks import Locks, LockTaken
from workers.agent.machine_state import read_sections
from workers.agent.owners import Owners
from workers.agent.patience import Unanswered
from workers.agent.records import read_record, records_directory, write_record
from workers.agent.reservations import Capacity, Reservations
from workers.agent.storage.storage import Storage
from workers.agent.watching import Watching

log = get_logger()

B = TypeVar("B", bound=Hypervisor | Storage)
T = TypeVar("T")

_BYTES_PER_MIB: Final = 1024 * 1024
_DAY_SECONDS: Final = 86_400.0
#: How long a call about an instance or a volume waits for another about the same.
_SUBJECT_SECONDS: Final = 30.0


class Agent:
    """The agent of one machine; thread-safe."""

    def __init__(
        self,
        name: str,
        settings: Settings,
        cache: Invalidation,
        *,
        directory: Path,
        shared: bool = False,
        rpcs: Mapping[str, NodeRpc] | None = None,
        clock: Callable[[], float] = time.time,
    ) -> None:
        """Keep the arguments; nothing is touched yet.

        ``shared``: several processes at once are this agent, as in embedded mode: they have one incarnation.
        """
        self.name, self.settings, self.cache, self.directory = name, settings, cache, directory
        self._shared, self._rpcs = shared, rpcs
        self._incarnation = "" if shared else uuid4().hex
        self.locks = Locks(directory / "locks")
        self.journal = Journal(
            directory / "journal", self.locks, settings.agent.keep_operations_days * _DAY_SECONDS, clock
        )
        self.limits = Limits(name, settings)
        self.reservations = Reservations(name, directory / "claims", self.locks, settings.agent)
        self.owners = Owners(name, directory / "owners")
        self._watching = Watching(cache, name)
        self._totals: Capacity | None = None
        seconds = settings.agent.backend_seconds
        #: The configured backends, usable or not.
        self.hypervisors = hypervisors_of(
            settings.agent.hypervisors,
            directory / "hypervisors",
            seconds,
            self._watching.watch,
            scope=self.scope,
            limits=self.limits,
        )
        self.storage = storage_of(settings.agent.storage, directory / "storage", seconds)
        self._answering = Answering(
            self,
            identity=self._identity,
            cache=cache,
            journal=self.journal,
            rpcs=load_rpcs if rpcs is None else lambda: rpcs,
            clock=clock,
        )
        self.answer, self.carry_out = self._answering.answer, self._answering.carry_out

    @cached_property
    def incarnation(self) -> str:
        """The incarnation: a new one with every start, and for a shared agent with every boot."""
        if not self._shared:
            return self._incarnation
        file = self.directory / "incarnation.json"
        with self.locks.hold("incarnation", wait_seconds=_SUBJECT_SECONDS):
            record = read_record(file)
            if record is None or record["boot_id"] != self.boot_id:
                record = {"boot_id": self.boot_id, "incarnation": uuid4().hex}
                write_record(file, record)
        return str(record["incarnation"])

    def begin(self) -> None:
        """Load the RPCs, and clean up after a dead process that was this agent too (when shared).

        An exclusive agent need not: its predecessor's entries are invalid as soon as it has
        taken the lease, and its queue delivers again.

        Raises:
            PluginMistake: a package brings RPCs that cannot be loaded.
        """
        if self._rpcs is None:
            load_rpcs()
        if self._shared:
            for operation_id in self.journal.give_up_interrupted():
                self.cache.settle(self.name, operation_id)

    @property
    def scope(self) -> str:
        """The scope of its marks: that of its successors in whatever directory, and of no other agent."""
        if self._shared or self.settings.embedded:
            return str(self.directory.absolute())
        return f"{masked(self.settings.broker_url)} {self.name}"

    def stand_behind(self, fence: Fence) -> None:
        """Check a fence before every effect from now on."""
        self._answering.fence = fence

    def may_answer(self) -> bool:
        """Return whether this agent may answer reads: no other has its lease, as far as can be learnt."""
        fence = self._answering.fence
        return fence is None or fence.may_answer()

    def recover(self) -> list[str]:
        """Record again what is found of this agent without a record, such as after the loss of its directory.

        Returns the names of the instances and the rows of the processes; each is logged.
        """
        recovered = [
            (hypervisor, name)
            for hypervisor, names in self.hypervisors.ask_all(lambda backend: backend.recover()).items()
            for name in names
        ]
        for hypervisor, name in recovered:
            log.warning("an instance was found without a record", hypervisor=hypervisor, instance=name)
        rows = recover_processes(records_directory(self.settings.state_directory), self.scope)
        for row in rows:
            log.warning("a process was found without a record", resource_id=row)
        return [*(name for _, name in recovered), *rows]

    @property
    def boot_id(self) -> str:
        """The machine's boot id; empty where it cannot be read."""
        return read_boot_id(self.settings)

    @property
    def totals(self) -> Capacity:
        """The machine's capacity, as of the last renewal of the lease."""
        return self._totals or self._measure()

    def _measure(self) -> Capacity:
        """Return the largest capacity that a hypervisor reports; else the previous one, or the kernel's."""
        nodes = self.hypervisors.ask_all(lambda hypervisor: hypervisor.node()).values()
        if nodes:
            self._totals = Capacity(
                memory_mib=max(each.memory_total_mib for each in nodes),
                vcpus=max(each.cpu_total for each in nodes),
            )
        if self._totals is not None:
            return self._totals
        return Capacity(
            memory_mib=psutil.virtual_memory().total // _BYTES_PER_MIB, vcpus=psutil.cpu_count() or 1
        )

    def lease(self) -> Lease:
        """Return its lease; unusable backends are left out."""
        settings, totals = self.settings.agent, self._measure()
        return Lease(
            node=self.name,
            incarnation=self.incarnation,
            boot_id=self.boot_id,
            schema=SCHEMA_VERSION,
            holder=f"{socket.gethostname()}, process {os.getpid()}",
            labels=settings.labels,
            hypervisors=tuple(sorted(self.hypervisors.all_usable())),
            storage={name: self.storage[name].kind for name in sorted(self.storage.all_usable())},
            totals={"memory_mib": totals.memory_mib, "vcpus": totals.vcpus},
            reserved_memory_mib=settings.reserved_memory_mib,
            memory_ratio=settings.memory_ratio,
            vcpu_ratio=settings.vcpu_ratio,
            keeps_owners=True,
        )

    def close(self) -> None:
        """Close its backends; instances keep running."""
        self._watching.close()
        self.hypervisors.close()
        self.storage.close()

    def hypervisor(self, name: str) -> Hypervisor:
        """Return a hypervisor.

        Raises:
            NotSupported: the node has none of this name.
            RpcRetryable: it cannot be used now.
        """
        return self._usable(self.hypervisors, name)

    def storage_unit(self, name: str) -> Storage:
        """Return a storage unit.

        Raises:
            NotSupported: the node has none of this name.
            RpcRetryable: it cannot be used now.
        """
        return self._usable(self.storage, name)

    def _usable(self, backends: Backends[B], name: str) -> B:
        try:
            return backends.usable(name)
        except Unusable as error:
            kind = RpcRetryable if name in backends else NotSupported
            raise kind(self.name, f"node {self.name!r}: {error}") from error

    def ask(self, backends: Backends[B], name: str, call: Callable[[B], T]) -> T:
        """Query a backend, within its time-out; the call must change nothing.

        Raises:
            NotSupported: the node has none of this name.
            BackendAway: it cannot be used now, or does not answer in time.
        """
        if name not in backends:
            self._usable(backends, name)
        backend = backends[name]
        try:
            return backend.patience.ask(lambda: call(backend.get())).answer()
        except (Unusable, Unanswered) as error:
            raise BackendAway(self.name, f"node {self.name!r}: {error}") from error

    @contextmanager
    def alone_with(self, kind: str, name: str) -> Iterator[None]:
        """Exclude every other call about the same subject: a removed instance must not be started meanwhile.

        Raises:
            RpcRetryable: another call takes long.
        """
        with ExitStack() as held:
            try:
                held.enter_context(self.locks.hold(f"{kind} {name}", wait_seconds=_SUBJECT_SECONDS))
            except LockTaken as error:
                raise RpcRetryable(self.name, f"another call about {kind} {name!r} is under way") from error
            # The lock may have come late.
            check_fence()
            yield

    def refuse_gone(self, kind: str, name: str) -> None:
        """Refuse to create what was removed from this machine for good.

        Raises:
            Gone: it was removed.
        """
        if why := self.journal.burial(kind, name):
            raise Gone(self.name, f"{kind} {name!r} {why}: a late message does not bring it back")

    def machine_state(self, request: MachineStateRequest) -> dict[str, Any]:
        """Return the requested sections as plain types, and whether the machine was changed meanwhile."""
        before = self._answering.changes
        sections = read_sections(request, self.hypervisors, self.storage, lambda: self.boot_id)
        return {
            "sections": {key: section.to_wire() for key, section in sections.items()},
            "unsettled": before.inflight > 0 or before != self._answering.changes,
        }

    def _identity(self) -> Identity:
        return Identity(self.name, self.incarnation, self.boot_id)
