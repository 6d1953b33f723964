"""The names that resources had before they were moved."""

import sqlalchemy as sa
from alembic import op

revision = "0034"
down_revision = "0032"


def upgrade() -> None:
    op.add_column("resource", sa.Column("former_names", sa.Text(), nullable=False, server_default="[]"))
    op.add_column("resource", sa.Column("complete_name", sa.Text()))


def downgrade() -> None:
    op.drop_column("resource", "complete_name")
    op.drop_column("resource", "former_names")
