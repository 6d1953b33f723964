"""Who asked for an operation."""

import sqlalchemy as sa
from alembic import op

revision = "0017"
down_revision = "0016"

_TABLES = ("traversal", "event", "job", "operation")


def upgrade() -> None:
    for table in _TABLES:
        op.add_column(table, sa.Column("user_name", sa.Text(), nullable=False, server_default=""))


def downgrade() -> None:
    for table in reversed(_TABLES):
        op.drop_column(table, "user_name")
