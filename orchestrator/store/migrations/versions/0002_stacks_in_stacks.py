"""Nested stacks, breakpoints, health marks, and snapshots by resource."""

import sqlalchemy as sa
from alembic import op

revision = "0002"
down_revision = "0001"


def upgrade() -> None:
    op.add_column("stack", sa.Column("root_id", sa.Text(), nullable=False, server_default=""))
    op.add_column("stack", sa.Column("depth", sa.Integer(), nullable=False, server_default="0"))
    op.execute("UPDATE stack SET root_id = id")
    op.create_index("ix_stack_parent_id", "stack", ["parent_id"])
    op.create_index("ix_stack_root_id", "stack", ["root_id"])
    op.create_index("ix_stack_traversal_id", "stack", ["traversal_id"])
    op.add_column("resource", sa.Column("unhealthy", sa.Boolean(), nullable=False, server_default=sa.false()))
    op.add_column("stack", sa.Column("rollback", sa.Boolean(), nullable=False, server_default=sa.false()))
    op.add_column("job", sa.Column("traversal_id", sa.Text(), nullable=True))
    op.add_column("resource", sa.Column("metadata_hash", sa.Text(), nullable=True))
    for name in ("planned", "applied"):
        op.add_column("resource", sa.Column(f"{name}_traversal", sa.Text(), nullable=True))
        op.add_column("resource", sa.Column(f"{name}_no", sa.Integer(), nullable=True))
    op.execute(_latest("planned", "n.fragment IS NOT NULL"))
    op.execute(_latest("applied", "n.fragment IS NOT NULL AND n.state = 'done'"))
    op.add_column("node", sa.Column("hook", sa.Text(), nullable=True))
    op.add_column("node", sa.Column("hooks", sa.Text(), nullable=True))
    op.add_column("node", sa.Column("hook_at", sa.Double(), nullable=True))
    op.create_index(
        "ix_node_hook",
        "node",
        ["traversal_id"],
        sqlite_where=sa.text("hook IS NOT NULL"),
        postgresql_where=sa.text("hook IS NOT NULL"),
    )
    op.create_index("ix_stack_project_name_deleted_at", "stack", ["project", "name", "deleted_at"])
    op.create_index(
        "ix_stack_deleted_at",
        "stack",
        ["deleted_at"],
        sqlite_where=sa.text("deleted_at IS NOT NULL"),
        postgresql_where=sa.text("deleted_at IS NOT NULL"),
    )
    op.add_column("file", sa.Column("saved_at", sa.Double(), nullable=False, server_default="0"))
    op.add_column("template", sa.Column("saved_at", sa.Double(), nullable=False, server_default="0"))
    op.add_column("traversal", sa.Column("counted", sa.Text(), nullable=False, server_default="{}"))
    op.create_table(
        "chore",
        sa.Column("name", sa.Text(), nullable=False),
        sa.Column("begun_at", sa.Double(), nullable=False),
        sa.PrimaryKeyConstraint("name", name=op.f("pk_chore")),
    )
    # Nothing has written a snapshot yet.
    op.drop_table("snapshot")
    op.create_table(
        "snapshot",
        sa.Column("id", sa.Text(), nullable=False),
        sa.Column("stack_id", sa.Text(), nullable=False),
        sa.Column("name", sa.Text(), server_default="", nullable=False),
        sa.Column("action", sa.Text(), nullable=False),
        sa.Column("status", sa.Text(), nullable=False),
        sa.Column("reason", sa.Text(), server_default="", nullable=False),
        sa.Column("template_id", sa.Text(), nullable=False),
        sa.Column("traversal_id", sa.Text(), nullable=False),
        sa.Column("created_at", sa.Double(), nullable=False),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_snapshot")),
    )
    op.create_index("ix_snapshot_stack_id", "snapshot", ["stack_id"])
    op.create_table(
        "snapshot_resource",
        sa.Column("snapshot_id", sa.Text(), nullable=False),
        sa.Column("name", sa.Text(), nullable=False),
        sa.Column("type", sa.Text(), nullable=False),
        sa.Column("entry", sa.LargeBinary(), nullable=False),
        sa.PrimaryKeyConstraint("snapshot_id", "name", name=op.f("pk_snapshot_resource")),
    )


def _latest(name: str, which: str) -> str:
    """Return the statement that points each resource at the latest of its converge nodes."""
    return f"""
        UPDATE resource SET ({name}_traversal, {name}_no) = (
            SELECT n.traversal_id, n.no FROM node n JOIN traversal t ON t.id = n.traversal_id
            WHERE n.resource_id = resource.id AND n.phase = 'converge' AND {which}
            ORDER BY t.created_at DESC LIMIT 1)"""
