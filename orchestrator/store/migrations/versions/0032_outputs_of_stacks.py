"""Who reads outputs of stacks, and which projects may."""

import sqlalchemy as sa
from alembic import op

revision = "0032"
down_revision = "0028"


def upgrade() -> None:
    op.create_table(
        "output_reader",
        sa.Column("resource_id", sa.Text(), nullable=False),
        sa.Column("stack_id", sa.Text(), nullable=False),
        sa.Column("root_id", sa.Text(), nullable=False),
        sa.Column("source_id", sa.Text(), nullable=False),
        sa.Column("output", sa.Text(), nullable=False),
        sa.Column("stale", sa.Boolean(), server_default=sa.false(), nullable=False),
        sa.PrimaryKeyConstraint("resource_id", name=op.f("pk_output_reader")),
    )
    for column in ("root_id", "source_id"):
        op.create_index(f"ix_output_reader_{column}", "output_reader", [column])
    op.create_index(
        "ix_output_reader_stale",
        "output_reader",
        ["stack_id"],
        sqlite_where=sa.text("stale"),
        postgresql_where=sa.text("stale"),
    )
    op.create_table(
        "output_share",
        sa.Column("stack_id", sa.Text(), nullable=False),
        sa.Column("output", sa.Text(), nullable=False),
        sa.Column("project", sa.Text(), nullable=False),
        sa.Column("created_at", sa.Double(), nullable=False),
        sa.PrimaryKeyConstraint("stack_id", "output", "project", name=op.f("pk_output_share")),
    )


def downgrade() -> None:
    op.drop_table("output_share")
    op.drop_table("output_reader")
