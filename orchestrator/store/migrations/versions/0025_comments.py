"""Why an operation was ordered."""

import sqlalchemy as sa
from alembic import op

revision = "0025"
down_revision = "0024"


def upgrade() -> None:
    op.add_column("traversal", sa.Column("comment", sa.Text(), nullable=False, server_default=""))


def downgrade() -> None:
    op.drop_column("traversal", "comment")
