"""Log lines of steps."""

import sqlalchemy as sa
from alembic import op

revision = "0026"
down_revision = "0025"


def upgrade() -> None:
    op.create_table(
        "step_log",
        sa.Column("traversal_id", sa.Text(), nullable=False),
        sa.Column("no", sa.Integer(), autoincrement=False, nullable=False),
        sa.Column("attempt", sa.Integer(), autoincrement=False, nullable=False),
        sa.Column("stack_id", sa.Text(), nullable=False),
        sa.Column("resource", sa.Text(), nullable=False),
        sa.Column("action", sa.Text(), nullable=False),
        sa.Column("worker", sa.Text(), nullable=False),
        sa.Column("at", sa.Double(), nullable=False),
        sa.Column("number", sa.Integer(), nullable=False),
        sa.Column("lines", sa.LargeBinary(), nullable=False),
        sa.PrimaryKeyConstraint("traversal_id", "no", "attempt", name=op.f("pk_step_log")),
    )
    op.create_index("ix_step_log_stack_id_resource_at", "step_log", ["stack_id", "resource", "at"])
    op.create_index("ix_step_log_at", "step_log", ["at"])


def downgrade() -> None:
    op.drop_table("step_log")
