"""Protection of stacks and resources against deletion and replacement."""

import sqlalchemy as sa
from alembic import op

revision = "0027"
down_revision = "0026"


def upgrade() -> None:
    for table in ("stack", "resource"):
        op.add_column(table, sa.Column("protected", sa.Boolean(), nullable=False, server_default=sa.false()))
    op.add_column("stack", sa.Column("protections", sa.Integer(), nullable=False, server_default="0"))


def downgrade() -> None:
    op.drop_column("stack", "protections")
    for table in ("resource", "stack"):
        op.drop_column(table, "protected")
