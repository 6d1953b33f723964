"""Room in the pages of PostgreSQL for the updates that every row gets."""

from alembic import op

revision = "0020"
down_revision = "0019"

#: A row of a resource grows when it is made, and is updated twice for each action; a node several times. Where the page
#: of a row has room, an update changes no index. Pages that are full already stay as they are.
_FILL = {"resource": 50, "node": 70}


def upgrade() -> None:
    if op.get_bind().dialect.name == "postgresql":
        for table, percent in _FILL.items():
            op.execute(f"ALTER TABLE {table} SET (fillfactor = {percent})")


def downgrade() -> None:
    if op.get_bind().dialect.name == "postgresql":
        for table in _FILL:
            op.execute(f"ALTER TABLE {table} RESET (fillfactor)")
