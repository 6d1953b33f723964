"""Transport protocol: carries requests to agents, over the broker or within the process."""

from typing import Protocol

from orchestrator.nodes.rpc.messages import Reply, Request


class Transport(Protocol):
    """Carries requests to agents; thread-safe."""

    def read(self, request: Request, *, timeout_seconds: float) -> Reply:
        """Send a read to a machine's agent, and return the reply.

        Raises:
            NodeTimeout: no reply came in time; the request has expired.
            Unavailable: the broker is out of reach.
        """

    def send(self, request: Request) -> None:
        """Send a mutation to a machine's agent: delivered at least once, as a rule in the order of sending.

        Raises:
            Unavailable: the broker is out of reach; nothing was sent.
        """

    def close(self) -> None:
        """Close connections."""
