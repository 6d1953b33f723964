"""Causes and workers of events, and the processes of the engine."""

import sqlalchemy as sa
from alembic import op

revision = "0007"
down_revision = "0006"


def upgrade() -> None:
    op.add_column("event", sa.Column("cause", sa.Text(), nullable=False, server_default=""))
    op.add_column("event", sa.Column("worker", sa.Text(), nullable=False, server_default=""))
    op.create_table(
        "process",
        sa.Column("name", sa.Text(), nullable=False),
        sa.Column("kind", sa.Text(), nullable=False),
        sa.Column("host", sa.Text(), nullable=False),
        sa.Column("pid", sa.Integer(), nullable=False),
        sa.Column("celery_name", sa.Text(), nullable=False, server_default=""),
        sa.Column("version", sa.Text(), nullable=False, server_default=""),
        sa.Column("queues", sa.Text(), nullable=False, server_default="[]"),
        sa.Column("started_at", sa.Double(), nullable=False),
        sa.Column("seen_at", sa.Double(), nullable=False),
        sa.Column("stopped_at", sa.Double()),
        sa.PrimaryKeyConstraint("name", name=op.f("pk_process")),
    )
    op.create_index("ix_process_seen_at", "process", ["seen_at"], unique=False)


def downgrade() -> None:
    op.drop_table("process")
    op.drop_column("event", "worker")
    op.drop_column("event", "cause")
