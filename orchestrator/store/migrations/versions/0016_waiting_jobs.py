"""Jobs that wait for their turn, and when each project had its last one."""

import sqlalchemy as sa
from alembic import op

revision = "0016"
down_revision = "0015"


def upgrade() -> None:
    op.create_table(
        "waiting_job",
        sa.Column("id", sa.Text(), nullable=False),
        sa.Column("project", sa.Text(), nullable=False),
        sa.Column("no", sa.BigInteger(), nullable=False),
        sa.Column("task", sa.Text(), nullable=False),
        sa.Column("job", sa.LargeBinary(), nullable=False),
        sa.Column("due_at", sa.Double(), nullable=False),
        sa.Column("attempts", sa.Integer(), nullable=False, server_default="0"),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_waiting_job")),
    )
    op.create_index("ix_waiting_job_project_no", "waiting_job", ["project", "no"])
    op.create_index("ix_waiting_job_due_at", "waiting_job", ["due_at"])
    op.create_table(
        "project_turn",
        sa.Column("project", sa.Text(), nullable=False),
        sa.Column("taken_at", sa.Double(), nullable=False),
        sa.PrimaryKeyConstraint("project", name=op.f("pk_project_turn")),
    )
    op.create_index("ix_taken_job_taken_at", "taken_job", ["taken_at"])


def downgrade() -> None:
    op.drop_index("ix_taken_job_taken_at", "taken_job")
    op.drop_table("project_turn")
    op.drop_table("waiting_job")
