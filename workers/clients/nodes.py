"""The client plugin ``nodes``: the nodes of this installation, their hypervisors and their storage."""

import threading
from collections.abc import Iterable, Mapping
from typing import Any, Final

from cache.node_state.errors import NodeError, NodeUnreachable, StateStoreFailed
from cache.node_state.lease import Lease
from hooks.values.nearest import Nearest
from orchestrator.config.settings import Settings
from orchestrator.errors import Unavailable
from orchestrator.nodes.rpc.client import NodeClient
from orchestrator.plugins.asking import EntityNotFound
from orchestrator.plugins.clients import ClientContext, ClientPlugin, RemembersYes

#: What can be looked up: a node, and what at least one node offers.
NODE: Final = "node"
HYPERVISOR: Final = "hypervisor"
STORAGE: Final = "storage unit"


class NotOffered(EntityNotFound):
    """There is no such thing on any node, and what there is may be known."""

    def __init__(self, entity: str, name: str, known: tuple[str, ...]) -> None:
        super().__init__(entity, name)
        # What the cause is rebuilt from, where it travels.
        self.args = (entity, name, known)
        self.known = known

    def __str__(self) -> str:
        listed = ", ".join(map(repr, self.known))
        there = f"there is {listed}" if listed else "there is none at all"
        hint = Nearest().hint(self.name, self.known, there)
        return f"{super().__str__()}: {hint}"


class NodesClient(ClientPlugin):
    """Asks and changes the nodes of the installation; what they said is remembered by their own cache."""

    name = "nodes"
    description = (
        "The nodes that have an agent, and what they offer; its settings are `node_state_cache` and `agent`."
    )
    entities = frozenset({NODE, HYPERVISOR, STORAGE})

    def __init__(
        self,
        context: ClientContext,
        options: Mapping[str, Any],
        cache: RemembersYes | None = None,  # noqa: ARG002  # see below
        *,
        nodes: NodeClient | None = None,
    ) -> None:
        """Keep the settings of the process; nobody is asked yet.

        ``nodes`` asks nodes; if not given, the process's own client does.
        """
        # The leases of all nodes are at hand: there is nothing to gain by remembering what they say.
        super().__init__(context, options, None)
        self._settings = context.settings
        self._nodes = nodes
        self._lock = threading.Lock()

    @property
    def nodes(self) -> NodeClient:
        """What asks nodes: one for the process."""
        with self._lock:
            if self._nodes is None:
                self._nodes = NodeClient.of(self._settings or Settings())
            return self._nodes

    def look_up(self, entity: str, name: str) -> str:
        """Return a name of a node, or of what a node offers.

        What cannot be reached counts as there: a node that had an agent, and whatever such a node may offer.

        Raises:
            EntityNotFound: nobody has heard of it.
            NodeError: nobody can tell: no node has an agent, nor had one.
            Unavailable: the nodes' state cannot be reached.
        """
        leases = self.nodes.leases()
        silent = self._known_names() - leases.keys()
        if not leases and not silent:
            raise NodeUnreachable("", "no node has an agent")
        if entity == NODE:
            offers = {*leases, *silent}
        else:
            offers = {each for lease in leases.values() for each in self._offered(entity, lease)}
        if name not in offers and (entity == NODE or not silent):
            raise NotOffered(entity, name, tuple(sorted(offers)))
        return name

    def _known_names(self) -> frozenset[str]:
        try:
            return self.nodes.cache.store.names()
        except StateStoreFailed as error:
            raise Unavailable(f"the node state cache does not answer: {error}") from error

    @staticmethod
    def _offered(entity: str, lease: Lease) -> Iterable[str]:
        return lease.hypervisors if entity == HYPERVISOR else lease.storage

    def probe(self) -> str:
        """Tell which nodes have an agent."""
        names = sorted(self.nodes.leases())
        return ", ".join(names) if names else "no node has an agent"

    def is_retryable(self, error: Exception) -> bool:
        """Whether nothing but time is needed for another answer."""
        return isinstance(error, NodeError) and error.passing
