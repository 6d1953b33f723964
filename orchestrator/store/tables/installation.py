"""The installation: processes, machines and reservations, event sinks, counters of caches, software of projects."""

import sqlalchemy as sa

from orchestrator.store.tables.schema import Sentence, Words, metadata

#: The installation itself: one row.
identity = sa.Table(
    "identity",
    metadata,
    sa.Column("one", sa.Integer, primary_key=True, autoincrement=False),
    sa.Column("id", sa.Text, nullable=False),
    #: When everything was first found to be encrypted with the newest key and bound to its row: since then, no value in
    #: an earlier form is read.
    sa.Column("reencrypted_at", sa.Double),
)

#: The processes of the engine, each of which refreshes its row regularly.
process = sa.Table(
    "process",
    metadata,
    #: The unique name of the process, as in leases.
    sa.Column("name", sa.Text, primary_key=True),
    #: worker, coordinator, embedded or api.
    sa.Column("kind", sa.Text, nullable=False),
    sa.Column("host", sa.Text, nullable=False),
    sa.Column("pid", sa.Integer, nullable=False),
    #: The name of its Celery worker in Celery's tools; empty for none.
    sa.Column("celery_name", sa.Text, nullable=False, server_default=""),
    sa.Column("version", sa.Text, nullable=False, server_default=""),
    #: The queues that it takes messages from.
    sa.Column("queues", Words, nullable=False, server_default="[]"),
    sa.Column("started_at", sa.Double, nullable=False),
    sa.Column("seen_at", sa.Double, nullable=False),
    #: When it ended in good order.
    sa.Column("stopped_at", sa.Double),
    #: Of the API: where it is reached, and its last errors, without values.
    sa.Column("address", sa.Text, nullable=False, server_default=""),
    sa.Column("errors", Words, nullable=False, server_default="[]"),
    sa.Index("ix_process_seen_at", "seen_at"),
)

#: Periodic work that one process does for all.
chore = sa.Table(
    "chore",
    metadata,
    sa.Column("name", sa.Text, primary_key=True),
    #: When it was begun last.
    sa.Column("begun_at", sa.Double, nullable=False),
)

#: The machines whose agents have ever reported.
machine = sa.Table(
    "machine",
    metadata,
    #: The machine's name.
    sa.Column("name", sa.Text, primary_key=True),
    #: The last report of its agent, as JSON: labels, hypervisors, storage units, totals and reserved amounts.
    sa.Column("said", sa.Text, nullable=False),
    sa.Column("incarnation", sa.Text, nullable=False),
    sa.Column("boot_id", sa.Text, nullable=False),
    sa.Column("seen_at", sa.Double, nullable=False),
    #: When a coordinator last watched it.
    sa.Column("watched_at", sa.Double, nullable=False, server_default="0"),
    #: Since when it is drained (nothing is placed on it), and why; NULL if it is in use.
    sa.Column("drained_at", sa.Double),
    sa.Column("drain_reason", Sentence, nullable=False, server_default=""),
    sa.Column("created_at", sa.Double, nullable=False),
)

#: Capacity reservations of machines: one row for each resource, machine and kind of amount.
reservation = sa.Table(
    "reservation",
    metadata,
    sa.Column("stack_id", sa.Text, primary_key=True),
    #: The resource's name.
    sa.Column("resource", sa.Text, primary_key=True),
    sa.Column("node", sa.Text, primary_key=True),
    #: memory_mib, vcpus, or disk:UNIT in MiB; with an amount of 0, presence (for every resource on the machine) and
    #: group:STACK:NAME (for members of placement groups).
    sa.Column("kind", sa.Text, primary_key=True),
    #: The operation that reserved it and may still release it; empty once the resource exists.
    sa.Column("operation_id", sa.Text, primary_key=True),
    sa.Column("amount", sa.BigInteger, nullable=False),
    #: When it lapses unless it is confirmed; NULL once the resource exists.
    sa.Column("expires_at", sa.Double),
    sa.Column("created_at", sa.Double, nullable=False),
    sa.Index("ix_reservation_node", "node"),
    sa.Index("ix_reservation_operation_id", "operation_id"),
)

#: The machine-state cache counters of all processes together, by the counter's name.
node_counter = sa.Table(
    "node_counter",
    metadata,
    #: As in ``orchestrator.nodes.statistics``.
    sa.Column("name", sa.Text, primary_key=True),
    #: When counting began.
    sa.Column("since", sa.Double, nullable=False),
    sa.Column("amount", sa.Double, nullable=False),
)

#: The constraint cache counters of all processes together, by client plugin.
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

#: Flushes of constraint caches, for the processes that keep answers in their own memory.
cache_flush = sa.Table(
    "cache_flush",
    metadata,
    sa.Column("client", sa.Text, primary_key=True),
    #: When it was flushed last.
    sa.Column("flushed_at", sa.Double, nullable=False),
)

#: The position of each event sink in the events.
sink_cursor = sa.Table(
    "sink_cursor",
    metadata,
    #: The sink's name; for a sink of an environment, the stack's id, a colon and the entry's number.
    sa.Column("name", sa.Text, primary_key=True),
    #: For a sink of an environment: the stack whose events it receives, its type, and its options, packed.
    sa.Column("stack_id", sa.Text),
    sa.Column("type", sa.Text, nullable=False),
    sa.Column("options", sa.LargeBinary),
    #: The id of the last event that it received.
    sa.Column("position", sa.BigInteger, nullable=False),
    #: For a sink removed from the environment: the id of the last event that it still receives, and since when.
    sa.Column("until", sa.BigInteger),
    sa.Column("left_at", sa.Double),
    #: The state that it saved with its position, packed.
    sa.Column("state", sa.LargeBinary),
    #: How many events were removed before it received them.
    sa.Column("lost", sa.BigInteger, nullable=False, server_default="0"),
    #: Since when it fails, how often it has failed since, and its last error.
    sa.Column("failing_since", sa.Double),
    sa.Column("failures", sa.Integer, nullable=False, server_default="0"),
    sa.Column("error", Sentence, nullable=False, server_default=""),
    #: It is not called again before this time.
    sa.Column("due_at", sa.Double, nullable=False, server_default="0"),
    #: The process that delivers to it, until when, and how often it was taken over.
    sa.Column("owner", sa.Text),
    sa.Column("leased_until", sa.Double),
    sa.Column("attempt", sa.Integer, nullable=False, server_default="0"),
    sa.Column("created_at", sa.Double, nullable=False),
    sa.Index("ix_sink_cursor_stack_id", "stack_id"),
)

#: The newest messages that processes refused, without their content.
refused_message = sa.Table(
    "refused_message",
    metadata,
    sa.Column("no", sa.BigInteger().with_variant(sa.Integer, "sqlite"), primary_key=True, autoincrement=True),
    #: By the clock of the process that refused it.
    sa.Column("received_at", sa.Double, nullable=False),
    #: The queue or the mailbox, why, and in a sentence.
    sa.Column("place", sa.Text, nullable=False),
    sa.Column("reason", sa.Text, nullable=False),
    sa.Column("sentence", Sentence, nullable=False),
    #: What the message said of itself, unproven.
    sa.Column("task", sa.Text, nullable=False),
    sa.Column("message_id", sa.Text, nullable=False),
    sa.Column("size_bytes", sa.BigInteger, nullable=False),
    #: SHA-256 of its body.
    sa.Column("digest", sa.Text, nullable=False),
    sqlite_autoincrement=True,
)

#: How many messages were refused, by place and reason.
refused_count = sa.Table(
    "refused_count",
    metadata,
    sa.Column("place", sa.Text, primary_key=True),
    sa.Column("reason", sa.Text, primary_key=True),
    sa.Column("amount", sa.BigInteger, nullable=False),
    sa.Column("last_at", sa.Double, nullable=False),
)

#: The audit log. Nothing changes or removes a record; triggers refuse it.
audit_record = sa.Table(
    "audit_record",
    metadata,
    #: From 1, without a gap.
    sa.Column("seq", sa.BigInteger, primary_key=True, autoincrement=False),
    sa.Column("at", sa.Double, nullable=False),
    #: As in ``orchestrator.model.audit.AuditEntry``.
    sa.Column("user_name", sa.Text, nullable=False),
    sa.Column("project", sa.Text, nullable=False),
    sa.Column("action", sa.Text, nullable=False),
    sa.Column("target", sa.Text, nullable=False),
    sa.Column("origin", sa.Text, nullable=False),
    sa.Column("outcome", sa.Text, nullable=False),
    sa.Column("detail", sa.Text, nullable=False),
    #: SHA-256 of the hash before it and its own content.
    sa.Column("hash", sa.Text, nullable=False),
)

#: Limits of projects that differ from those of the settings.
project_limit = sa.Table(
    "project_limit",
    metadata,
    sa.Column("project", sa.Text, primary_key=True),
    #: As in ``orchestrator.model.project_limits``.
    sa.Column("name", sa.Text, primary_key=True),
    #: NULL for any number.
    sa.Column("most", sa.Double),
)

#: How long the evaluations of each project's jobs took in one minute, the last in which there were any.
project_evaluation = sa.Table(
    "project_evaluation",
    metadata,
    sa.Column("project", sa.Text, primary_key=True),
    #: Since the epoch.
    sa.Column("minute", sa.BigInteger, nullable=False),
    sa.Column("seconds", sa.Double, nullable=False),
)

#: Credentials that callers have delegated, by which stacks act in other systems.
delegated_credential = sa.Table(
    "delegated_credential",
    metadata,
    sa.Column("id", sa.Text, primary_key=True),
    sa.Column("project", sa.Text, nullable=False),
    #: The client plugin that acts by it.
    sa.Column("client", sa.Text, nullable=False),
    #: The root stack whose resources act by it; NULL before it begins.
    sa.Column("stack_id", sa.Text),
    #: Options of the client plugin, packed.
    sa.Column("options", sa.LargeBinary, nullable=False),
    sa.Column("created_at", sa.Double, nullable=False),
    sa.Index("ix_delegated_credential_stack_id", "stack_id"),
)

#: Software configs, which never change.
software_config = sa.Table(
    "software_config",
    metadata,
    sa.Column("id", sa.Text, primary_key=True),
    sa.Column("project", sa.Text, nullable=False),
    sa.Column("name", sa.Text, nullable=False),
    #: The group: which kind of tool applies it.
    sa.Column("tool", sa.Text, nullable=False),
    #: The text or map itself, its inputs, outputs and options, packed.
    sa.Column("definition", sa.LargeBinary, nullable=False),
    sa.Column("created_at", sa.Double, nullable=False),
    #: The row of the resource that made it; null for one that is made through the API.
    sa.Column("resource_id", sa.Text),
    sa.Index("ix_software_config_project_created_at", "project", "created_at"),
    sa.Index("ix_software_config_resource_id", "resource_id"),
)

#: Software deployments: which config applies to which server.
software_deployment = sa.Table(
    "software_deployment",
    metadata,
    sa.Column("id", sa.Text, primary_key=True),
    sa.Column("project", sa.Text, nullable=False),
    #: A config of the same project.
    sa.Column("config_id", sa.Text, nullable=False),
    #: Any name of a server: it need not be one of a stack.
    sa.Column("server_id", sa.Text, nullable=False),
    sa.Column("action", sa.Text, nullable=False, server_default=""),
    sa.Column("status", sa.Text, nullable=False, server_default=""),
    sa.Column("status_reason", Sentence, nullable=False, server_default=""),
    #: Values by the names of inputs and outputs, packed.
    sa.Column("input_values", sa.LargeBinary, nullable=False),
    sa.Column("output_values", sa.LargeBinary, nullable=False),
    sa.Column("stack_user_project_id", sa.Text, nullable=False, server_default=""),
    sa.Column("created_at", sa.Double, nullable=False),
    sa.Column("updated_at", sa.Double),
    #: As for configs.
    sa.Column("resource_id", sa.Text),
    sa.Index("ix_software_deployment_project_server_id", "project", "server_id"),
    sa.Index("ix_software_deployment_config_id", "config_id"),
)
