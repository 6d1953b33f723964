"""Constraint cache counters and flushes."""

import sqlalchemy as sa
from alembic import op

revision = "0003"
down_revision = "0002"


def upgrade() -> None:
    op.create_table(
        "cache_counter",
        sa.Column("client", sa.Text(), nullable=False),
        sa.Column("since", sa.Double(), nullable=False),
        sa.Column("hits", sa.BigInteger(), nullable=False),
        sa.Column("misses", sa.BigInteger(), nullable=False),
        sa.Column("generated", sa.BigInteger(), nullable=False),
        sa.Column("refused", sa.BigInteger(), nullable=False),
        sa.Column("errors", sa.BigInteger(), nullable=False),
        sa.Column("garbage", sa.BigInteger(), nullable=False),
        sa.PrimaryKeyConstraint("client", name=op.f("pk_cache_counter")),
    )
    op.create_table(
        "cache_flush",
        sa.Column("client", sa.Text(), nullable=False),
        sa.Column("flushed_at", sa.Double(), nullable=False),
        sa.PrimaryKeyConstraint("client", name=op.f("pk_cache_flush")),
    )
