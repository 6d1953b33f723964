"""The base of what is on a node: which node that is, how it is asked, and how it is changed exactly once.

Nothing here touches a machine: an agent does, by its RPCs. A node that does not answer is never taken for one on which
nothing is: what says so (a ``NodeError`` that passes) goes through to the engine, which tries again.
"""

import hmac
import json
from collections.abc import Mapping
from typing import Any, ClassVar, Final

from cache.node_state.errors import NodeError, NodeUnreachable
from orchestrator.errors import Unavailable
from orchestrator.nodes.rpc.client import NodeClient
from orchestrator.nodes.rpc.errors import RpcRetryable, StillRunning
from orchestrator.nodes.rpc.names import is_node_name
from orchestrator.plugins.asks import LOCAL_NODE, Asks
from orchestrator.plugins.properties import Property
from orchestrator.plugins.resource import PropertyChanges, Resource, ResourceFailure, RetryableFailure, Wait
from workers.clients.nodes import NodesClient
from workers.resources.nodes.placing import PLACING_PROPERTIES, asked_node, parse_labels

#: How long a step waits for the end of a change before it lets others have the worker, and looks again later.
PATIENCE_SECONDS: Final = 5.0
_LOOK_AGAIN_SECONDS: Final = 1.0
#: The token of a create that has chosen a node; and that of one of which it is on record which.
SETTLING: Final = {"stage": "settling"}
SETTLED: Final = {"stage": "settled"}
#: The row's private fact that tells the node to whoever adopts the object from another stack's export.
_NODE: Final = "node"
#: The lifecycle plugin that chooses nodes.
_PLACEMENT: Final = "placement"


class NodeResource(Resource):
    """Base of the types whose objects are on a node."""

    properties_schema: ClassVar[Mapping[str, Property]] = PLACING_PROPERTIES

    @classmethod
    def validate(cls, properties: Mapping[str, Any]) -> None:
        """Refuse labels that are no text.

        Raises:
            PropertyError: with the path of the property at fault.
        """
        parse_labels(properties.get("node_labels"))

    @classmethod
    def asks_of_node(cls, properties: Mapping[str, Any]) -> Asks | None:
        """Return which nodes will do."""
        return Asks(**asked_node(properties))

    def needs_replace(self, changes: PropertyChanges) -> bool:
        """Tell whether another node is wanted than the one it is on."""
        wanted = changes.after.get("node") if "node" in changes.names else None
        return bool(wanted) and wanted != self.state.on_node

    # -- which node --------------------------------------------------------------------------------------------

    @property
    def node(self) -> str:
        """The node it is on, or is to be on.

        Raises:
            ResourceFailure: nobody has said which.
        """
        chosen = self._chosen_node()
        if chosen is None:
            raise ResourceFailure(
                "nobody has chosen a node: name one by the property 'node', or enable the lifecycle plugin "
                f"{_PLACEMENT!r} (setting lifecycle)"
            )
        return chosen

    def _chosen_node(self) -> str | None:
        if self.state.on_node:
            return self.state.on_node
        told = self.state.data.get(_NODE) if self.state.action == "ADOPT" else None
        # What an adopt file says may be anything.
        if isinstance(told, str) and is_node_name(told):
            return told
        named = self.properties.get("node") or self.annotations.get(_PLACEMENT, {}).get("node")
        if named:
            return str(named)
        return LOCAL_NODE if self.settings.embedded else None

    @property
    def may_be_somewhere(self) -> bool:
        """Whether anything may have been made of it: a node is written down before anything is made there."""
        return bool(self.state.on_node or self.state.physical_id) or self._chosen_node() == LOCAL_NODE

    def settle(self) -> bool:
        """Take the node that was chosen; tell whether that is certain to be on record by the next step only.

        Until it is, nothing may be made there: should this worker die, another choice could be made.
        """
        new = self.state.on_node is None
        self.state.on_node = self.node
        if not self.settings.embedded:
            self.state.data[_NODE] = self.state.on_node
        # In embedded mode, there is nothing to choose from.
        return new and not (self.settings.embedded and self.state.on_node == LOCAL_NODE)

    @property
    def node_seen(self) -> str:
        """What an observation tells of the property ``node``: nothing where nothing was asked for."""
        return (self.state.on_node or "") if self.properties.get("node") else ""

    @property
    def storage_units(self) -> tuple[str, ...]:
        """The storage units that the node offers.

        Raises:
            NodeUnreachable: it has no agent, or nobody can tell.
        """
        node = self.node
        try:
            lease = self.nodes.leases().get(node)
        except Unavailable as error:
            raise as_failure(node, error) from error
        if lease is None:
            raise NodeUnreachable(node, f"node {node!r} is unreachable: no agent holds its lease")
        return tuple(sorted(lease.storage))

    # -- asking and changing it ----------------------------------------------------------------------------------

    @property
    def nodes(self) -> NodeClient:
        """What asks nodes."""
        client: Any = self.client(NodesClient.name)
        nodes: NodeClient = client.nodes
        return nodes

    def ask(self, rpc: str, **arguments: Any) -> Any:
        """Ask the node by one of its reads.

        Raises:
            NodeError: it does not answer: nothing is known.
            RetryableFailure: it could not tell this time.
            ResourceFailure: it refused, or it failed.
        """
        node = self.node
        try:
            return self.nodes.ask(node, rpc, **arguments)
        except (NodeError, Unavailable) as error:
            raise as_failure(node, error) from error

    def change(self, rpc: str, what: str = "", **arguments: Any) -> Any:
        """Have the node carry out a change of the action under way, and return its result.

        A step that is run again, in any process, asks for the same change by saying the same; ``what`` tells apart
        changes of one action that say the same.

        Raises:
            Unfinished: it is not over yet; ask for the same again.
            NodeError: the node does not answer: nothing is known.
            RetryableFailure: it failed, and doing the same again may help.
            ResourceFailure: it refused, or it failed.
        """
        node, operation_id = self.node, self._operation_id(rpc, what, arguments)
        try:
            return self.nodes.change(node, rpc, operation_id, wait_seconds=PATIENCE_SECONDS, **arguments)
        except StillRunning as error:
            raise Unfinished(node, str(error), operation_id) from error
        except (NodeError, Unavailable) as error:
            raise as_failure(node, error) from error

    def _operation_id(self, rpc: str, what: str, arguments: Mapping[str, Any]) -> str:
        """Return the id of a change: of this row, of the action under way, and of what is asked.

        An action that was interrupted before anything was written down may go on for another definition.
        """
        said = json.dumps(arguments, sort_keys=True, default=repr).encode()
        # Others see ids: what is asked may hold a secret, and is not to be guessed from its digest.
        secret = "".join(key.get_secret_value() for key in self.settings.encryption_keys).encode()
        digest = hmac.new(secret or self.state.uuid.encode(), said, "sha256").hexdigest()[:12]
        state = self.state
        parts = (state.uuid, state.action.lower(), f"{state.started_at:.6f}", rpc, what, digest)
        return "/".join(part for part in parts if part)


class Unfinished(StillRunning):
    """A change was handed over and goes on; the same step, taken again, waits for its end."""

    def __init__(self, node: str, sentence: str, operation_id: str) -> None:
        super().__init__(node, sentence)
        self.args = (node, sentence, operation_id)
        self.operation_id = operation_id

    def wait(self, token: Mapping[str, Any]) -> Wait:
        """Return the answer of the step; which change is waited for stands in the token."""
        return Wait(_LOOK_AGAIN_SECONDS, token={**token, "operation": self.operation_id})


def caused_by(failure: ResourceFailure, kind: type[NodeError]) -> bool:
    """Whether a failure is what a node answered in this way."""
    return isinstance(failure.__cause__, kind)


def as_failure(node: str, error: NodeError | Unavailable) -> Exception:
    """Return what an error of the nodes' client means to the engine."""
    if isinstance(error, Unavailable):
        # The node may be sound; all that is known is that nobody can ask it.
        return NodeUnreachable(node, f"node {node!r} cannot be asked: {error}")
    if error.passing:
        return error
    told = str(error)
    sentence = told if node == LOCAL_NODE or repr(node) in told else f"node {node!r}: {told}"
    return (RetryableFailure if isinstance(error, RpcRetryable) else ResourceFailure)(sentence)
