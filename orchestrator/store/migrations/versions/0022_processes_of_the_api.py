"""Where processes of the API are reached, and their last errors."""

import sqlalchemy as sa
from alembic import op

revision = "0022"
down_revision = "0021"


def upgrade() -> None:
    op.add_column("process", sa.Column("address", sa.Text(), nullable=False, server_default=""))
    op.add_column("process", sa.Column("errors", sa.Text(), nullable=False, server_default="[]"))


def downgrade() -> None:
    op.drop_column("process", "errors")
    op.drop_column("process", "address")
