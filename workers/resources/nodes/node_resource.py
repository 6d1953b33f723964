"""The base of objects on machines: the choice of the machine, reads of it, and changes carried out exactly once.

Nothing here touches a machine: its agent does, by RPCs. A machine that does not answer is never taken for an empty
one: the error (a ``NodeError`` that passes) goes through to the engine, which tries again.
"""

import hmac
import json
from collections.abc import Mapping
from typing import Any, ClassVar, Final

from cache.node_state.errors import NodeError, NodeUnreachable
from orchestrator.errors import Unavailable
from orchestrator.nodes.rpc.client import NodeClient
from orchestrator.nodes.rpc.errors import NoSuchRpc, NotOurs, RpcRetryable, StillRunning
from orchestrator.nodes.rpc.names import is_node_name
from orchestrator.nodes.rpc.requester import REQUESTER, Requester
from orchestrator.plugins.machine_requirements import LOCAL_NODE, NODE_DATA, MachineRequirements
from orchestrator.plugins.properties import Property
from orchestrator.plugins.resource import Resource
from orchestrator.plugins.steps import (
    CannotTell,
    PropertyChanges,
    ResourceFailure,
    RetryableFailure,
    Wait,
)
from workers.clients.nodes import NodesClient
from workers.resources.nodes.placing import PLACING_PROPERTIES, node_requirements, parse_labels

#: How long a step waits for the end of a change before it frees the worker and polls later.
PATIENCE_SECONDS: Final = 5.0
_LOOK_AGAIN_SECONDS: Final = 1.0
#: The token of a create that has just chosen its node; and of one whose choice is on record.
SETTLING: Final = {"stage": "settling"}
SETTLED: Final = {"stage": "settled"}
#: The lifecycle plugin that chooses nodes.
_PLACEMENT: Final = "placement"


class NodeResource(Resource):
    """Base of the types whose objects are on a machine."""

    properties_schema: ClassVar[Mapping[str, Property]] = PLACING_PROPERTIES

    @classmethod
    def validate(cls, properties: Mapping[str, Any]) -> None:
        """Refuse labels that are no text.

        Raises:
            PropertyError: with the path of the property at fault.
        """
        parse_labels(properties.get("node_labels"))

    @classmethod
    def machine_requirements(cls, properties: Mapping[str, Any]) -> MachineRequirements | None:
        """Return the requirements on the node."""
        return MachineRequirements(**node_requirements(properties))

    def needs_replace(self, changes: PropertyChanges) -> bool:
        """Return whether another node is required than its present one."""
        wanted = changes.after.get("node") if "node" in changes.names else None
        return bool(wanted) and wanted != self.state.on_node

    @property
    def node(self) -> str:
        """The node that it is on, or is to be on.

        Raises:
            ResourceFailure: none is chosen.
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
        recorded = self.state.data.get(NODE_DATA) if self.state.action == "ADOPT" else None
        # An adopt file may hold anything.
        if isinstance(recorded, str) and is_node_name(recorded):
            return recorded
        named = self.properties.get("node") or self.annotations.get(_PLACEMENT, {}).get("node")
        if named:
            return str(named)
        return LOCAL_NODE if self.settings.embedded else None

    @property
    def may_be_somewhere(self) -> bool:
        """Whether any object may have been made: its node is recorded before anything is made there."""
        return bool(self.state.on_node or self.state.physical_id) or self._chosen_node() == LOCAL_NODE

    def settle(self) -> bool:
        """Take the chosen node; return whether it is certainly on record only by the next step.

        Until it is, nothing may be made there: should this worker die, another node could be chosen.
        """
        new = self.state.on_node is None
        self.state.on_node = self.node
        if not self.settings.embedded:
            self.state.data[NODE_DATA] = self.state.on_node
        # In embedded mode, there is no choice.
        return new and not (self.settings.embedded and self.state.on_node == LOCAL_NODE)

    @property
    def node_seen(self) -> str:
        """The observed value of the property ``node``: empty where none was required.

        An object that is to be adopted is looked at before its node is on record.
        """
        return (self._chosen_node() or "") if self.properties.get("node") else ""

    def describe(self) -> Mapping[str, Any] | CannotTell | None:
        """Return what is observed, with a node only if the template gives one: the id of most objects has it."""
        seen = self.observe()
        return {**seen, "node": self.properties.get("node")} if isinstance(seen, Mapping) else seen

    @property
    def storage_units(self) -> tuple[str, ...]:
        """The storage units of the node.

        Raises:
            NodeUnreachable: it has no agent, or that is unknown.
        """
        node = self.node
        try:
            lease = self.nodes.leases().get(node)
        except Unavailable as error:
            raise as_failure(node, error) from error
        if lease is None:
            raise NodeUnreachable(node, f"node {node!r} is unreachable: no agent holds its lease")
        return tuple(sorted(lease.storage))

    @property
    def nodes(self) -> NodeClient:
        """The client of node RPCs."""
        client: Any = self.client(NodesClient.name)
        nodes: NodeClient = client.nodes
        return nodes

    def ask(self, rpc: str, **arguments: Any) -> Any:
        """Call a read RPC of the node.

        Raises:
            NodeError: it does not answer: nothing is known.
            RetryableFailure: it failed, and a retry may help.
            ResourceFailure: it refused, or it failed.
        """
        node = self.node
        try:
            return self.nodes.ask(node, rpc, **self._requester, **arguments)
        except (NodeError, Unavailable) as error:
            self._let_go_of(error)
            raise as_failure(node, error) from error

    def change(self, rpc: str, what: str = "", **arguments: Any) -> Any:
        """Have the node carry out a change of the present action, and return its result.

        A step that is run again, in any process, requests the same change by equal arguments; ``what`` distinguishes
        changes of one action with equal arguments.

        Raises:
            Unfinished: it is not over yet; request the same again.
            NodeError: the node does not answer: nothing is known.
            RetryableFailure: it failed, and a retry may help.
            ResourceFailure: it refused, or it failed.
        """
        node, operation_id = self.node, self._operation_id(rpc, what, arguments)
        try:
            return self.nodes.change(
                node,
                rpc,
                operation_id,
                wait_seconds=PATIENCE_SECONDS,
                **self._requester,
                **arguments,
            )
        except StillRunning as error:
            raise Unfinished(node, str(error), operation_id) from error
        except (NodeError, Unavailable) as error:
            self._let_go_of(error)
            raise as_failure(node, error) from error

    def take_over(self, kind: str, name: str) -> None:
        """Have the node record that an adopted object belongs to this resource from now on.

        Raises:
            ResourceFailure: it belongs to another project, or as of :meth:`change`.
        """
        try:
            self.change("object_take_over", kind=kind, name=name)
        except ResourceFailure as error:
            # An agent of an earlier version keeps no owners.
            if not caused_by(error, NoSuchRpc):
                raise

    @property
    def _requester(self) -> dict[str, Any]:
        """The argument with this resource, as an agent is to keep it with what it makes."""
        requester = Requester(
            project=self.stack.project,
            stack=self.stack.id,
            stack_name=self.stack.name,
            resource=self.name,
            uuid=self.state.uuid,
        )
        return {REQUESTER: requester.to_wire()}

    def _let_go_of(self, error: Exception) -> None:
        if isinstance(error, NotOurs) and self.state.action == "ADOPT":
            self.let_go()

    def let_go(self) -> None:
        """Forget the object that was to be adopted, since it belongs to others: no later step touches it."""
        self.state.physical_id = None

    def pending(self, token: Mapping[str, Any], rpc: str, **arguments: Any) -> Wait | None:
        """Have the node carry out a change, as :meth:`change` does; None: it is over.

        Else return the answer of the step, which is taken again with ``token``.
        """
        try:
            self.change(rpc, **arguments)
        except Unfinished as error:
            return error.wait(token)
        return None

    def _operation_id(self, rpc: str, what: str, arguments: Mapping[str, Any]) -> str:
        """Return the id of a change: of this row, its present action, and the arguments.

        An action that was interrupted before anything was recorded may continue with another definition.
        """
        packed = json.dumps(arguments, sort_keys=True, default=repr).encode()
        # Ids are visible to others: arguments may hold a secret, which must not be guessed from the digest.
        secret = "".join(key.get_secret_value() for key in self.settings.encryption_keys).encode()
        digest = hmac.new(secret or self.state.uuid.encode(), packed, "sha256").hexdigest()[:12]
        state = self.state
        parts = (state.uuid, state.action.lower(), f"{state.started_at:.6f}", rpc, what, digest)
        return "/".join(part for part in parts if part)


class Unfinished(StillRunning):
    """A change is under way; the same step, taken again, waits for its end."""

    def __init__(self, node: str, sentence: str, operation_id: str) -> None:
        super().__init__(node, sentence)
        self.args = (node, sentence, operation_id)
        self.operation_id = operation_id

    def wait(self, token: Mapping[str, Any]) -> Wait:
        """Return the answer of the step; the token records the change that is waited for."""
        return Wait(_LOOK_AGAIN_SECONDS, token={**token, "operation": self.operation_id})


def caused_by(failure: ResourceFailure, kind: type[NodeError]) -> bool:
    """Return whether a failure is a node's error of this kind."""
    return isinstance(failure.__cause__, kind)


def as_failure(node: str, error: NodeError | Unavailable) -> Exception:
    """Return the failure that a node client's error means to the engine."""
    if isinstance(error, Unavailable):
        # The machine may be sound; it only cannot be reached.
        return NodeUnreachable(node, f"node {node!r} cannot be asked: {error}")
    if error.passing:
        return error
    message = str(error)
    sentence = message if node == LOCAL_NODE or repr(node) in message else f"node {node!r}: {message}"
    return (RetryableFailure if isinstance(error, RpcRetryable) else ResourceFailure)(sentence)
