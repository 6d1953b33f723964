"""The number of answers evicted from constraint caches."""

import sqlalchemy as sa
from alembic import op

revision = "0009"
down_revision = "0008"


def upgrade() -> None:
    op.add_column("cache_counter", sa.Column("evicted", sa.BigInteger(), nullable=False, server_default="0"))


def downgrade() -> None:
    op.drop_column("cache_counter", "evicted")
