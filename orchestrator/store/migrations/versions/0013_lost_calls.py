"""How many calls of a lifecycle plugin were lost with their process."""

import sqlalchemy as sa
from alembic import op

revision = "0013"
down_revision = "0012"

_COLUMNS = ("asked_lost", "told_lost")


def upgrade() -> None:
    for name in _COLUMNS:
        op.add_column("operation_call", sa.Column(name, sa.Integer(), nullable=False, server_default="0"))


def downgrade() -> None:
    for name in reversed(_COLUMNS):
        op.drop_column("operation_call", name)
