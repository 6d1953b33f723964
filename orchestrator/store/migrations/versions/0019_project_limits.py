"""Limits of projects, and the seconds that their evaluations took."""

import sqlalchemy as sa
from alembic import op

revision = "0019"
down_revision = "0018"


def upgrade() -> None:
    op.create_table(
        "project_limit",
        sa.Column("project", sa.Text(), nullable=False),
        sa.Column("name", sa.Text(), nullable=False),
        sa.Column("most", sa.Double()),
        sa.PrimaryKeyConstraint("project", "name", name=op.f("pk_project_limit")),
    )
    op.create_table(
        "project_evaluation",
        sa.Column("project", sa.Text(), nullable=False),
        sa.Column("minute", sa.BigInteger(), nullable=False),
        sa.Column("seconds", sa.Double(), nullable=False),
        sa.PrimaryKeyConstraint("project", name=op.f("pk_project_evaluation")),
    )


def downgrade() -> None:
    op.drop_table("project_evaluation")
    op.drop_table("project_limit")
