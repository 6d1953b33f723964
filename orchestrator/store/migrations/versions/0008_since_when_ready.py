"""The time since when a node has been ready."""

import sqlalchemy as sa
from alembic import op

revision = "0008"
down_revision = "0007"


def upgrade() -> None:
    op.add_column("node", sa.Column("ready_at", sa.Double()))
    # The time itself is not stored; it is before the due time.
    op.execute("UPDATE node SET ready_at = due_at WHERE state = 'ready'")


def downgrade() -> None:
    op.drop_column("node", "ready_at")
