"""When everything was first encrypted in the form that is bound to its row."""

import sqlalchemy as sa
from alembic import op

revision = "0015"
down_revision = "0014"


def upgrade() -> None:
    op.add_column("identity", sa.Column("reencrypted_at", sa.Double(), nullable=True))


def downgrade() -> None:
    op.drop_column("identity", "reencrypted_at")
