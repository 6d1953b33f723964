"""The processing of requests by an agent: a read is answered, a change is carried out once.

Handlers receive the agent; everything else about a request is done here, for all RPCs alike.
"""

import inspect
import threading
import time
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, replace
from functools import partial
from typing import Any, Final

from hooks.values.nearest import Nearest
from hooks.values.secret_texts import masked, texts_in
from orchestrator.config.log_masking import masking_logs
from orchestrator.config.logger import get_logger
from orchestrator.nodes.rpc.errors import Late, NoSuchRpc, RpcFailed, RpcRetryable
from orchestrator.nodes.rpc.messages import Fault, Reply, Request
from orchestrator.nodes.rpc.operations import Operation
from orchestrator.nodes.rpc.registry import Effect, NodeRpc
from orchestrator.nodes.rpc.requester import REQUESTER
from workers.agent.brackets import Invalidation, bracket
from workers.agent.faults import fault_of
from workers.agent.fence import Fence, fenced
from workers.agent.journal import AnotherOperation, Delivery, Journal, UnderWay
from workers.agent.owners import requested_by

log = get_logger()

#: Arguments that are ids of this project's own.
_IDS: Final = frozenset({"uuid", "run", "operation_id", "request_id"})
#: Arguments that users put secrets into: the words of a command behind its program, its variables, a file.
_CONTENTS: Final = ("argv", "env", "content")
_LONGEST_SECRET: Final = 16_000


@dataclass(frozen=True, slots=True)
class Afterwards:
    """The result of an RPC whose effect must not come before its success is on record."""

    result: Any
    do: Callable[[], None]


@dataclass(frozen=True, slots=True)
class Identity:
    """The identity of the agent that answers."""

    node: str
    incarnation: str
    boot_id: str


@dataclass(frozen=True, slots=True)
class Changes:
    """Counts of the changes begun, and of those under way."""

    seq: int
    inflight: int


class _Recorded(Exception):
    """A fault that is already on record, in the form of the reply."""

    def __init__(self, fault: Fault) -> None:
        super().__init__(fault)
        self.fault = fault


def _without_arguments(request: Request, text: str) -> str:
    """Return a log line without the arguments of a request, any of which may be a secret; ids are none."""
    return masked(text, _texts(value for name, value in request.arguments.items() if name not in _IDS))


def _without_contents(request: Request, text: str) -> str:
    """Return a sentence for the record without those arguments that users put their secrets into."""
    argv, *others = (request.arguments.get(name) for name in _CONTENTS)
    return masked(text, _texts([argv[1:] if isinstance(argv, list) else None, *others]))


def _texts(values: Iterable[object]) -> list[str]:
    # A longer text, such as that of a file, does not fit into a line.
    return [text for value in values for text in texts_in(value) if len(text) <= _LONGEST_SECRET]


class Answering:
    """Answers reads and carries out changes; thread-safe."""

    def __init__(
        self,
        agent: object,
        *,
        identity: Callable[[], Identity],
        cache: Invalidation,
        journal: Journal,
        rpcs: Callable[[], Mapping[str, NodeRpc]],
        clock: Callable[[], float],
    ) -> None:
        self._agent, self._identity, self._cache, self._journal = agent, identity, cache, journal
        self._rpcs, self._clock = rpcs, clock
        #: The fence of the agent's lease; None: no other agent can have it.
        self.fence: Fence | None = None
        self._counting = threading.Lock()
        self._seq = self._inflight = 0

    @property
    def changes(self) -> Changes:
        """The counts so far."""
        with self._counting:
            return Changes(self._seq, self._inflight)

    def answer(self, request: Request) -> Reply:
        """Answer a read. Errors are in the reply: nothing is raised."""
        request, requester = _without_requester(request)
        with masking_logs(partial(_without_arguments, request)):
            return self._answered(request, requester)

    def _answered(self, request: Request, requester: Any) -> Reply:
        began = self._clock()

        def work() -> Any:
            rpc = self._rpc(request)
            if not rpc.is_read:
                raise NoSuchRpc(request.node, f"{rpc.name!r} changes the node: it goes by its queue")
            self._refuse_late(request)
            with requested_by(request.node, requester):
                return rpc.handler(self._agent, **request.arguments)

        return self._reply(request, began, work)

    def carry_out(self, request: Request) -> Reply:
        """Carry out a change, unless that was done before. Errors are in the reply: nothing is raised."""
        began = self._clock()
        if not request.operation_id:
            request = replace(request, operation_id=request.id)
        request, requester = _without_requester(request)

        def work() -> Any:
            with requested_by(request.node, requester):
                return self._deliver(request)

        with masking_logs(partial(_without_arguments, request)):
            return self._reply(request, began, work)

    def _deliver(self, request: Request) -> Any:
        try:
            self._refuse_late(request)
        except Late as error:
            self._journal.note_late(request, Fault(kind=error.kind, message=str(error)))
            raise
        try:
            with self._journal.delivery(request) as delivery:
                return self._once(request, delivery)
        except UnderWay as error:
            raise RpcRetryable(request.node, f"{request.rpc} is under way already") from error
        except AnotherOperation as error:
            raise RpcFailed(
                request.node, f"operation {request.operation_id!r} was another call before, of {error}"
            ) from error

    def _once(self, request: Request, delivery: Delivery) -> Any:
        over = delivery.over
        if over is not None and over.error is not None:
            raise _Recorded(over.error)
        try:
            outcome = self._outcome(request, over)
            result = outcome.result if isinstance(outcome, Afterwards) else outcome
            # Only after the bracket: a caller that learns of the end must not be served the entry of before.
            if over is None:
                delivery.succeeded(result)
        except Exception as error:
            fault = fault_of(error, request.rpc)
            log.info("a change of this node failed", rpc=request.rpc, reason=fault.message)
            if over is None:
                # The record stays on the machine; the caller of this delivery masks what it gets itself.
                delivery.failed(replace(fault, message=_without_contents(request, fault.message)))
            raise _Recorded(fault) from error
        if isinstance(outcome, Afterwards):
            with fenced(self.fence):
                outcome.do()
        return result

    def _outcome(self, request: Request, done: Operation | None) -> Any:
        rpc = self._rpc(request)
        if rpc.is_read:
            raise NoSuchRpc(request.node, f"{rpc.name} changes nothing: it goes by the mailbox")
        with self._counted(rpc), bracket(self._cache, request.node, rpc, request, again=done is not None):
            if done is not None:
                return done.result
            with fenced(self.fence):
                return rpc.handler(self._agent, **request.arguments)

    @contextmanager
    def _counted(self, rpc: NodeRpc) -> Iterator[None]:
        """Count the change as under way, for machine states read meanwhile."""
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
        node, rpcs = self._identity().node, self._rpcs()
        if request.node != node:
            raise RpcFailed(node, f"this is node {node!r}, and not {request.node!r}")
        if request.rpc not in rpcs:
            hint = Nearest().hint(request.rpc, rpcs, "is its agent older than yours?")
            raise NoSuchRpc(node, f"node {node!r} knows no RPC {request.rpc!r}: {hint}")
        rpc = rpcs[request.rpc]
        try:
            inspect.signature(rpc.handler).bind(self._agent, **request.arguments)
        except TypeError as error:
            raise NoSuchRpc(node, f"node {node!r} knows no such {request.rpc}: {error}") from error
        return rpc

    def _refuse_late(self, request: Request) -> None:
        late_seconds = -request.seconds_left(self._clock())
        if late_seconds > 0:
            raise Late(
                request.node,
                f"{request.rpc} came to node {request.node!r} {late_seconds:.1f} s after its deadline: it was not done",
            )

    def _reply(self, request: Request, began: float, work: Callable[[], Any]) -> Reply:
        started = time.monotonic()
        result, fault = None, None
        try:
            result = work()
        except _Recorded as error:
            fault = error.fault
        except Exception as error:  # noqa: BLE001  # whatever a handler raises is reported to the caller
            fault = fault_of(error, request.rpc)
        identity, changes = self._identity(), self.changes
        return Reply(
            id=request.id,
            node=identity.node,
            incarnation=identity.incarnation,
            boot_id=identity.boot_id,
            seq=changes.seq,
            inflight=changes.inflight,
            taken_at=began,
            duration_seconds=time.monotonic() - started,
            result=result,
            error=fault,
        )


def _without_requester(request: Request) -> tuple[Request, Any]:
    """Return a request as its RPC takes it, and the requester that travels with the arguments; None: there is none."""
    if REQUESTER not in request.arguments:
        return request, None
    arguments = dict(request.arguments)
    requester = arguments.pop(REQUESTER)
    return replace(request, arguments=arguments), requester
