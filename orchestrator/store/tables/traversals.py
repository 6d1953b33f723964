"""Traversals: their nodes, events and jobs, and the calls of lifecycle plugins."""

from collections.abc import Sequence

import sqlalchemy as sa

from orchestrator.config.caller import caller
from orchestrator.store.tables.schema import PartialIndex, Sentence, Words, metadata, user_column

traversal = sa.Table(
    "traversal",
    metadata,
    sa.Column("id", sa.Text, primary_key=True),
    sa.Column("stack_id", sa.Text, nullable=False),
    sa.Column("action", sa.Text, nullable=False),
    sa.Column("status", sa.Text, nullable=False),
    sa.Column("reason", Sentence, nullable=False, server_default=""),
    #: Flags of the operation, as JSON. They are stored, because messages may be lost.
    sa.Column("options", sa.Text, nullable=False, server_default="{}"),
    #: The data that every check needs: the stack's names and parameters.
    sa.Column("context", sa.LargeBinary, nullable=False),
    sa.Column("template_id", sa.Text, nullable=False),
    #: The names of the resources that it leaves otherwise than that template has them: an update with targets.
    sa.Column("left_out", Words, nullable=False, server_default="[]"),
    sa.Column("deadline", sa.Double, nullable=False),
    sa.Column("created_at", sa.Double, nullable=False),
    sa.Column("ended_at", sa.Double),
    #: The number of its purged events about resources, by action and status: {"CREATE_COMPLETE": 3}.
    sa.Column("counted", sa.Text, nullable=False, server_default="{}"),
    user_column(),
    #: Why the user began it, in the user's words; fills itself in, as the user does.
    sa.Column("comment", Sentence, nullable=False, server_default="", default=lambda: caller().comment),
    sa.Index("ix_traversal_stack_id", "stack_id"),
    PartialIndex("ix_traversal_deadline", "deadline", where="status = 'IN_PROGRESS'"),
)

# The number leads the key, and a traversal as a whole is found by an index of another expression (see
# ``in_traversal``). So exactly one index fits a statement that names nodes by their numbers, and no planner scans a
# whole traversal for three nodes, whatever its statistics.
node = sa.Table(
    "node",
    metadata,
    sa.Column("no", sa.Integer, primary_key=True, autoincrement=False),
    sa.Column("traversal_id", sa.Text, primary_key=True),
    sa.Column("key", sa.Text, nullable=False),
    sa.Column("phase", sa.Text, nullable=False),
    sa.Column("resource_id", sa.Text),
    #: The action on the resource: CREATE, DELETE ...
    sa.Column("action", sa.Text, nullable=False, server_default=""),
    sa.Column("state", sa.Text, nullable=False),
    #: The number of requirements that are not done yet.
    sa.Column("remaining", sa.Integer, nullable=False),
    #: Numbers of the nodes to count down when this one is done, as JSON, ascending.
    sa.Column("dependents", sa.Text, nullable=False, server_default="[]"),
    #: Numbers of the nodes whose node data this one receives, as JSON, ascending.
    sa.Column("requirements", sa.Text, nullable=False, server_default="[]"),
    #: For each of these, the attributes that this one receives, as paths; NULL for all of its node data.
    sa.Column("needs", sa.LargeBinary),
    sa.Column("fragment", sa.LargeBinary),
    #: The attributes of this resource that others refer to: a list of paths.
    sa.Column("wanted", sa.LargeBinary),
    sa.Column("node_data", sa.LargeBinary),
    #: When a ready node is published again, a waiting one is checked again, or a running one's lease ends.
    sa.Column("due_at", sa.Double),
    sa.Column("attempt", sa.Integer, nullable=False, server_default="0"),
    #: Retries used up.
    sa.Column("retries", sa.Integer, nullable=False, server_default="0"),
    #: How often its worker was lost in the middle of a step; with too many, the step is taken for the cause.
    sa.Column("lost", sa.Integer, nullable=False, server_default="0"),
    #: How often the sweep has published it since it became ready.
    sa.Column("published", sa.Integer, nullable=False, server_default="0"),
    #: Since when it has been ready, or was last ready; publishing again does not change it.
    sa.Column("ready_at", sa.Double),
    #: A wake-up arrived while it was running.
    sa.Column("woken", sa.Boolean, nullable=False, server_default=sa.false()),
    #: There is nothing to do unless a requirement changes: a converge node whose definition is applied already, or a
    #: cleanup node whose row is still wanted. Such a node is passed on like a join.
    sa.Column("quiet", sa.Boolean, nullable=False, server_default=sa.false()),
    #: A requirement ended with other node data than before.
    sa.Column("changed", sa.Boolean, nullable=False, server_default=sa.false()),
    #: The hooks at which it will still stop, as JSON; NULL for none.
    sa.Column("hooks", sa.Text),
    #: The hook at which it stands, and since when: waiting before its action, or done but not counted down yet.
    sa.Column("hook", sa.Text),
    sa.Column("hook_at", sa.Double),
    #: The process that works on it, or worked on it last.
    sa.Column("worker", sa.Text),
    sa.Index("ix_node_traversal", sa.text("(traversal_id || '')")),
    PartialIndex("ix_node_due_at", "due_at", where="due_at IS NOT NULL"),
    PartialIndex("ix_node_resource_id", "resource_id", where="resource_id IS NOT NULL"),
    # Few nodes ever stand at a hook.
    PartialIndex("ix_node_hook", "traversal_id", where="hook IS NOT NULL"),
)


def in_traversal(traversal_id: str | sa.ColumnElement[str]) -> sa.ColumnElement[bool]:
    """Return the condition that a node belongs to a traversal; the argument is a value or a column."""
    clause: sa.ColumnElement[bool] = node.c.traversal_id.op("||")(sa.literal_column("''")) == traversal_id
    return clause


def in_traversals(traversal_ids: Sequence[str]) -> sa.ColumnElement[bool]:
    """Return the condition that a node belongs to one of these traversals."""
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
    sa.Column("reason", Sentence, nullable=False, server_default=""),
    sa.Column("physical_id", sa.Text),
    #: Why it was recorded without a change of state: ``retry`` or ``lost``; empty if the state changed.
    sa.Column("cause", sa.Text, nullable=False, server_default=""),
    #: The process whose attempt it records; empty if it records no attempt.
    sa.Column("worker", sa.Text, nullable=False, server_default=""),
    user_column(),
    sa.Index("ix_event_stack_id_id", "stack_id", "id"),
    sqlite_autoincrement=True,
)

#: The results of jobs: a job that is delivered twice is done once, and its sender reads the result here.
job = sa.Table(
    "job",
    metadata,
    sa.Column("id", sa.Text, primary_key=True),
    sa.Column("stack_id", sa.Text),
    #: The traversal that it began or ended.
    sa.Column("traversal_id", sa.Text),
    #: accepted or refused.
    sa.Column("status", sa.Text, nullable=False),
    #: Why it was refused: {"kind": ..., "problems": [...]}, packed.
    sa.Column("refusal", sa.LargeBinary),
    sa.Column("created_at", sa.Double, nullable=False),
    user_column(),
)

#: Jobs that a coordinator has taken from the queue, with or without a result yet.
taken_job = sa.Table(
    "taken_job",
    metadata,
    sa.Column("id", sa.Text, primary_key=True),
    sa.Column("taken_at", sa.Double, nullable=False),
    sa.Index("ix_taken_job_taken_at", "taken_at"),
)

#: Jobs that wait to be begun, or are being begun.
waiting_job = sa.Table(
    "waiting_job",
    metadata,
    sa.Column("id", sa.Text, primary_key=True),
    sa.Column("project", sa.Text, nullable=False),
    #: The order of arrival within the project; two that arrived at once may have the same.
    sa.Column("no", sa.BigInteger, nullable=False),
    #: The task that carried it, and its fields, packed.
    sa.Column("task", sa.Text, nullable=False),
    sa.Column("job", sa.LargeBinary, nullable=False),
    #: Since when it may be begun, or until when a process holds it that begins it.
    sa.Column("due_at", sa.Double, nullable=False),
    #: How often a process began it and did not come to an end.
    sa.Column("attempts", sa.Integer, nullable=False, server_default="0"),
    sa.Index("ix_waiting_job_project_no", "project", "no"),
    sa.Index("ix_waiting_job_due_at", "due_at"),
)

#: When a job of each project was last taken to be begun; 0 for never.
project_turn = sa.Table(
    "project_turn",
    metadata,
    sa.Column("project", sa.Text, primary_key=True),
    sa.Column("taken_at", sa.Double, nullable=False),
)

#: The log lines of a step, with the names and ids by which they are found when its node is purged.
step_log = sa.Table(
    "step_log",
    metadata,
    sa.Column("traversal_id", sa.Text, primary_key=True),
    sa.Column("no", sa.Integer, primary_key=True, autoincrement=False),
    sa.Column("attempt", sa.Integer, primary_key=True, autoincrement=False),
    sa.Column("stack_id", sa.Text, nullable=False),
    sa.Column("resource", sa.Text, nullable=False),
    sa.Column("action", sa.Text, nullable=False),
    sa.Column("worker", sa.Text, nullable=False),
    #: When they were recorded, at the end of the step.
    sa.Column("at", sa.Double, nullable=False),
    sa.Column("number", sa.Integer, nullable=False),
    #: {"lines": [[at, level, message], ...], "left_out": ...}, packed.
    sa.Column("lines", sa.LargeBinary, nullable=False),
    sa.Index("ix_step_log_stack_id_resource_at", "stack_id", "resource", "at"),
    sa.Index("ix_step_log_at", "at"),
)

#: Operations with calls of lifecycle plugins. The id is that of the traversal, once that has begun.
operation = sa.Table(
    "operation",
    metadata,
    sa.Column("id", sa.Text, primary_key=True),
    #: The job or traversal that it is for: a coordinator that repeats the same cause continues the same operation.
    sa.Column("cause", sa.Text, nullable=False),
    sa.Column("stack_id", sa.Text, nullable=False),
    sa.Column("stack", sa.Text, nullable=False),
    sa.Column("project", sa.Text, nullable=False),
    #: The action that plugins see: CREATE, ABANDON ...
    sa.Column("action", sa.Text, nullable=False),
    #: entering (``pre_op`` calls), under_way, leaving (``post_op`` calls), or over.
    sa.Column("state", sa.Text, nullable=False),
    #: complete, failed, superseded or refused, and the reason; empty until the operation is over.
    sa.Column("outcome", sa.Text, nullable=False, server_default=""),
    sa.Column("reason", Sentence, nullable=False, server_default=""),
    #: The stack as plugins saw it, packed; NULL if it can be read from the store, and once the operation is over.
    sa.Column("shown", sa.LargeBinary),
    #: The coordinator that holds it, until when, and how often it was taken over: the attempt fences earlier holders.
    sa.Column("owner", sa.Text, nullable=False),
    sa.Column("leased_until", sa.Double),
    sa.Column("attempt", sa.Integer, nullable=False),
    sa.Column("created_at", sa.Double, nullable=False),
    sa.Column("ended_at", sa.Double),
    user_column(),
    sa.Index("ix_operation_stack_id_created_at", "stack_id", "created_at"),
    PartialIndex("ux_operation_cause", "cause", unique=True, where="state = 'entering'"),
    # At any time few operations are leased.
    PartialIndex("ix_operation_leased_until", "leased_until", where="leased_until IS NOT NULL"),
)

#: The calls of one lifecycle plugin about an operation.
operation_call = sa.Table(
    "operation_call",
    metadata,
    sa.Column("operation_id", sa.Text, primary_key=True),
    #: The place of the plugin in the order of the ``pre_op`` calls.
    sa.Column("position", sa.Integer, primary_key=True, autoincrement=False),
    sa.Column("plugin", sa.Text, nullable=False),
    #: asking, agreed, refused or late (timed out) in ``pre_op``; telling or told in ``post_op``.
    sa.Column("state", sa.Text, nullable=False),
    #: The annotations that ``pre_op`` returned, packed.
    sa.Column("annotations", sa.LargeBinary),
    #: The error that ``post_op`` raised.
    sa.Column("error", Sentence, nullable=False, server_default=""),
    #: How long the last ``pre_op`` and ``post_op`` took.
    sa.Column("asked_seconds", sa.Double),
    sa.Column("told_seconds", sa.Double),
    #: How many calls of ``pre_op`` and of ``post_op`` were lost, with their process: a call that ends it is not made
    #: for ever.
    sa.Column("asked_lost", sa.Integer, nullable=False, server_default="0"),
    sa.Column("told_lost", sa.Integer, nullable=False, server_default="0"),
)
