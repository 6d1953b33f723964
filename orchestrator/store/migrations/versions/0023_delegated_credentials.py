"""Credentials that callers have delegated to stacks."""

import sqlalchemy as sa
from alembic import op

revision = "0023"
down_revision = "0022"


def upgrade() -> None:
    op.create_table(
        "delegated_credential",
        sa.Column("id", sa.Text(), nullable=False),
        sa.Column("project", sa.Text(), nullable=False),
        sa.Column("client", sa.Text(), nullable=False),
        sa.Column("stack_id", sa.Text()),
        sa.Column("options", sa.LargeBinary(), nullable=False),
        sa.Column("created_at", sa.Double(), nullable=False),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_delegated_credential")),
    )
    op.create_index("ix_delegated_credential_stack_id", "delegated_credential", ["stack_id"])


def downgrade() -> None:
    op.drop_table("delegated_credential")
