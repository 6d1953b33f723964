"""Transport over the broker: reads go to the mailboxes of machines, mutations to their queues."""

import threading
import uuid
from collections.abc import Callable, Mapping
from concurrent.futures import Future
from typing import Any, Final

import structlog
from celery import Celery
from kombu.entity import Exchange, Queue
from kombu.exceptions import OperationalError

from cache.node_state.errors import NodeTimeout
from orchestrator.config.broker_urls import BROKER_REMEDY
from orchestrator.config.settings import Settings
from orchestrator.errors import Unavailable
from orchestrator.nodes.rpc.mailbox import Mailbox, Poster
from orchestrator.nodes.rpc.messages import NODE_TASK, Reply, Request, node_queue
from orchestrator.nodes.rpc.sealing import Seal
from orchestrator.queue.celery_app import make_app

log = structlog.get_logger()

#: How long the first read of a process waits until its mailbox receives.
LISTEN_SECONDS: Final = 10.0


def mailbox_address(node: str) -> str:
    """Return the address of a machine's mailbox."""
    return f"node.{node}"


def queue_of(node: str) -> Queue:
    """Return the queue of a machine's mutations, on the default exchange."""
    name = node_queue(node)
    return Queue(name, Exchange("", type="direct"), routing_key=name)


class KombuTransport:
    """Carries requests over the broker; opens its mailbox for replies at the first read."""

    def __init__(
        self,
        settings: Settings,
        *,
        app: Celery | None = None,
        now: Callable[[], float | None] = lambda: None,
    ) -> None:
        """Make a transport; ``now`` returns the time by a clock that agents can read too."""
        #: Requests carry the time that they have left, besides the deadline by this machine's clock.
        self.now = now
        self._app = app or make_app(settings)
        self._seal = Seal(settings)
        self._poster = Poster(self._app)
        self._waiting: dict[str, Future[Reply]] = {}
        self._starting = threading.Lock()
        self._mailbox: Mailbox | None = None

    def read(self, request: Request, *, timeout_seconds: float) -> Reply:
        """Post a read to a machine's mailbox, and return the reply.

        Raises:
            NodeTimeout: no reply came in time; the request has expired.
            Unavailable: the broker is out of reach.
        """
        mailbox = self._listening()
        answer: Future[Reply] = Future()
        self._waiting[request.id] = answer
        try:
            life = request.life(self.now())
            body = {"request": self._seal.request(request), "reply_to": mailbox.address, **life}
            self._poster.post(mailbox_address(request.node), body, keep_seconds=timeout_seconds)
            return answer.result(timeout_seconds)
        except TimeoutError:
            sentence = f"node {request.node!r} did not answer within {timeout_seconds:g} s"
            raise NodeTimeout(request.node, sentence) from None
        finally:
            self._waiting.pop(request.id, None)

    def send(self, request: Request) -> None:
        """Send a mutation to a machine's queue.

        Raises:
            Unavailable: the broker is out of reach; nothing was sent.
        """
        try:
            self._app.send_task(
                NODE_TASK,
                kwargs={"request": self._seal.request(request)},
                task_id=request.id,
                queue=queue_of(request.node),
                headers=request.life(self.now()),
                # Shown by Celery's tools: names only, never an argument.
                argsrepr="()",
                kwargsrepr=repr({"node": request.node, "rpc": request.rpc}),
                ignore_result=True,
            )
        except (OperationalError, OSError) as error:
            raise Unavailable(f"the broker does not answer: {error}", hint=BROKER_REMEDY) from error

    def close(self) -> None:
        """Close connections; pending reads raise Unavailable."""
        with self._starting:
            mailbox, self._mailbox = self._mailbox, None
        if mailbox is not None:
            mailbox.close()
        self._lose()
        self._app.close()

    def _listening(self) -> Mailbox:
        with self._starting:
            if self._mailbox is None:
                address = f"asker.{uuid.uuid4().hex}"
                self._mailbox = Mailbox(self._app, address, on_message=self._receive, on_lost=self._lose)
                self._mailbox.start()
            mailbox = self._mailbox
        mailbox.require_heard(LISTEN_SECONDS)
        return mailbox

    def _receive(self, body: Mapping[str, Any]) -> None:
        try:
            reply = self._seal.opened_reply(body["reply"])
        except (KeyError, TypeError, ValueError) as error:
            log.warning("a node's answer cannot be read", error=repr(error))
            return
        # A late reply is dropped.
        answer = self._waiting.pop(reply.id, None)
        if answer is not None:
            answer.set_result(reply)

    def _lose(self) -> None:
        """Fail all pending reads, whose replies may be lost; their callers retry."""
        for request_id in list(self._waiting):
            answer = self._waiting.pop(request_id, None)
            if answer is not None:
                answer.set_exception(Unavailable("the connection to the broker was lost"))
