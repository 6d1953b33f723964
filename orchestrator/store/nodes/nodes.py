"""The sync points: claim a node, finish its step, count its dependents down, wake, extend leases.

Each operation is one short transaction. The attempt number is the fence: whoever finishes under an old attempt
changes nothing, so a message may come twice, late, or to a worker believed dead.
"""

from orchestrator.store.nodes.claiming import NodeClaims
from orchestrator.store.nodes.endings import NodeEndings


class Nodes(NodeClaims, NodeEndings):
    """The node table's operations."""
