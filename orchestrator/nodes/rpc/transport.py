"""How a request gets to a node's agent: by the queue, or by a call within this process."""

from typing import Protocol

from orchestrator.nodes.rpc.messages import Reply, Request


class Transport(Protocol):
    """Carries requests to agents; safe for threads."""

    def read(self, request: Request, *, timeout_seconds: float) -> Reply:
        """Ask a node's mailbox and return what it answers.

        Raises:
            NodeTimeout: it did not in time; nothing of the question is left anywhere.
            Unavailable: the broker is out of reach.
        """

    def send(self, request: Request) -> None:
        """Hand a mutation over to a node's queue: at least once, in the order of sending as a rule.

        Raises:
            Unavailable: the broker is out of reach; nothing was handed over.
        """

    def close(self) -> None:
        """Let go of connections."""
