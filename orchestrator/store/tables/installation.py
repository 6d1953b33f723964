"""The installation: processes, machines and reservations, event sinks, counters of caches."""

import sqlalchemy as sa

from orchestrator.store.tables.schema import Words, metadata

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

#: What is done now and then by one process for all.
chore = sa.Table(
    "chore",
    metadata,
    sa.Column("name", sa.Text, primary_key=True),
    #: When it was begun last.
    sa.Column("begun_at", sa.Double, nullable=False),
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
