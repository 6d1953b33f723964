"""How requests get to the one agent of embedded mode: by calls within this process."""

import queue
import threading
import time
from typing import Final, Protocol

from cache.node_state.errors import NodeTimeout
from orchestrator.nodes.rpc.messages import Reply, Request

#: How long a process that ends waits for changes that are under way; what is not over then is taken up again.
_LAST_SECONDS: Final = 5.0


class Answering(Protocol):
    """What is needed of an agent: :class:`workers.agent.agent.Agent`."""

    def answer(self, request: Request) -> Reply:
        """Answer a read."""

    def carry_out(self, request: Request) -> Reply:
        """Carry out what is no read."""

    def close(self) -> None:
        """Let go of what its backends hold."""


class LocalTransport:
    """Calls the agent in threads of its own, so that none of its backends holds up whoever asks; safe for threads.

    Nothing is delivered again by itself: whoever wants something of an operation that was interrupted sends it again.
    """

    def __init__(self, agent: Answering, *, threads: int) -> None:
        self._agent, self._most = agent, threads
        self._lock = threading.Lock()
        self._waiting: queue.SimpleQueue[Request | None] = queue.SimpleQueue()
        #: The threads that carry out, and how many requests are with them or waiting.
        self._threads: list[threading.Thread] = []
        self._under_way = 0

    def read(self, request: Request, *, timeout_seconds: float) -> Reply:
        """Ask the agent and return what it answers.

        Raises:
            NodeTimeout: it did not in time.
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
        """Hand a mutation over; they begin in the order of sending."""
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
        """Take nothing more, and wait a moment for what is under way."""
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
