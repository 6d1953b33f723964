"""Moves between stacks: where an object was made, and where its resource was when the outermost stack was complete."""

import sqlalchemy as sa
from alembic import op

revision = "0036"
down_revision = "0035"

_TEXTS = ("made_stack_id", "made_stack_name", "complete_template_id", "complete_path")
_MOVED = sa.text("transferred_at IS NOT NULL")


def upgrade() -> None:
    for name in _TEXTS:
        op.add_column("resource", sa.Column(name, sa.Text()))
    op.add_column("resource", sa.Column("transferred_at", sa.Double()))
    op.create_index(
        "ix_resource_transferred_at",
        "resource",
        ["transferred_at"],
        postgresql_where=_MOVED,
        sqlite_where=_MOVED,
    )


def downgrade() -> None:
    op.drop_index("ix_resource_transferred_at", table_name="resource")
    for name in ("transferred_at", *reversed(_TEXTS)):
        op.drop_column("resource", name)
