"""Traversals: their nodes, events and jobs, and the calls of lifecycle plugins."""

from collections.abc import Sequence

import sqlalchemy as sa

from orchestrator.store.tables.schema import metadata, partial_index

traversal = sa.Table(
    "traversal",
    metadata,
    sa.Column("id", sa.Text, primary_key=True),
    sa.Column("stack_id", sa.Text, nullable=False),
    sa.Column("action", sa.Text, nullable=False),
    sa.Column("status", sa.Text, nullable=False),
    sa.Column("reason", sa.Text, nullable=False, server_default=""),
    #: Flags of the operation, as JSON: a flag that travels in messages gets lost.
    sa.Column("options", sa.Text, nullable=False, server_default="{}"),
    #: What every check needs to know: the stack's names and its parameters.
    sa.Column("context", sa.LargeBinary, nullable=False),
    sa.Column("template_id", sa.Text, nullable=False),
    sa.Column("deadline", sa.Double, nullable=False),
    sa.Column("created_at", sa.Double, nullable=False),
    sa.Column("ended_at", sa.Double),
    #: How often what happened to resources in it, by the events that are not kept any more: {"CREATE_COMPLETE": 3} ...
    sa.Column("counted", sa.Text, nullable=False, server_default="{}"),
    sa.Index("ix_traversal_stack_id", "stack_id"),
    partial_index("ix_traversal_deadline", "deadline", where="status = 'IN_PROGRESS'"),
)

# The number leads the key, and a traversal as a whole is found by an index of another expression (see
# ``in_traversal``). So a statement that names nodes by their numbers has exactly one index that fits: no planner, with
# whatever statistics of the tables, can be tempted to walk a whole traversal for the sake of three nodes.
node = sa.Table(
    "node",
    metadata,
    sa.Column("no", sa.Integer, primary_key=True, autoincrement=False),
    sa.Column("traversal_id", sa.Text, primary_key=True),
    sa.Column("key", sa.Text, nullable=False),
    sa.Column("phase", sa.Text, nullable=False),
    sa.Column("resource_id", sa.Text),
    #: What is to be done to the resource: CREATE, DELETE ...
    sa.Column("action", sa.Text, nullable=False, server_default=""),
    sa.Column("state", sa.Text, nullable=False),
    #: How many requirements are not done yet.
    sa.Column("remaining", sa.Integer, nullable=False),
    #: Numbers of the nodes to count down when this one is done, as JSON, ascending.
    sa.Column("dependents", sa.Text, nullable=False, server_default="[]"),
    #: Numbers of the nodes whose data this one is given, as JSON, ascending.
    sa.Column("requirements", sa.Text, nullable=False, server_default="[]"),
    sa.Column("fragment", sa.LargeBinary),
    #: The attributes that others ask of this resource: a list of paths.
    sa.Column("wanted", sa.LargeBinary),
    sa.Column("node_data", sa.LargeBinary),
    #: ready: publish again then; waiting: look again then; running: the lease ends then.
    sa.Column("due_at", sa.Double),
    sa.Column("attempt", sa.Integer, nullable=False, server_default="0"),
    #: Retries used up.
    sa.Column("retries", sa.Integer, nullable=False, server_default="0"),
    #: How often the sweep has published it since it became ready.
    sa.Column("published", sa.Integer, nullable=False, server_default="0"),
    #: Since when it has been ready, or was last. Its message may wait in the queue all the time, and is not sent again.
    sa.Column("ready_at", sa.Double),
    #: Something it may wait for happened while it was running.
    sa.Column("woken", sa.Boolean, nullable=False, server_default=sa.false()),
    #: There is nothing to do unless something changes: a converge node whose definition is the one applied, a cleanup
    #: node whose row is wanted. Such a node is passed on like a join.
    sa.Column("quiet", sa.Boolean, nullable=False, server_default=sa.false()),
    #: Some requirement ended with other data than it had before.
    sa.Column("changed", sa.Boolean, nullable=False, server_default=sa.false()),
    #: The hooks at which it is still to stop, as JSON; NULL for none.
    sa.Column("hooks", sa.Text),
    #: The hook at which it stands, and since when: waiting before its action, or done but not counted down yet.
    sa.Column("hook", sa.Text),
    sa.Column("hook_at", sa.Double),
    #: The process that works on it, or did last.
    sa.Column("worker", sa.Text),
    sa.Index("ix_node_traversal", sa.text("(traversal_id || '')")),
    partial_index("ix_node_due_at", "due_at", where="due_at IS NOT NULL"),
    partial_index("ix_node_resource_id", "resource_id", where="resource_id IS NOT NULL"),
    # Few ever stand at a hook; whoever looks for them finds them here.
    partial_index("ix_node_hook", "traversal_id", where="hook IS NOT NULL"),
)


def in_traversal(traversal_id: str | sa.ColumnElement[str]) -> sa.ColumnElement[bool]:
    """Return the condition of being one of a traversal's nodes; the argument is a value or a column."""
    clause: sa.ColumnElement[bool] = node.c.traversal_id.op("||")(sa.literal_column("''")) == traversal_id
    return clause


def in_traversals(traversal_ids: Sequence[str]) -> sa.ColumnElement[bool]:
    """Return the condition of being a node of one of these traversals."""
    clause: sa.ColumnElement[bool] = node.c.traversal_id.op("||")(sa.literal_column("''")).in_(traversal_ids)
    return clause


event = sa.Table(
    "event",
    metadata,
    sa.Column("id", sa.BigInteger().with_variant(sa.Integer, "sqlite"), primary_key=True, autoincrement=True),
    sa.Column("at", sa.Double, nullable=False),
    sa.Column("stack_id", sa.Text, nullable=False),
    sa.Column("traversal_id", sa.Text, nullable=False),
    #: Empty for an event of the stack itself.
    sa.Column("resource", sa.Text, nullable=False, server_default=""),
    sa.Column("resource_id", sa.Text),
    sa.Column("type", sa.Text, nullable=False, server_default=""),
    sa.Column("action", sa.Text, nullable=False),
    sa.Column("status", sa.Text, nullable=False),
    sa.Column("reason", sa.Text, nullable=False, server_default=""),
    sa.Column("physical_id", sa.Text),
    #: Why it was written down where nothing changed its state: ``retry`` or ``lost``; empty: it did change.
    sa.Column("cause", sa.Text, nullable=False, server_default=""),
    #: The process whose attempt it tells of; empty where it tells of none.
    sa.Column("worker", sa.Text, nullable=False, server_default=""),
    sa.Index("ix_event_stack_id_id", "stack_id", "id"),
    sqlite_autoincrement=True,
)

#: A job that was taken from the queue, so that the same job delivered twice is done once and its sender can learn
#: what became of it.
job = sa.Table(
    "job",
    metadata,
    sa.Column("id", sa.Text, primary_key=True),
    sa.Column("stack_id", sa.Text),
    #: What was begun for it, or ended by it.
    sa.Column("traversal_id", sa.Text),
    #: accepted or refused.
    sa.Column("status", sa.Text, nullable=False),
    #: Why it was refused: {"kind": ..., "problems": [...]}, packed.
    sa.Column("refusal", sa.LargeBinary),
    sa.Column("created_at", sa.Double, nullable=False),
)

#: A job that a coordinator has taken, whether or not it came to anything yet.
taken_job = sa.Table(
    "taken_job",
    metadata,
    sa.Column("id", sa.Text, primary_key=True),
    sa.Column("taken_at", sa.Double, nullable=False),
)

#: An operation about which lifecycle plugins were asked. Its id is that of its traversal, once that has begun.
operation = sa.Table(
    "operation",
    metadata,
    sa.Column("id", sa.Text, primary_key=True),
    #: Why there is one: whoever comes again for the same reason goes on with the same operation.
    sa.Column("cause", sa.Text, nullable=False),
    sa.Column("stack_id", sa.Text, nullable=False),
    sa.Column("stack", sa.Text, nullable=False),
    sa.Column("project", sa.Text, nullable=False),
    #: As plugins are told: CREATE, ABANDON ...
    sa.Column("action", sa.Text, nullable=False),
    #: entering: plugins are being asked; under_way: it has begun; leaving: plugins are being told; over.
    sa.Column("state", sa.Text, nullable=False),
    #: complete, failed, superseded or refused, and why; empty until it is known.
    sa.Column("outcome", sa.Text, nullable=False, server_default=""),
    sa.Column("reason", sa.Text, nullable=False, server_default=""),
    #: The stack that was shown to plugins, packed; NULL where the store can tell it, and once it is over.
    sa.Column("shown", sa.LargeBinary),
    #: Who sees to it, until when, and how often somebody took it: whoever came later fences the one before.
    sa.Column("owner", sa.Text, nullable=False),
    sa.Column("leased_until", sa.Double),
    sa.Column("attempt", sa.Integer, nullable=False),
    sa.Column("created_at", sa.Double, nullable=False),
    sa.Column("ended_at", sa.Double),
    sa.Index("ix_operation_stack_id_created_at", "stack_id", "created_at"),
    partial_index("ux_operation_cause", "cause", unique=True, where="state = 'entering'"),
    # Few are not over at any time.
    partial_index("ix_operation_leased_until", "leased_until", where="leased_until IS NOT NULL"),
)

#: What one plugin was asked and told about an operation.
operation_call = sa.Table(
    "operation_call",
    metadata,
    sa.Column("operation_id", sa.Text, primary_key=True),
    #: In the order in which they were asked.
    sa.Column("position", sa.Integer, primary_key=True, autoincrement=False),
    sa.Column("plugin", sa.Text, nullable=False),
    #: asking, agreed, refused, late (it did not answer in time), telling, told.
    sa.Column("state", sa.Text, nullable=False),
    #: What it answered, packed.
    sa.Column("annotations", sa.LargeBinary),
    #: What it raised when it was told.
    sa.Column("error", sa.Text, nullable=False, server_default=""),
    #: How long it took to answer, and to be told, the last time.
    sa.Column("asked_seconds", sa.Double),
    sa.Column("told_seconds", sa.Double),
)
