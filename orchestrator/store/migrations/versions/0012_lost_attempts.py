"""How often the worker of a node was lost."""

import sqlalchemy as sa
from alembic import op

revision = "0012"
down_revision = "0011"


def upgrade() -> None:
    op.add_column("node", sa.Column("lost", sa.Integer(), nullable=False, server_default="0"))


def downgrade() -> None:
    op.drop_column("node", "lost")
