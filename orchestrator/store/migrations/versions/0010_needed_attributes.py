"""The attributes of its requirements that each node receives."""

import sqlalchemy as sa
from alembic import op

revision = "0010"
down_revision = "0009"


def upgrade() -> None:
    op.add_column("node", sa.Column("needs", sa.LargeBinary()))


def downgrade() -> None:
    op.drop_column("node", "needs")
