"""Transport over the broker: reads go to the mailboxes of machines, mutations to their queues."""

import threading
import uuid
from collections.abc import Callable, Iterator
from concurrent.futures import Future
from contextlib import contextmanager
from typing import Final

from kombu.entity import Exchange, Queue
from kombu.exceptions import OperationalError

from cache.node_state.errors import NodeTimeout, NodeUnreachable
from orchestrator.config.broker_urls import BROKER_REMEDY
from orchestrator.config.logger import get_logger
from orchestrator.config.settings import Settings
from orchestrator.errors import InvalidInput, Unavailable
from orchestrator.keys.envelope import KEY, Refused
from orchestrator.model.messages import NODE_TASK
from orchestrator.nodes.rpc.mailbox import Mailbox, Poster
from orchestrator.nodes.rpc.messages import Reply, Request, node_queue
from orchestrator.nodes.rpc.sealing import Seal
from orchestrator.queue.celery_app import make_app
from orchestrator.queue.installation import InstallationApp
from orchestrator.queue.refusals import refusals

log = get_logger()

#: How long the first read of a process waits until its mailbox receives.
LISTEN_SECONDS: Final = 10.0
#: The place of refused replies, whose mailboxes have names of their own.
REPLIES: Final = "asker"


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
        app: InstallationApp | None = None,
        now: Callable[[], float | None] = lambda: None,
    ) -> None:
        """Make a transport; ``now`` returns the time by a clock that agents can read too."""
        #: Requests carry the time that they have left, besides the deadline by this machine's clock.
        self.now = now
        self._app = app or make_app(settings)
        self._seal = Seal(settings, self._app.keys)
        self._poster = Poster(self._app)
        #: The reads under way, and the node of each, by the id of the request.
        self._waiting: dict[str, tuple[str, Future[Reply]]] = {}
        self._starting = threading.Lock()
        self._address: Final = f"asker.{uuid.uuid4().hex}"
        self._mailbox: Mailbox | None = None

    def read(self, request: Request, *, timeout_seconds: float) -> Reply:
        """Post a read to a machine's mailbox, and return the reply.

        Raises:
            NodeTimeout: no reply came in time; the request has expired.
            NodeUnreachable: there is no key of the node, or none to sign with.
            Unavailable: the broker is out of reach.
        """
        address = mailbox_address(request.node)
        with _keyless(request.node):
            data = self._seal.read(
                request, address=address, reply_to=self._address, life=request.life(self.now())
            )
        self._listen()
        answer: Future[Reply] = Future()
        self._waiting[request.id] = request.node, answer
        try:
            self._poster.post(address, data, keep_seconds=timeout_seconds)
            return answer.result(timeout_seconds)
        except TimeoutError:
            sentence = f"node {request.node!r} did not answer within {timeout_seconds:g} s"
            raise NodeTimeout(request.node, sentence) from None
        finally:
            self._waiting.pop(request.id, None)

    def send(self, request: Request) -> None:
        """Send a mutation to a machine's queue.

        Raises:
            NodeUnreachable: there is no key of the node, or none to sign with; nothing was sent.
            Unavailable: the broker is out of reach; nothing was sent.
        """
        with _keyless(request.node):
            call = self._seal.call(request)
        try:
            self._app.send_task(
                NODE_TASK,
                kwargs={"request": call, "life": request.life(self.now())},
                task_id=request.id,
                queue=queue_of(request.node),
                # Shown by Celery's tools: names only, never an argument.
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

    def _listen(self) -> None:
        with self._starting:
            if self._mailbox is None:
                self._mailbox = Mailbox(
                    self._app, self._address, self._seal, on_message=self._receive, on_lost=self._lose
                )
                self._mailbox.start()
            mailbox = self._mailbox
        mailbox.require_heard(LISTEN_SECONDS)

    def _receive(self, address: str, data: bytes) -> None:
        try:
            reply = self._seal.opened_reply(data, address=address)
            # A late reply is dropped.
            node, answer = self._waiting.get(reply.id, (reply.node, None))
            if node != reply.node:
                raise Refused(KEY, f"the agent of {reply.node!r} answers for {node!r}")
        except Refused as why:
            refusals.add(REPLIES, why, data)
            return
        self._waiting.pop(reply.id, None)
        if answer is not None:
            answer.set_result(reply)

    def _lose(self) -> None:
        """Fail all pending reads, whose replies may be lost; their callers retry."""
        for request_id in list(self._waiting):
            _, answer = self._waiting.pop(request_id, ("", None))
            if answer is not None:
                answer.set_exception(Unavailable("the connection to the broker was lost"))


@contextmanager
def _keyless(node: str) -> Iterator[None]:
    """Raise for a missing key what is raised for a missing agent: both come later, and calls are tried again."""
    try:
        yield
    except InvalidInput as error:
        raise NodeUnreachable(node, f"node {node!r} cannot be called: {error}") from error
