"""The client plugin ``nodes``: the nodes of this installation, their hypervisors and their storage."""

import threading
from collections.abc import Iterable, Mapping
from difflib import get_close_matches
from typing import Any, Final

from cache.node_state.errors import NodeError, NodeUnreachable, NoSuchNode
from cache.node_state.requests import SnapshotRequest
from orchestrator.nodes.client import NodeClient
from orchestrator.plugins.asking import EntityNotFound
from orchestrator.plugins.clients import ClientContext, ClientPlugin, RemembersYes
from orchestrator.settings import Settings

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
        near = get_close_matches(self.name, self.known, 1)
        listed = ", ".join(map(repr, self.known))
        hint = (
            f"did you mean {near[0]!r}?"
            if near
            else f"there is {listed}"
            if listed
            else "there is none at all"
        )
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
        """Return a name of a node, also of one that cannot be reached; or of what a node offers.

        Raises:
            EntityNotFound: nobody has heard of it.
            NodeError: nobody can tell: no node has an agent.
            Unavailable: the nodes' state cannot be reached.
        """
        leases = self.nodes.leases()
        if entity == NODE:
            if name not in leases:
                self._require_known(name, leases)
            return name
        if not leases:
            raise NodeUnreachable("", "no node has an agent at the moment")
        offers = sorted({each for lease in leases.values() for each in self._offered(entity, lease)})
        if name not in offers:
            raise NotOffered(entity, name, tuple(offers))
        return name

    def _require_known(self, name: str, others: Iterable[str]) -> None:
        try:
            self.nodes.snapshot(name, SnapshotRequest(bootid=True))
        except NoSuchNode as error:
            raise NotOffered(NODE, name, tuple(sorted(others))) from error
        except NodeError:
            # It was there once, and may be again.
            return

    @staticmethod
    def _offered(entity: str, lease: Any) -> Iterable[str]:
        offered: Iterable[str] = lease.hypervisors if entity == HYPERVISOR else lease.storage
        return offered

    def probe(self) -> str:
        """Tell which nodes have an agent."""
        names = sorted(self.nodes.leases())
        return ", ".join(names) if names else "no node has an agent"

    def is_retryable(self, error: Exception) -> bool:
        """Whether nothing but time is needed for another answer."""
        return isinstance(error, NodeError) and error.passing
