"""The ledger and annotations of lifecycle plugins, cursors of event sinks, and tags of stacks."""

import sqlalchemy as sa
from alembic import op

revision = "0005"
down_revision = "0004"


def upgrade() -> None:
    op.add_column("stack", sa.Column("tags", sa.Text(), nullable=False, server_default="[]"))
    op.add_column("stack", sa.Column("defining_traversal_id", sa.Text()))
    op.create_table(
        "operation",
        sa.Column("id", sa.Text(), nullable=False),
        sa.Column("cause", sa.Text(), nullable=False),
        sa.Column("stack_id", sa.Text(), nullable=False),
        sa.Column("stack", sa.Text(), nullable=False),
        sa.Column("project", sa.Text(), nullable=False),
        sa.Column("action", sa.Text(), nullable=False),
        sa.Column("state", sa.Text(), nullable=False),
        sa.Column("outcome", sa.Text(), nullable=False, server_default=""),
        sa.Column("reason", sa.Text(), nullable=False, server_default=""),
        sa.Column("shown", sa.LargeBinary()),
        sa.Column("owner", sa.Text(), nullable=False),
        sa.Column("leased_until", sa.Double()),
        sa.Column("attempt", sa.Integer(), nullable=False),
        sa.Column("created_at", sa.Double(), nullable=False),
        sa.Column("ended_at", sa.Double()),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_operation")),
    )
    op.create_table(
        "operation_call",
        sa.Column("operation_id", sa.Text(), nullable=False),
        sa.Column("position", sa.Integer(), nullable=False),
        sa.Column("plugin", sa.Text(), nullable=False),
        sa.Column("state", sa.Text(), nullable=False),
        sa.Column("annotations", sa.LargeBinary()),
        sa.Column("error", sa.Text(), nullable=False, server_default=""),
        sa.Column("asked_seconds", sa.Double()),
        sa.Column("told_seconds", sa.Double()),
        sa.PrimaryKeyConstraint("operation_id", "position", name=op.f("pk_operation_call")),
    )
    op.create_table(
        "annotation",
        sa.Column("stack_id", sa.Text(), nullable=False),
        sa.Column("plugin", sa.Text(), nullable=False),
        sa.Column("resource", sa.Text(), nullable=False),
        sa.Column("value", sa.LargeBinary(), nullable=False),
        sa.PrimaryKeyConstraint("stack_id", "plugin", "resource", name=op.f("pk_annotation")),
    )
    op.create_table(
        "sink_cursor",
        sa.Column("name", sa.Text(), nullable=False),
        sa.Column("stack_id", sa.Text()),
        sa.Column("type", sa.Text(), nullable=False),
        sa.Column("options", sa.LargeBinary()),
        sa.Column("position", sa.BigInteger(), nullable=False),
        sa.Column("until", sa.BigInteger()),
        sa.Column("left_at", sa.Double()),
        sa.Column("state", sa.LargeBinary()),
        sa.Column("lost", sa.BigInteger(), nullable=False, server_default="0"),
        sa.Column("failing_since", sa.Double()),
        sa.Column("failures", sa.Integer(), nullable=False, server_default="0"),
        sa.Column("error", sa.Text(), nullable=False, server_default=""),
        sa.Column("due_at", sa.Double(), nullable=False, server_default="0"),
        sa.Column("owner", sa.Text()),
        sa.Column("leased_until", sa.Double()),
        sa.Column("attempt", sa.Integer(), nullable=False, server_default="0"),
        sa.Column("created_at", sa.Double(), nullable=False),
        sa.PrimaryKeyConstraint("name", name=op.f("pk_sink_cursor")),
    )
    op.create_index("ix_operation_stack_id_created_at", "operation", ["stack_id", "created_at"])
    entering = sa.text("state = 'entering'")
    op.create_index(
        "ux_operation_cause",
        "operation",
        ["cause"],
        unique=True,
        sqlite_where=entering,
        postgresql_where=entering,
    )
    leased = sa.text("leased_until IS NOT NULL")
    op.create_index(
        "ix_operation_leased_until",
        "operation",
        ["leased_until"],
        sqlite_where=leased,
        postgresql_where=leased,
    )
    op.create_index("ix_annotation_stack_id_resource", "annotation", ["stack_id", "resource"])
    op.create_index("ix_sink_cursor_stack_id", "sink_cursor", ["stack_id"])
