"""The agent of a node: answers reads, and carries out mutations once each, whatever is delivered how often.

It has no access to the state of record. Whoever runs it (``workers.agent.serving``, or embedded mode by a call) hands
it requests from as many threads as there are.
"""

import inspect
import os
import socket
import threading
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, replace
from functools import cached_property
from pathlib import Path
from typing import Any, Final, TypeVar
from uuid import uuid4

import psutil
import structlog

from cache.node_state.lease import Lease
from cache.node_state.requests import SCHEMA_VERSION, SnapshotRequest
from orchestrator.nearest import Nearest
from orchestrator.nodes.errors import (
    BackendAway,
    Gone,
    Late,
    NoSuchRpc,
    NotSupported,
    RpcFailed,
    RpcRetryable,
)
from orchestrator.nodes.messages import Fault, Reply, Request
from orchestrator.nodes.registry import Effect, NodeRpc, load_rpcs
from orchestrator.settings import Settings
from workers.agent.backends import Backends, Unusable, hypervisors_of, storage_of
from workers.agent.brackets import Invalidation, bracket
from workers.agent.claims import Claims, Totals
from workers.agent.faults import fault_of
from workers.agent.hypervisors.hypervisor import Hypervisor
from workers.agent.journal import AnotherOperation, Delivery, Journal, UnderWay
from workers.agent.limits import Limits
from workers.agent.locks import Locks, LockTaken
from workers.agent.patience import Unanswered
from workers.agent.records import read_record, write_record
from workers.agent.snapshots import SnapshotTaker
from workers.agent.storage.storage import Storage
from workers.agent.watching import Watching

log = structlog.get_logger()

B = TypeVar("B", bound=Hypervisor | Storage)
T = TypeVar("T")

_BYTES_PER_MIB: Final = 1024 * 1024
_DAY_SECONDS: Final = 86_400.0
#: How long a call about an instance or a volume waits for another about the same.
_SUBJECT_SECONDS: Final = 30.0


@dataclass(frozen=True)
class Afterwards:
    """What an RPC returns whose effect must not come before its success is on record."""

    result: Any
    do: Callable[[], None]


class _Told(Exception):
    """What went wrong is on record already, as it is told."""

    def __init__(self, fault: Fault) -> None:
        super().__init__(fault)
        self.fault = fault


class Agent:
    """The agent of one node; safe for threads."""

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
        """Nothing is touched yet.

        Args:
            name: The node's.
            settings: Its operator's.
            cache: Whom it tells what is void.
            directory: Its own, on the node's disk.
            shared: Whether several processes at once are this agent, as in embedded mode: they have one incarnation.
            rpcs: What it can be asked for, by name; None: all that the installed packages bring.
            clock: Seconds since the epoch.
        """
        self.name, self.settings, self.cache, self.directory = name, settings, cache, directory
        self._shared = shared
        self._rpcs = rpcs
        self._clock = clock
        self.locks = Locks(directory / "locks")
        self.journal = Journal(
            directory / "journal", self.locks, settings.agent.keep_operations_days * _DAY_SECONDS, clock
        )
        self.limits = Limits(name, settings)
        self.claims = Claims(name, directory / "claims", self.locks, settings.agent)
        self._watching = Watching(cache, name)
        self._counting = threading.Lock()
        self._seq = self._inflight = 0

    # -- what it is --------------------------------------------------------------------------------------------

    @cached_property
    def incarnation(self) -> str:
        """Which agent it is: another with every start, and of a shared one with every boot."""
        mine = uuid4().hex
        if not self._shared:
            return mine
        file = self.directory / "incarnation.json"
        with self.locks.hold("incarnation", wait_seconds=_SUBJECT_SECONDS):
            record = read_record(file)
            if record is None or record["boot_id"] != self.boot_id:
                record = {"boot_id": self.boot_id, "incarnation": mine}
                write_record(file, record)
        return str(record["incarnation"])

    def begin(self) -> None:
        """Load its RPCs, and see to what another process left undone that was this agent, too, and has died.

        One that has its name for itself leaves that to others: what its predecessor left is void as soon as it has
        taken its lease, and its queue delivers again.

        Raises:
            PluginMistake: a package brings RPCs that cannot be loaded.
        """
        if self._rpcs is None:
            load_rpcs()
        if self._shared:
            for operation_id in self.journal.give_up_interrupted():
                self.cache.settle(self.name, operation_id)

    @cached_property
    def hypervisors(self) -> Backends[Hypervisor]:
        """The hypervisors that its operator names, usable or not."""
        seconds = self.settings.agent.backend_seconds
        directory = self.directory / "hypervisors"
        return hypervisors_of(self.settings.agent.hypervisors, directory, seconds, self._watching.watch)

    @cached_property
    def storage(self) -> Backends[Storage]:
        """The storage units that its operator names, usable or not."""
        seconds = self.settings.agent.backend_seconds
        return storage_of(self.settings.agent.storage, self.directory / "storage", seconds)

    @property
    def boot_id(self) -> str:
        """The machine's boot id; empty where it cannot be read."""
        try:
            return Path(self.settings.agent.boot_id_file).read_text(encoding="ascii").strip()
        except (OSError, ValueError):
            return ""

    @cached_property
    def totals(self) -> Totals:
        """What the machine has: the most that a hypervisor says; where none does, what the kernel says."""
        nodes = []
        for name in self.hypervisors.all_usable():
            backend = self.hypervisors[name]
            try:
                nodes.append(backend.patience.ask(backend.get().node).answer())
            except Exception as error:  # noqa: BLE001  # a plugin's own: the others tell
                log.warning("a backend does not tell what the machine has", backend=name, reason=str(error))
        if not nodes:
            memory = psutil.virtual_memory().total // _BYTES_PER_MIB
            return Totals(memory_mib=memory, vcpus=psutil.cpu_count() or 1)
        return Totals(
            memory_mib=max(each.memory_total_mib for each in nodes),
            vcpus=max(each.cpu_total for each in nodes),
        )

    def lease(self) -> Lease:
        """Return what it says of itself in its lease; backends that cannot be used are left out."""
        settings, totals = self.settings.agent, self.totals
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
        )

    def close(self) -> None:
        """Let go of what its backends hold; instances go on."""
        self._watching.close()
        self.hypervisors.close()
        self.storage.close()

    # -- what its RPCs need ------------------------------------------------------------------------------------

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
        """Ask a backend something that changes nothing, within the time that it has.

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
        """Keep every other call about something out: what is removed must not be started meanwhile.

        Raises:
            RpcRetryable: another takes long.
        """
        try:
            held = self.locks.hold(f"{kind} {name}", wait_seconds=_SUBJECT_SECONDS)
            held.__enter__()
        except LockTaken as error:
            raise RpcRetryable(self.name, f"another call about {kind} {name!r} is under way") from error
        try:
            yield
        finally:
            held.__exit__(None, None, None)

    def refuse_gone(self, kind: str, name: str) -> None:
        """Refuse to make what was removed from this node for good.

        Raises:
            Gone: it was.
        """
        if why := self.journal.burial(kind, name):
            raise Gone(self.name, f"{kind} {name!r} {why}: a late message does not bring it back")

    def snapshot(self, request: SnapshotRequest) -> dict[str, Any]:
        """Return the sections that are asked for, as plain types, and whether the node was changed meanwhile."""
        taker = SnapshotTaker(self.hypervisors, self.storage, lambda: self.boot_id)
        seq, inflight = self._seq, self._inflight
        sections = taker.take(request)
        return {
            "sections": {key: section.to_wire() for key, section in sections.items()},
            "unsettled": inflight > 0 or self._inflight > 0 or self._seq != seq,
        }

    # -- what it is asked --------------------------------------------------------------------------------------

    def answer(self, request: Request) -> Reply:
        """Answer a read. What goes wrong is in the reply: nothing is raised."""
        began = self._clock()

        def work() -> Any:
            rpc = self._rpc(request)
            if not rpc.is_read:
                raise NoSuchRpc(self.name, f"{rpc.name!r} changes the node: it goes by its queue")
            self._refuse_late(request)
            return rpc.handler(self, **request.arguments)

        return self._reply(request, began, work)

    def carry_out(self, request: Request) -> Reply:
        """Carry out what is no read, unless that has been done. What goes wrong is in the reply: nothing is raised."""
        began = self._clock()
        if not request.operation_id:
            request = replace(request, operation_id=request.id)
        return self._reply(request, began, lambda: self._deliver(request))

    def _deliver(self, request: Request) -> Any:
        try:
            self._refuse_late(request)
        except Late as error:
            self.journal.note_late(request, Fault(kind=error.kind, message=str(error)))
            raise
        try:
            with self.journal.delivery(request) as delivery:
                return self._once(request, delivery)
        except UnderWay as error:
            raise RpcRetryable(self.name, f"{request.rpc} is under way already") from error
        except AnotherOperation as error:
            raise RpcFailed(
                self.name, f"operation {request.operation_id!r} was another call before, of {error}"
            ) from error

    def _once(self, request: Request, delivery: Delivery) -> Any:
        """Carry it out if that has not been done, and write down what becomes of it."""
        try:
            outcome = self._outcome(request, delivery)
            result = outcome.result if isinstance(outcome, Afterwards) else outcome
            # Only after the bracket: whoever is told that it is over must not meet what was remembered before.
            if delivery.success is None:
                delivery.succeeded(result)
        except Exception as error:
            fault = fault_of(error, request.rpc)
            log.warning("a change of this node failed", rpc=request.rpc, reason=fault.message)
            if delivery.success is None:
                delivery.failed(fault)
            raise _Told(fault) from error
        if isinstance(outcome, Afterwards):
            outcome.do()
        return result

    def _outcome(self, request: Request, delivery: Delivery) -> Any:
        rpc = self._rpc(request)
        if rpc.is_read:
            raise NoSuchRpc(self.name, f"{rpc.name} changes nothing: it goes by the mailbox")
        done = delivery.success
        with self._counted(rpc), bracket(self.cache, self.name, rpc, request, again=done is not None):
            return rpc.handler(self, **request.arguments) if done is None else done.result

    @contextmanager
    def _counted(self, rpc: NodeRpc) -> Iterator[None]:
        """Let it be known to those who look meanwhile that the node is being changed."""
        if rpc.effect is Effect.NEUTRAL:
            yield
            return
        with self._counting:
            self._seq += 1
            self._inflight += 1
        try:
            yield
        finally:
            with self._counting:
                self._inflight -= 1

    def _rpc(self, request: Request) -> NodeRpc:
        if request.node != self.name:
            raise RpcFailed(self.name, f"this is node {self.name!r}, and not {request.node!r}")
        rpcs = load_rpcs() if self._rpcs is None else self._rpcs
        if request.rpc not in rpcs:
            hint = Nearest().hint(request.rpc, rpcs, "is its agent older than yours?")
            raise NoSuchRpc(self.name, f"node {self.name!r} knows no RPC {request.rpc!r}: {hint}")
        rpc = rpcs[request.rpc]
        try:
            inspect.signature(rpc.handler).bind(self, **request.arguments)
        except TypeError as error:
            raise NoSuchRpc(self.name, f"node {self.name!r} knows no such {request.rpc}: {error}") from error
        return rpc

    def _refuse_late(self, request: Request) -> None:
        late_seconds = self._clock() - request.deadline
        if late_seconds > 0:
            raise Late(
                self.name,
                f"{request.rpc} came to node {self.name!r} {late_seconds:.1f} s after its deadline, and was not done",
            )

    def _reply(self, request: Request, began: float, work: Callable[[], Any]) -> Reply:
        started = time.monotonic()
        result, fault = None, None
        try:
            result = work()
        except _Told as error:
            fault = error.fault
        except Exception as error:  # noqa: BLE001  # whatever a handler raises is told to whoever asked
            fault = fault_of(error, request.rpc)
        return Reply(
            id=request.id,
            node=self.name,
            incarnation=self.incarnation,
            boot_id=self.boot_id,
            seq=self._seq,
            inflight=self._inflight,
            taken_at=began,
            duration_seconds=time.monotonic() - started,
            result=result,
            error=fault,
        )
