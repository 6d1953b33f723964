"""Observation policies of stacks, and the drift that observations found."""

import sqlalchemy as sa
from alembic import op

revision = "0028"
down_revision = "0027"


def upgrade() -> None:
    op.create_table(
        "observation",
        sa.Column("stack_id", sa.Text(), nullable=False),
        sa.Column("policy", sa.Text(), server_default="{}", nullable=False),
        sa.Column("due_at", sa.Double()),
        sa.Column("attempt", sa.Integer(), server_default="0", nullable=False),
        sa.Column("ended_attempt", sa.Integer(), server_default="0", nullable=False),
        sa.Column("observed_at", sa.Double()),
        sa.Column("trouble", sa.Text(), server_default="", nullable=False),
        sa.Column("repairs", sa.Text(), server_default="[]", nullable=False),
        sa.Column("repair_traversal", sa.Text()),
        sa.PrimaryKeyConstraint("stack_id", name=op.f("pk_observation")),
    )
    for name, column, where in (
        ("ix_observation_due_at", "due_at", "due_at IS NOT NULL"),
        ("ix_observation_repair_traversal", "stack_id", "repair_traversal IS NOT NULL"),
    ):
        op.create_index(
            name, "observation", [column], sqlite_where=sa.text(where), postgresql_where=sa.text(where)
        )
    op.create_table(
        "drift",
        sa.Column("resource_id", sa.Text(), nullable=False),
        sa.Column("key", sa.Text(), nullable=False),
        sa.Column("stack_id", sa.Text(), nullable=False),
        sa.Column("root_id", sa.Text(), nullable=False),
        sa.Column("path", sa.Text(), nullable=False),
        sa.Column("type", sa.Text(), nullable=False),
        sa.Column("finding", sa.LargeBinary(), nullable=False),
        sa.Column("since", sa.Double(), nullable=False),
        sa.Column("seen_at", sa.Double(), nullable=False),
        sa.Column("times", sa.Integer(), server_default="1", nullable=False),
        sa.Column("standing", sa.Text(), nullable=False),
        sa.Column("why", sa.Text(), server_default="", nullable=False),
        sa.PrimaryKeyConstraint("resource_id", "key", name=op.f("pk_drift")),
    )
    for column in ("root_id", "stack_id"):
        op.create_index(f"ix_drift_{column}", "drift", [column])


def downgrade() -> None:
    op.drop_table("drift")
    op.drop_table("observation")
