"""The reading side of an agent's process: a mailbox of its own, on its own connection, and threads that answer."""

import threading
import time
from collections.abc import Mapping
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from dataclasses import replace
from typing import Any, Final, Protocol

import structlog
from celery import Celery

from orchestrator.errors import Unavailable
from orchestrator.model.codec import UnreadableSecret
from orchestrator.nodes.rpc.calls import OPERATION_RPC
from orchestrator.nodes.rpc.kombu_transport import mailbox_address
from orchestrator.nodes.rpc.mailbox import Mailbox, Poster
from orchestrator.nodes.rpc.messages import Fault, Reply, Request
from orchestrator.nodes.rpc.sealing import Seal, without_arguments

log = structlog.get_logger()

#: How many reads are answered at once, and how many may wait for the end of an operation meanwhile: neither holds up
#: the other, and one that hangs holds up nobody.
READ_THREADS: Final = 32
WAIT_THREADS: Final = 128
#: So many are kept that come while the agent takes its node's name.
MOST_HELD: Final = 1000


class Answers(Protocol):
    """What answers reads: :class:`workers.agent.agent.Agent`."""

    @property
    def name(self) -> str:
        """The node's name."""

    def answer(self, request: Request) -> Reply:
        """Answer a read; raises nothing."""


class Reads:
    """Answers what is posted to a node's mailbox, from :meth:`answer_all` until :meth:`close`."""

    def __init__(self, app: Celery, agent: Answers, seal: Seal) -> None:
        self._agent, self._seal = agent, seal
        self._poster = Poster(app)
        #: What came before it is known whether it is for this agent; None: it is.
        self._held: list[Mapping[str, Any]] | None = []
        self._holding = threading.Lock()
        self._readers = ThreadPoolExecutor(READ_THREADS, thread_name_prefix="read")
        self._waiters = ThreadPoolExecutor(WAIT_THREADS, thread_name_prefix="wait")
        self._mailbox = Mailbox(app, mailbox_address(agent.name), on_message=self._receive)

    def start(self, patience_seconds: float) -> None:
        """Begin to listen, and return when that works, or with a line in the log after so long; answer nobody yet."""
        self._mailbox.start()
        if not self._mailbox.wait_until_heard(patience_seconds):
            log.warning("the node cannot be asked yet", address=self._mailbox.address)

    def answer_all(self) -> None:
        """Answer from now on, and what came before: the node's name is this agent's."""
        with self._holding:
            held, self._held = self._held or [], None
        for body in held:
            self._receive(body)

    def close(self) -> None:
        """Listen no more; what is being answered is given up."""
        self._mailbox.close()
        for pool in (self._readers, self._waiters):
            pool.shutdown(wait=False, cancel_futures=True)

    def _receive(self, body: Mapping[str, Any]) -> None:
        with self._holding:
            if self._held is not None:
                self._held = [*self._held[-MOST_HELD:], body]
                return
        try:
            request, reply_to = self._seal.opened_request(body["request"]), str(body["reply_to"])
        except (KeyError, TypeError) as error:
            log.warning("what came to the node's mailbox is no request", error=repr(error))
            return
        except UnreadableSecret as error:
            log.error("a question cannot be read", error=str(error))
            self._readers.submit(self._refuse, without_arguments(body["request"]), str(body["reply_to"]))
            return
        pool = self._waiters if request.rpc == OPERATION_RPC else self._readers
        pool.submit(self._answer, request, reply_to)

    def _answer(self, request: Request, reply_to: str) -> None:
        reply = self._agent.answer(request)
        try:
            try:
                self._post(request, reply, reply_to)
            except Unavailable:
                raise
            except Exception as error:  # noqa: BLE001  # whatever a plugin has answered that cannot travel
                log.error("an answer cannot be sent", rpc=request.rpc, error=repr(error))
                fault = Fault(kind="failed", message=f"{request.rpc}: its answer cannot be sent")
                self._post(request, replace(reply, result=None, error=fault), reply_to)
        except Unavailable as error:
            # Whoever asked runs out of patience, and asks again.
            log.warning("an answer was not sent", rpc=request.rpc, error=str(error))

    def _refuse(self, request: Request, reply_to: str) -> None:
        """Say to who has other keys that this is why nothing can be done."""
        sentence = f"node {request.node!r} has none of the encryption keys with which it is asked"
        fault = Fault(kind="failed", message=f"{sentence} (setting encryption_keys)")
        reply = self._agent.answer(replace(request, rpc=OPERATION_RPC))
        with suppress(Unavailable):
            self._post(request, replace(reply, result=None, error=fault), reply_to)

    def _post(self, request: Request, reply: Reply, reply_to: str) -> None:
        seconds_left = request.deadline - time.time()
        if seconds_left <= 0:
            # Nobody waits for it any more; or somebody does, by another clock, and is not told the reason.
            log.warning(
                "a question was of no use any more: is the clock of who asks behind this one?",
                rpc=request.rpc,
                seconds_late=round(-seconds_left, 1),
            )
        else:
            self._poster.post(reply_to, {"reply": self._seal.reply(reply)}, keep_seconds=seconds_left)
