"""Updates with targets: what a stack's definition has otherwise than its resources are."""

import sqlalchemy as sa
from alembic import op

revision = "0035"
down_revision = "0034"


def upgrade() -> None:
    op.add_column("stack", sa.Column("partial", sa.Text(), nullable=False, server_default="[]"))
    op.add_column("traversal", sa.Column("left_out", sa.Text(), nullable=False, server_default="[]"))


def downgrade() -> None:
    op.drop_column("traversal", "left_out")
    op.drop_column("stack", "partial")
