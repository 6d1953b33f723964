"""The reading side of an agent's process: a mailbox of its own, on its own connection, and threads that answer."""

import threading
import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from typing import Final

from celery import Celery

from orchestrator.config.logger import get_logger
from orchestrator.errors import Unavailable
from orchestrator.keys.envelope import Refused
from orchestrator.nodes.rpc.calls import OPERATION_RPC
from orchestrator.nodes.rpc.kombu_transport import mailbox_address
from orchestrator.nodes.rpc.mailbox import Mailbox, Poster
from orchestrator.nodes.rpc.messages import Fault, Reply, Request
from orchestrator.nodes.rpc.sealing import Seal
from orchestrator.queue.refusals import refusals

log = get_logger()

#: The limits of concurrent reads, and of calls that wait for the end of an operation: neither holds up
#: the other.
READ_THREADS: Final = 32
WAIT_THREADS: Final = 128
#: The most reads that are held back while the agent acquires its lease.
MOST_HELD: Final = 1000


class Reads:
    """Answers the messages in a node's mailbox, from :meth:`answer_all` until :meth:`close`."""

    def __init__(
        self,
        app: Celery,
        node: str,
        answer: Callable[[Request], Reply],
        seal: Seal,
        *,
        may_answer: Callable[[], bool] = lambda: True,
        now: Callable[[], float | None] = lambda: None,
    ) -> None:
        """Keep the arguments; where ``may_answer`` returns False, another agent of the node answers.

        ``now`` returns the time by the clock of the store of leases; None: unknown.
        """
        self._answer_to, self._seal, self._may_answer, self._now = answer, seal, may_answer, now
        self._poster = Poster(app)
        #: Reads that came before the lease was acquired; None: it is.
        self._held: list[tuple[str, bytes]] | None = []
        self._holding = threading.Lock()
        self._readers = ThreadPoolExecutor(READ_THREADS, thread_name_prefix="read")
        self._waiters = ThreadPoolExecutor(WAIT_THREADS, thread_name_prefix="wait")
        self._mailbox = Mailbox(app, mailbox_address(node), seal, on_message=self._receive)

    def start(self, patience_seconds: float) -> None:
        """Begin to listen, and return once connected, or after so long with a log line; nothing is answered yet."""
        self._mailbox.start()
        if not self._mailbox.wait_until_heard(patience_seconds):
            log.warning("the mailbox is not connected yet", address=self._mailbox.address)

    def answer_all(self) -> None:
        """Answer reads from now on, held ones included: the lease is acquired."""
        with self._holding:
            held, self._held = self._held or [], None
        for address, data in held:
            self._receive(address, data)

    def close(self) -> None:
        """Stop listening; answers under way are given up."""
        self._mailbox.close()
        for pool in (self._readers, self._waiters):
            pool.shutdown(wait=False, cancel_futures=True)

    def _receive(self, address: str, data: bytes) -> None:
        with self._holding:
            if self._held is not None:
                self._held = [*self._held[-MOST_HELD:], (address, data)]
                return
        try:
            request, reply_to, life = self._seal.opened_read(data, address=address)
        except Refused as why:
            refusals.add(address, why, data)
            return
        request = request.received(life, self._now())
        pool = self._waiters if request.rpc == OPERATION_RPC else self._readers
        pool.submit(self._answer, request, reply_to)

    def _answer(self, request: Request, reply_to: str) -> None:
        reply = self._answer_to(request)
        # Also if it stood still while it read.
        if not self._may_answer():
            log.warning("a read is left to the node's other agent", rpc=request.rpc)
            return
        try:
            try:
                self._post(request, reply, reply_to)
            except Unavailable:
                raise
            except Exception as error:  # noqa: BLE001  # a plugin's result that cannot be serialized
                log.error("an answer cannot be sent", rpc=request.rpc, error=repr(error))
                fault = Fault(kind="failed", message=f"{request.rpc}: its answer cannot be sent")
                self._post(request, replace(reply, result=None, error=fault), reply_to)
        except Unavailable as error:
            # The caller times out, and calls again.
            log.warning("an answer was not sent", rpc=request.rpc, error=str(error))

    def _post(self, request: Request, reply: Reply, reply_to: str) -> None:
        seconds_left = request.seconds_left(time.time())
        if seconds_left <= 0:
            # The caller has timed out; or its clock differs, and it never learns the reason.
            log.warning(
                "a read had expired on arrival: is the clock of its sender behind this one?",
                rpc=request.rpc,
                seconds_late=round(-seconds_left, 1),
            )
        else:
            data = self._seal.reply(reply, address=reply_to, seconds=seconds_left)
            self._poster.post(reply_to, data, keep_seconds=seconds_left)
