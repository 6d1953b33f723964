"""Jobs that a coordinator has taken."""

import sqlalchemy as sa
from alembic import op

revision = "0004"
down_revision = "0003"


def upgrade() -> None:
    op.create_table(
        "taken_job",
        sa.Column("id", sa.Text(), nullable=False),
        sa.Column("taken_at", sa.Double(), nullable=False),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_taken_job")),
    )
