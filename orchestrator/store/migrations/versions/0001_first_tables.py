"""The first tables."""

import sqlalchemy as sa
from alembic import op

revision = "0001"
down_revision = None


def upgrade() -> None:
    op.create_table(
        "event",
        sa.Column(
            "id", sa.BigInteger().with_variant(sa.Integer(), "sqlite"), autoincrement=True, nullable=False
        ),
        sa.Column("at", sa.Double(), nullable=False),
        sa.Column("stack_id", sa.Text(), nullable=False),
        sa.Column("traversal_id", sa.Text(), nullable=False),
        sa.Column("resource", sa.Text(), server_default="", nullable=False),
        sa.Column("resource_id", sa.Text(), nullable=True),
        sa.Column("type", sa.Text(), server_default="", nullable=False),
        sa.Column("action", sa.Text(), nullable=False),
        sa.Column("status", sa.Text(), nullable=False),
        sa.Column("reason", sa.Text(), server_default="", nullable=False),
        sa.Column("physical_id", sa.Text(), nullable=True),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_event")),
        sqlite_autoincrement=True,
    )
    op.create_index("ix_event_stack_id_id", "event", ["stack_id", "id"], unique=False)
    op.create_table(
        "file",
        sa.Column("id", sa.Text(), nullable=False),
        sa.Column("content", sa.LargeBinary(), nullable=False),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_file")),
    )
    op.create_table(
        "job",
        sa.Column("id", sa.Text(), nullable=False),
        sa.Column("stack_id", sa.Text(), nullable=True),
        sa.Column("status", sa.Text(), nullable=False),
        sa.Column("refusal", sa.LargeBinary(), nullable=True),
        sa.Column("created_at", sa.Double(), nullable=False),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_job")),
    )
    op.create_table(
        "node",
        sa.Column("no", sa.Integer(), autoincrement=False, nullable=False),
        sa.Column("traversal_id", sa.Text(), nullable=False),
        sa.Column("key", sa.Text(), nullable=False),
        sa.Column("phase", sa.Text(), nullable=False),
        sa.Column("resource_id", sa.Text(), nullable=True),
        sa.Column("action", sa.Text(), server_default="", nullable=False),
        sa.Column("state", sa.Text(), nullable=False),
        sa.Column("remaining", sa.Integer(), nullable=False),
        sa.Column("dependents", sa.Text(), server_default="[]", nullable=False),
        sa.Column("requirements", sa.Text(), server_default="[]", nullable=False),
        sa.Column("fragment", sa.LargeBinary(), nullable=True),
        sa.Column("wanted", sa.LargeBinary(), nullable=True),
        sa.Column("node_data", sa.LargeBinary(), nullable=True),
        sa.Column("due_at", sa.Double(), nullable=True),
        sa.Column("attempt", sa.Integer(), server_default="0", nullable=False),
        sa.Column("retries", sa.Integer(), server_default="0", nullable=False),
        sa.Column("published", sa.Integer(), server_default="0", nullable=False),
        sa.Column("woken", sa.Boolean(), server_default=sa.false(), nullable=False),
        sa.Column("quiet", sa.Boolean(), server_default=sa.false(), nullable=False),
        sa.Column("changed", sa.Boolean(), server_default=sa.false(), nullable=False),
        sa.Column("worker", sa.Text(), nullable=True),
        sa.PrimaryKeyConstraint("no", "traversal_id", name=op.f("pk_node")),
    )
    op.create_index("ix_node_traversal", "node", [sa.text("(traversal_id || '')")])
    op.create_index(
        "ix_node_due_at",
        "node",
        ["due_at"],
        unique=False,
        sqlite_where=sa.text("due_at IS NOT NULL"),
        postgresql_where=sa.text("due_at IS NOT NULL"),
    )
    op.create_index(
        "ix_node_resource_id",
        "node",
        ["resource_id"],
        unique=False,
        sqlite_where=sa.text("resource_id IS NOT NULL"),
        postgresql_where=sa.text("resource_id IS NOT NULL"),
    )
    op.create_table(
        "reservation",
        sa.Column("id", sa.Text(), nullable=False),
        sa.Column("node", sa.Text(), nullable=False),
        sa.Column("resource_id", sa.Text(), nullable=False),
        sa.Column("amounts", sa.LargeBinary(), nullable=False),
        sa.Column("expires_at", sa.Double(), nullable=True),
        sa.Column("created_at", sa.Double(), nullable=False),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_reservation")),
    )
    op.create_index("ix_reservation_node", "reservation", ["node"], unique=False)
    op.create_table(
        "resource",
        sa.Column("id", sa.Text(), nullable=False),
        sa.Column("stack_id", sa.Text(), nullable=False),
        sa.Column("name", sa.Text(), nullable=False),
        sa.Column("type", sa.Text(), nullable=False),
        sa.Column("action", sa.Text(), server_default="INIT", nullable=False),
        sa.Column("status", sa.Text(), server_default="COMPLETE", nullable=False),
        sa.Column("reason", sa.Text(), server_default="", nullable=False),
        sa.Column("physical_id", sa.Text(), nullable=True),
        sa.Column("reference_id", sa.LargeBinary(), nullable=True),
        sa.Column("properties", sa.LargeBinary(), nullable=True),
        sa.Column("definition_hash", sa.Text(), nullable=True),
        sa.Column("attributes", sa.LargeBinary(), nullable=True),
        sa.Column("requires", sa.Text(), server_default="[]", nullable=False),
        sa.Column("replaces", sa.Text(), nullable=True),
        sa.Column("replaced_by", sa.Text(), nullable=True),
        sa.Column("metadata", sa.LargeBinary(), nullable=True),
        sa.Column("metadata_version", sa.Integer(), server_default="0", nullable=False),
        sa.Column("data", sa.LargeBinary(), nullable=True),
        sa.Column("token", sa.LargeBinary(), nullable=True),
        sa.Column("template_id", sa.Text(), nullable=False),
        sa.Column("started_at", sa.Double(), server_default="0", nullable=False),
        sa.Column("lock_traversal", sa.Text(), nullable=True),
        sa.Column("lock_no", sa.Integer(), nullable=True),
        sa.Column("lock_attempt", sa.Integer(), nullable=True),
        sa.Column("created_at", sa.Double(), nullable=False),
        sa.Column("updated_at", sa.Double(), nullable=False),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_resource")),
    )
    op.create_index("ix_resource_stack_id_name", "resource", ["stack_id", "name"], unique=False)
    op.create_table(
        "snapshot",
        sa.Column("id", sa.Text(), nullable=False),
        sa.Column("stack_id", sa.Text(), nullable=False),
        sa.Column("name", sa.Text(), server_default="", nullable=False),
        sa.Column("action", sa.Text(), nullable=False),
        sa.Column("status", sa.Text(), nullable=False),
        sa.Column("reason", sa.Text(), server_default="", nullable=False),
        sa.Column("data", sa.LargeBinary(), nullable=True),
        sa.Column("created_at", sa.Double(), nullable=False),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_snapshot")),
    )
    op.create_index("ix_snapshot_stack_id", "snapshot", ["stack_id"], unique=False)
    op.create_table(
        "stack",
        sa.Column("id", sa.Text(), nullable=False),
        sa.Column("name", sa.Text(), nullable=False),
        sa.Column("project", sa.Text(), nullable=False),
        sa.Column("parent_id", sa.Text(), nullable=True),
        sa.Column("parent_resource", sa.Text(), nullable=True),
        sa.Column("action", sa.Text(), nullable=False),
        sa.Column("status", sa.Text(), nullable=False),
        sa.Column("reason", sa.Text(), server_default="", nullable=False),
        sa.Column("traversal_id", sa.Text(), nullable=False),
        sa.Column("template_id", sa.Text(), nullable=False),
        sa.Column("completed_template_id", sa.Text(), nullable=True),
        sa.Column("in_service", sa.Boolean(), server_default=sa.false(), nullable=False),
        sa.Column("timeout_minutes", sa.Double(), nullable=False),
        sa.Column("created_at", sa.Double(), nullable=False),
        sa.Column("updated_at", sa.Double(), nullable=False),
        sa.Column("deleted_at", sa.Double(), nullable=True),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_stack")),
    )
    op.create_index(
        "ux_stack_name",
        "stack",
        ["project", "name"],
        unique=True,
        sqlite_where=sa.text("deleted_at IS NULL"),
        postgresql_where=sa.text("deleted_at IS NULL"),
    )
    op.create_table(
        "template",
        sa.Column("id", sa.Text(), nullable=False),
        sa.Column("body", sa.LargeBinary(), nullable=False),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_template")),
    )
    op.create_table(
        "traversal",
        sa.Column("id", sa.Text(), nullable=False),
        sa.Column("stack_id", sa.Text(), nullable=False),
        sa.Column("action", sa.Text(), nullable=False),
        sa.Column("status", sa.Text(), nullable=False),
        sa.Column("reason", sa.Text(), server_default="", nullable=False),
        sa.Column("options", sa.Text(), server_default="{}", nullable=False),
        sa.Column("context", sa.LargeBinary(), nullable=False),
        sa.Column("template_id", sa.Text(), nullable=False),
        sa.Column("deadline", sa.Double(), nullable=False),
        sa.Column("created_at", sa.Double(), nullable=False),
        sa.Column("ended_at", sa.Double(), nullable=True),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_traversal")),
    )
    op.create_index(
        "ix_traversal_deadline",
        "traversal",
        ["deadline"],
        unique=False,
        sqlite_where=sa.text("status = 'IN_PROGRESS'"),
        postgresql_where=sa.text("status = 'IN_PROGRESS'"),
    )
    op.create_index("ix_traversal_stack_id", "traversal", ["stack_id"], unique=False)


def downgrade() -> None:
    op.drop_table("traversal")
    op.drop_table("template")
    op.drop_table("stack")
    op.drop_table("snapshot")
    op.drop_table("resource")
    op.drop_table("reservation")
    op.drop_table("node")
    op.drop_table("job")
    op.drop_table("file")
    op.drop_table("event")
