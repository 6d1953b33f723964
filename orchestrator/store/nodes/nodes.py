"""The node table's operations: claim a node, finish its step, count its dependents down, wake it, extend its lease.

Each operation is one short transaction. The attempt number is the fence: a finish under an old attempt changes
nothing, so a message may be delivered twice, late, or to a worker that was believed dead.
"""

from orchestrator.model.codec import Codec
from orchestrator.store.database import Database
from orchestrator.store.nodes.batches import NodeBatches
from orchestrator.store.nodes.claiming import NodeClaims
from orchestrator.store.nodes.endings import NodeEndings
from orchestrator.store.nodes.orders import NodeOrders
from orchestrator.store.nodes.runs import NodeRuns
from orchestrator.store.repository import Timings


class Nodes:
    """The operations of :class:`NodeClaims`, :class:`NodeEndings`, :class:`NodeBatches` and the others of this room."""

    def __init__(self, database: Database, codec: Codec, timings: Timings) -> None:
        orders = NodeOrders(database, codec, timings)
        endings = NodeEndings(database, codec, timings, orders)
        claims = NodeClaims(database, codec, timings)
        batches = NodeBatches(database, codec, timings, claims=claims, endings=endings, orders=orders)
        runs = NodeRuns(
            database, codec, timings, claims=claims, endings=endings, orders=orders, batches=batches
        )
        self.claim = claims.claim
        self.claim_batch = batches.claim
        self.finish_batch = batches.finish
        self.give_back = batches.give_back
        self.run_ahead = runs.ahead
        self.next_of_run = runs.next
        self.finish_run = runs.finish
        self.finish = endings.finish
        self.release_join = endings.release_join
        self.orders = orders.orders
        self.inputs = orders.inputs
        self.heartbeat = orders.heartbeat
        self.wake_resource = orders.wake_resource
        self.wake_dependents = orders.wake_dependents
