"""The tables. Times are seconds since the epoch by the database's clock; ids are UUIDs as text.

Bytes are packed by the codec (msgpack, encrypted where a key is configured), so no value of a stack is readable in
the database by accident.
"""

import json
from collections.abc import Sequence
from typing import Any

import sqlalchemy as sa


class Words(sa.types.TypeDecorator[tuple[str, ...]]):
    """Words in their order, kept as JSON."""

    impl = sa.Text
    cache_ok = True

    def process_bind_param(self, value: Sequence[str] | None, dialect: Any) -> str | None:  # noqa: ARG002  # all do
        """Return what is kept."""
        return None if value is None else json.dumps(list(value))

    def process_result_value(self, value: str | None, dialect: Any) -> tuple[str, ...]:  # noqa: ARG002  # as above
        """Return what was kept."""
        return () if value is None else tuple(json.loads(value))


metadata = sa.MetaData(
    naming_convention={
        "pk": "pk_%(table_name)s",
        "ix": "ix_%(table_name)s_%(column_0_N_name)s",
        "fk": "fk_%(table_name)s_%(column_0_name)s",
    }
)

stack = sa.Table(
    "stack",
    metadata,
    sa.Column("id", sa.Text, primary_key=True),
    sa.Column("name", sa.Text, nullable=False),
    sa.Column("project", sa.Text, nullable=False),
    sa.Column("parent_id", sa.Text),
    #: The id of the parent's row that this stack is.
    sa.Column("parent_resource", sa.Text),
    #: The outermost of the stacks that this one is in; its own id if it is in none.
    sa.Column("root_id", sa.Text, nullable=False, server_default=""),
    #: How many stacks it is in.
    sa.Column("depth", sa.Integer, nullable=False, server_default="0"),
    sa.Column("action", sa.Text, nullable=False),
    sa.Column("status", sa.Text, nullable=False),
    sa.Column("reason", sa.Text, nullable=False, server_default=""),
    #: The traversal in force.
    sa.Column("traversal_id", sa.Text, nullable=False),
    sa.Column("template_id", sa.Text, nullable=False),
    #: The last template that completed: where a rollback goes.
    sa.Column("completed_template_id", sa.Text),
    sa.Column("in_service", sa.Boolean, nullable=False, server_default=sa.false()),
    #: The last traversal that gave it a definition: its nodes know which rows are left over.
    sa.Column("defining_traversal_id", sa.Text),
    sa.Column("timeout_minutes", sa.Double, nullable=False),
    #: Words that people put on it, in their order.
    sa.Column("tags", Words, nullable=False, server_default="[]"),
    #: Whether the last definition that was given was to be rolled back if it failed.
    sa.Column("rollback", sa.Boolean, nullable=False, server_default=sa.false()),
    sa.Column("created_at", sa.Double, nullable=False),
    sa.Column("updated_at", sa.Double, nullable=False),
    sa.Column("deleted_at", sa.Double),
    # A name is free again once its stack is deleted; a child stack's name belongs to its parent.
    sa.Index(
        "ux_stack_name",
        "project",
        "name",
        unique=True,
        sqlite_where=sa.text("deleted_at IS NULL"),
        postgresql_where=sa.text("deleted_at IS NULL"),
    ),
    # Deleted ones are found by name too, and by when they were deleted.
    sa.Index("ix_stack_project_name_deleted_at", "project", "name", "deleted_at"),
    sa.Index(
        "ix_stack_deleted_at",
        "deleted_at",
        sqlite_where=sa.text("deleted_at IS NOT NULL"),
        postgresql_where=sa.text("deleted_at IS NOT NULL"),
    ),
    sa.Index("ix_stack_parent_id", "parent_id"),
    sa.Index("ix_stack_traversal_id", "traversal_id"),
    sa.Index("ix_stack_root_id", "root_id"),
)

#: A file's content, under the SHA-256 of it.
file = sa.Table(
    "file",
    metadata,
    sa.Column("id", sa.Text, primary_key=True),
    sa.Column("content", sa.LargeBinary, nullable=False),
    #: When it was last saved: whoever saved it may be about to refer to it.
    sa.Column("saved_at", sa.Double, nullable=False, server_default="0"),
)

#: A template with its environment, parameters and files (by digest), under the SHA-256 of all of it.
template = sa.Table(
    "template",
    metadata,
    sa.Column("id", sa.Text, primary_key=True),
    sa.Column("body", sa.LargeBinary, nullable=False),
    #: As of a file.
    sa.Column("saved_at", sa.Double, nullable=False, server_default="0"),
)

resource = sa.Table(
    "resource",
    metadata,
    sa.Column("id", sa.Text, primary_key=True),
    sa.Column("stack_id", sa.Text, nullable=False),
    sa.Column("name", sa.Text, nullable=False),
    sa.Column("type", sa.Text, nullable=False),
    sa.Column("action", sa.Text, nullable=False, server_default="INIT"),
    sa.Column("status", sa.Text, nullable=False, server_default="COMPLETE"),
    sa.Column("reason", sa.Text, nullable=False, server_default=""),
    sa.Column("physical_id", sa.Text),
    #: The node that it is on; NULL for what is on none.
    sa.Column("on_node", sa.Text),
    #: What get_resource resolves to; packed, for it may be a secret (``OS::Heat::RandomString``).
    sa.Column("reference_id", sa.LargeBinary),
    #: The properties last applied, and the SHA-256 of the definition they came from.
    sa.Column("properties", sa.LargeBinary),
    sa.Column("definition_hash", sa.Text),
    #: Attributes that others or outputs ask for: [[path, value], ...].
    sa.Column("attributes", sa.LargeBinary),
    #: Ids of the rows this one depends on, as JSON: the order of the next deletion.
    sa.Column("requires", sa.Text, nullable=False, server_default="[]"),
    sa.Column("replaces", sa.Text),
    sa.Column("replaced_by", sa.Text),
    sa.Column("metadata", sa.LargeBinary),
    #: The SHA-256 of the metadata that the template gave last, whatever signals made of them since.
    sa.Column("metadata_hash", sa.Text),
    #: Raised by every signal and every step, so that no signal writes over what it has not seen.
    sa.Column("metadata_version", sa.Integer, nullable=False, server_default="0"),
    #: A plugin's private facts.
    sa.Column("data", sa.LargeBinary),
    #: What the action under way left behind for its next step.
    sa.Column("token", sa.LargeBinary),
    #: The template whose definition was last applied or is being applied.
    sa.Column("template_id", sa.Text, nullable=False),
    #: When the action under way was first claimed.
    sa.Column("started_at", sa.Double, nullable=False, server_default="0"),
    #: Somebody said so: the next update replaces it, whatever it looks like.
    sa.Column("unhealthy", sa.Boolean, nullable=False, server_default=sa.false()),
    #: The node with the definition that it is to have, or was to have before nobody wanted it any more.
    sa.Column("planned_traversal", sa.Text),
    sa.Column("planned_no", sa.Integer),
    #: The node with the definition that was last applied to its end.
    sa.Column("applied_traversal", sa.Text),
    sa.Column("applied_no", sa.Integer),
    sa.Column("lock_traversal", sa.Text),
    sa.Column("lock_no", sa.Integer),
    sa.Column("lock_attempt", sa.Integer),
    sa.Column("created_at", sa.Double, nullable=False),
    sa.Column("updated_at", sa.Double, nullable=False),
    sa.Index("ix_resource_stack_id_name", "stack_id", "name"),
    # Most resources are on none.
    sa.Index(
        "ix_resource_on_node",
        "on_node",
        sqlite_where=sa.text("on_node IS NOT NULL"),
        postgresql_where=sa.text("on_node IS NOT NULL"),
    ),
)

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
    sa.Index(
        "ix_traversal_deadline",
        "deadline",
        sqlite_where=sa.text("status = 'IN_PROGRESS'"),
        postgresql_where=sa.text("status = 'IN_PROGRESS'"),
    ),
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
    sa.Index(
        "ix_node_due_at",
        "due_at",
        sqlite_where=sa.text("due_at IS NOT NULL"),
        postgresql_where=sa.text("due_at IS NOT NULL"),
    ),
    sa.Index(
        "ix_node_resource_id",
        "resource_id",
        sqlite_where=sa.text("resource_id IS NOT NULL"),
        postgresql_where=sa.text("resource_id IS NOT NULL"),
    ),
    # Few ever stand at a hook; whoever looks for them finds them here.
    sa.Index(
        "ix_node_hook",
        "traversal_id",
        sqlite_where=sa.text("hook IS NOT NULL"),
        postgresql_where=sa.text("hook IS NOT NULL"),
    ),
)


def in_traversal(traversal_id: Any) -> sa.ColumnElement[bool]:
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

#: The processes of the engine: each says now and then that it is there.
process = sa.Table(
    "process",
    metadata,
    #: As leases name it: no other process ever has the same.
    sa.Column("name", sa.Text, primary_key=True),
    #: worker, coordinator or embedded.
    sa.Column("kind", sa.Text, nullable=False),
    sa.Column("host", sa.Text, nullable=False),
    sa.Column("pid", sa.Integer, nullable=False),
    #: What Celery's tools call the worker that it belongs to; empty where there is none.
    sa.Column("celery_name", sa.Text, nullable=False, server_default=""),
    sa.Column("version", sa.Text, nullable=False, server_default=""),
    #: The queues that it takes messages from.
    sa.Column("queues", Words, nullable=False, server_default="[]"),
    sa.Column("started_at", sa.Double, nullable=False),
    sa.Column("seen_at", sa.Double, nullable=False),
    #: When it said that it ends.
    sa.Column("stopped_at", sa.Double),
    sa.Index("ix_process_seen_at", "seen_at"),
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

snapshot = sa.Table(
    "snapshot",
    metadata,
    sa.Column("id", sa.Text, primary_key=True),
    sa.Column("stack_id", sa.Text, nullable=False),
    sa.Column("name", sa.Text, nullable=False, server_default=""),
    sa.Column("action", sa.Text, nullable=False),
    sa.Column("status", sa.Text, nullable=False),
    sa.Column("reason", sa.Text, nullable=False, server_default=""),
    #: The definition that the stack had.
    sa.Column("template_id", sa.Text, nullable=False),
    #: The traversal that makes it.
    sa.Column("traversal_id", sa.Text, nullable=False),
    sa.Column("created_at", sa.Double, nullable=False),
    sa.Index("ix_snapshot_stack_id", "stack_id"),
)

#: What a snapshot holds of each resource.
snapshot_resource = sa.Table(
    "snapshot_resource",
    metadata,
    sa.Column("snapshot_id", sa.Text, primary_key=True),
    sa.Column("name", sa.Text, primary_key=True),
    sa.Column("type", sa.Text, nullable=False),
    #: What its type left behind, packed.
    sa.Column("entry", sa.LargeBinary, nullable=False),
)

#: The machines that agents have spoken for, whether they do now or not.
machine = sa.Table(
    "machine",
    metadata,
    #: The node's name.
    sa.Column("name", sa.Text, primary_key=True),
    #: What its agent said last, as JSON: labels, hypervisors, storage units, totals and what is reserved of them.
    sa.Column("said", sa.Text, nullable=False),
    sa.Column("incarnation", sa.Text, nullable=False),
    sa.Column("boot_id", sa.Text, nullable=False),
    sa.Column("seen_at", sa.Double, nullable=False),
    #: When a coordinator looked after it last.
    sa.Column("watched_at", sa.Double, nullable=False, server_default="0"),
    #: Since when nothing is placed on it any more, and why; NULL: it is in use.
    sa.Column("drained_at", sa.Double),
    sa.Column("drain_reason", sa.Text, nullable=False, server_default=""),
    sa.Column("created_at", sa.Double, nullable=False),
)

#: What of a node's capacity is promised to whom: one row for each kind of amount.
reservation = sa.Table(
    "reservation",
    metadata,
    sa.Column("stack_id", sa.Text, primary_key=True),
    #: The resource's name.
    sa.Column("resource", sa.Text, primary_key=True),
    sa.Column("node", sa.Text, primary_key=True),
    #: memory_mib, vcpus, or disk:UNIT in MiB; of nothing in amount, presence (of all that are on the node) and
    #: group:STACK:NAME (of members of placement groups).
    sa.Column("kind", sa.Text, primary_key=True),
    #: The operation that claimed it, and that may still give it up; empty once the resource is there.
    sa.Column("operation_id", sa.Text, primary_key=True),
    sa.Column("amount", sa.BigInteger, nullable=False),
    #: A claim that nobody confirmed by then is void; NULL once the resource is there.
    sa.Column("expires_at", sa.Double),
    sa.Column("created_at", sa.Double, nullable=False),
    sa.Index("ix_reservation_node", "node"),
    sa.Index("ix_reservation_operation_id", "operation_id"),
)

#: What all processes counted together of remembering nodes' states, by what was counted.
node_counter = sa.Table(
    "node_counter",
    metadata,
    #: As in ``orchestrator.nodes.statistics``.
    sa.Column("name", sa.Text, primary_key=True),
    #: When counting began.
    sa.Column("since", sa.Double, nullable=False),
    sa.Column("amount", sa.Double, nullable=False),
)

#: What is done now and then by one process for all.
chore = sa.Table(
    "chore",
    metadata,
    sa.Column("name", sa.Text, primary_key=True),
    #: When it was begun last.
    sa.Column("begun_at", sa.Double, nullable=False),
)

#: What the constraint caches of all processes counted together, by client plugin.
cache_counter = sa.Table(
    "cache_counter",
    metadata,
    sa.Column("client", sa.Text, primary_key=True),
    #: When counting began.
    sa.Column("since", sa.Double, nullable=False),
    #: As in ``cache.constraints.counters.Counts``.
    sa.Column("hits", sa.BigInteger, nullable=False),
    sa.Column("misses", sa.BigInteger, nullable=False),
    sa.Column("generated", sa.BigInteger, nullable=False),
    sa.Column("refused", sa.BigInteger, nullable=False),
    sa.Column("errors", sa.BigInteger, nullable=False),
    sa.Column("garbage", sa.BigInteger, nullable=False),
    sa.Column("evicted", sa.BigInteger, nullable=False, server_default="0"),
)

#: Which constraint caches were flushed: the processes that keep answers in their own memory look here.
cache_flush = sa.Table(
    "cache_flush",
    metadata,
    sa.Column("client", sa.Text, primary_key=True),
    #: When it was flushed last.
    sa.Column("flushed_at", sa.Double, nullable=False),
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
    sa.Index(
        "ux_operation_cause",
        "cause",
        unique=True,
        sqlite_where=sa.text("state = 'entering'"),
        postgresql_where=sa.text("state = 'entering'"),
    ),
    # Few are not over at any time.
    sa.Index(
        "ix_operation_leased_until",
        "leased_until",
        sqlite_where=sa.text("leased_until IS NOT NULL"),
        postgresql_where=sa.text("leased_until IS NOT NULL"),
    ),
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

#: What lifecycle plugins said last of a stack's resources, by the resource's name; of the stack itself under "".
annotation = sa.Table(
    "annotation",
    metadata,
    sa.Column("stack_id", sa.Text, primary_key=True),
    sa.Column("plugin", sa.Text, primary_key=True),
    sa.Column("resource", sa.Text, primary_key=True),
    sa.Column("value", sa.LargeBinary, nullable=False),
    # Asked for by stack and resource, whatever the plugin.
    sa.Index("ix_annotation_stack_id_resource", "stack_id", "resource"),
)

#: How far each event sink has been told.
sink_cursor = sa.Table(
    "sink_cursor",
    metadata,
    #: The sink's name; of a sink that an environment names, the stack's id, a colon and the entry's number.
    sa.Column("name", sa.Text, primary_key=True),
    #: Of a sink that an environment names: the stack that it is told of, its type, and its options, packed.
    sa.Column("stack_id", sa.Text),
    sa.Column("type", sa.Text, nullable=False),
    sa.Column("options", sa.LargeBinary),
    #: The id of the last event that it was told.
    sa.Column("position", sa.BigInteger, nullable=False),
    #: Of one that the environment names no more: the id of the last event that it is to be told, and since when.
    sa.Column("until", sa.BigInteger),
    sa.Column("left_at", sa.Double),
    #: What it saved with that, packed.
    sa.Column("state", sa.LargeBinary),
    #: How many events were removed before it was told.
    sa.Column("lost", sa.BigInteger, nullable=False, server_default="0"),
    #: Since when it fails, how often it did since, and what it said last.
    sa.Column("failing_since", sa.Double),
    sa.Column("failures", sa.Integer, nullable=False, server_default="0"),
    sa.Column("error", sa.Text, nullable=False, server_default=""),
    #: Not tried again before that.
    sa.Column("due_at", sa.Double, nullable=False, server_default="0"),
    #: Which process tells it, until when, and how often some process took it.
    sa.Column("owner", sa.Text),
    sa.Column("leased_until", sa.Double),
    sa.Column("attempt", sa.Integer, nullable=False, server_default="0"),
    sa.Column("created_at", sa.Double, nullable=False),
    sa.Index("ix_sink_cursor_stack_id", "stack_id"),
)
