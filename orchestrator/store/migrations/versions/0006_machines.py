"""Machines, their reservations, and the machine of each resource."""

import sqlalchemy as sa
from alembic import op

revision = "0006"
down_revision = "0005"


def upgrade() -> None:
    op.add_column("resource", sa.Column("on_node", sa.Text()))
    op.create_index(
        "ix_resource_on_node",
        "resource",
        ["on_node"],
        unique=False,
        sqlite_where=sa.text("on_node IS NOT NULL"),
        postgresql_where=sa.text("on_node IS NOT NULL"),
    )
    op.create_table(
        "machine",
        sa.Column("name", sa.Text(), nullable=False),
        sa.Column("said", sa.Text(), nullable=False),
        sa.Column("incarnation", sa.Text(), nullable=False),
        sa.Column("boot_id", sa.Text(), nullable=False),
        sa.Column("seen_at", sa.Double(), nullable=False),
        sa.Column("watched_at", sa.Double(), nullable=False, server_default="0"),
        sa.Column("drained_at", sa.Double()),
        sa.Column("drain_reason", sa.Text(), nullable=False, server_default=""),
        sa.Column("created_at", sa.Double(), nullable=False),
        sa.PrimaryKeyConstraint("name", name=op.f("pk_machine")),
    )
    op.create_table(
        "node_counter",
        sa.Column("name", sa.Text(), nullable=False),
        sa.Column("since", sa.Double(), nullable=False),
        sa.Column("amount", sa.Double(), nullable=False),
        sa.PrimaryKeyConstraint("name", name=op.f("pk_node_counter")),
    )
    # The former table was never used.
    op.drop_table("reservation")
    op.create_table(
        "reservation",
        sa.Column("stack_id", sa.Text(), nullable=False),
        sa.Column("resource", sa.Text(), nullable=False),
        sa.Column("node", sa.Text(), nullable=False),
        sa.Column("kind", sa.Text(), nullable=False),
        sa.Column("operation_id", sa.Text(), nullable=False),
        sa.Column("amount", sa.BigInteger(), nullable=False),
        sa.Column("expires_at", sa.Double()),
        sa.Column("created_at", sa.Double(), nullable=False),
        sa.PrimaryKeyConstraint(
            "stack_id", "resource", "node", "kind", "operation_id", name=op.f("pk_reservation")
        ),
    )
    op.create_index("ix_reservation_node", "reservation", ["node"], unique=False)
    op.create_index("ix_reservation_operation_id", "reservation", ["operation_id"], unique=False)


def downgrade() -> None:
    op.drop_table("reservation")
    op.create_table(
        "reservation",
        sa.Column("id", sa.Text(), nullable=False),
        sa.Column("node", sa.Text(), nullable=False),
        sa.Column("resource_id", sa.Text(), nullable=False),
        sa.Column("amounts", sa.LargeBinary(), nullable=False),
        sa.Column("expires_at", sa.Double()),
        sa.Column("created_at", sa.Double(), nullable=False),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_reservation")),
    )
    op.create_index("ix_reservation_node", "reservation", ["node"], unique=False)
    op.drop_table("node_counter")
    op.drop_table("machine")
    op.drop_index("ix_resource_on_node", table_name="resource")
    op.drop_column("resource", "on_node")
