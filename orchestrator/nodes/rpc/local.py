"""Transport of embedded mode: calls the one agent within this process."""

import queue
import threading
import time
from typing import Final, Protocol

from cache.node_state.errors import NodeTimeout
from orchestrator.nodes.rpc.messages import Reply, Request

#: How long :meth:`LocalTransport.close` waits for running mutations; the next process resumes the rest.
_LAST_SECONDS: Final = 5.0


class Answering(Protocol):
    """The part of :class:`workers.agent.agent.Agent` that the transport uses."""

    def answer(self, request: Request) -> Reply:
        """Return the reply to a read."""

    def carry_out(self, request: Request) -> Reply:
        """Carry out a mutation, and return its reply."""

    def close(self) -> None:
        """Close the backends."""


class LocalTransport:
    """Calls the agent in threads, so that a slow backend does not block the caller; thread-safe.

    There is no redelivery: callers send an interrupted operation again.
    """

    def __init__(self, agent: Answering, *, threads: int) -> None:
        self._agent, self._most = agent, threads
        self._lock = threading.Lock()
        self._waiting: queue.SimpleQueue[Request | None] = queue.SimpleQueue()
        #: The threads of mutations, and how many mutations run or wait.
        self._threads: list[threading.Thread] = []
        self._under_way = 0

    def read(self, request: Request, *, timeout_seconds: float) -> Reply:
        """Call a read RPC of the agent, and return the reply.

        Raises:
            NodeTimeout: no reply came in time.
        """
        replies: queue.SimpleQueue[Reply] = queue.SimpleQueue()
        name = f"{request.rpc} on {request.node}"
        threading.Thread(
            target=lambda: replies.put(self._agent.answer(request)), name=name, daemon=True
        ).start()
        try:
            return replies.get(timeout=timeout_seconds)
        except queue.Empty:
            sentence = f"node {request.node!r} did not answer {request.rpc} within {timeout_seconds:g} s"
            raise NodeTimeout(request.node, sentence) from None

    def send(self, request: Request) -> None:
        """Queue a mutation; mutations begin in the order of sending."""
        with self._lock:
            self._under_way += 1
            if self._under_way > len(self._threads) < self._most:
                thread = threading.Thread(
                    target=self._carry_out, name=f"agent of {request.node}", daemon=True
                )
                self._threads.append(thread)
                thread.start()
            self._waiting.put(request)

    def close(self) -> None:
        """Accept no more mutations, and wait a moment for the running ones."""
        with self._lock:
            threads, self._threads = self._threads, []
            for _ in threads:
                self._waiting.put(None)
        deadline = time.monotonic() + _LAST_SECONDS
        for thread in threads:
            thread.join(max(0.0, deadline - time.monotonic()))
        self._agent.close()

    def _carry_out(self) -> None:
        while (request := self._waiting.get()) is not None:
            try:
                self._agent.carry_out(request)
            finally:
                with self._lock:
                    self._under_way -= 1
