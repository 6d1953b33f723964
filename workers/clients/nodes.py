"""The client plugin ``nodes``: the nodes of this installation, their hypervisors and their storage."""

import threading
from collections.abc import Mapping
from typing import Any, Final

from cache.node_state.errors import NodeError, NodeUnreachable, StateStoreFailed
from hooks.values.nearest import Nearest
from orchestrator.config.settings import Settings
from orchestrator.errors import Unavailable
from orchestrator.nodes.rpc.client import NodeClient
from orchestrator.plugins.asking import EntityNotFound
from orchestrator.plugins.client_plugin import ClientContext, ClientPlugin, LookupCache

#: The kinds of look-ups: a node, and what at least one node offers.
NODE: Final = "node"
HYPERVISOR: Final = "hypervisor"
STORAGE: Final = "storage unit"


class NotOffered(EntityNotFound):
    """No node offers such a thing; the message may list what is offered."""

    def __init__(self, entity: str, name: str, known: tuple[str, ...]) -> None:
        super().__init__(entity, name)
        # The arguments from which the error is rebuilt after transport.
        self.args = (entity, name, known)
        self.known = known

    def __str__(self) -> str:
        listed = ", ".join(map(repr, self.known))
        known = f"there is {listed}" if listed else "there is none at all"
        hint = Nearest().hint(self.name, self.known, known)
        return f"{super().__str__()}: {hint}"


class NodesClient(ClientPlugin):
    """Reads and changes the nodes of the installation; their states have a cache of their own."""

    name = "nodes"
    description = (
        "The nodes that have an agent, and what they offer; its settings are `node_state_cache` and `agent`."
    )
    entities = frozenset({NODE, HYPERVISOR, STORAGE})

    def __init__(
        self,
        context: ClientContext,
        options: Mapping[str, Any],
        cache: LookupCache | None = None,  # noqa: ARG002  # see below
        *,
        nodes: NodeClient | None = None,
    ) -> None:
        """Keep the process's settings; no agent is called yet.

        ``nodes`` is the client of node RPCs; by default the process's own.
        """
        # The leases of all nodes are in the machine-state cache: a second cache would gain nothing.
        super().__init__(context, options, None)
        self._settings = context.settings
        self._nodes = nodes
        self._lock = threading.Lock()

    @property
    def nodes(self) -> NodeClient:
        """The client of node RPCs: one for the process."""
        with self._lock:
            if self._nodes is None:
                self._nodes = NodeClient.of(self._settings or Settings())
            return self._nodes

    def look_up(self, entity: str, name: str) -> str:
        """Return the name of a node, or of what a node offers.

        What cannot be reached counts as existing: a node that had an agent, and whatever such a node may offer.

        Raises:
            EntityNotFound: it is unknown.
            NodeError: its existence is unknown: no node has an agent, nor had one.
            Unavailable: the machine-state cache is out of reach.
        """
        leases = self.nodes.leases()
        silent = self._known_names() - leases.keys()
        if not leases and not silent:
            raise NodeUnreachable("", "no node has an agent")
        if entity == NODE:
            offers = {*leases, *silent}
        else:
            parts = (each.hypervisors if entity == HYPERVISOR else each.storage for each in leases.values())
            offers = {name for part in parts for name in part}
        if name not in offers and (entity == NODE or not silent):
            raise NotOffered(entity, name, tuple(sorted(offers)))
        return name

    def _known_names(self) -> frozenset[str]:
        try:
            return self.nodes.cache.store.names()
        except StateStoreFailed as error:
            raise Unavailable(f"the node state cache does not answer: {error}") from error

    def probe(self) -> str:
        """Return the names of the nodes with an agent."""
        names = sorted(self.nodes.leases())
        return ", ".join(names) if names else "no node has an agent"

    def is_retryable(self, error: Exception) -> bool:
        """Return whether a later look-up may succeed."""
        return isinstance(error, NodeError) and error.passing
