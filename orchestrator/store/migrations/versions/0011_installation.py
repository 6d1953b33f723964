"""The id of the installation."""

import sqlalchemy as sa
from alembic import op

revision = "0011"
down_revision = "0010"


def upgrade() -> None:
    op.create_table(
        "identity",
        sa.Column("one", sa.Integer(), primary_key=True, autoincrement=False),
        sa.Column("id", sa.Text(), nullable=False),
    )


def downgrade() -> None:
    op.drop_table("identity")
