"""The audit log, and triggers that refuse to change or remove what is in it."""

import sqlalchemy as sa
from alembic import op

revision = "0018"
down_revision = "0017"

_TEXTS = ("user_name", "project", "action", "target", "origin", "outcome", "detail", "hash")
_REFUSED = "audit records are neither changed nor removed"


def upgrade() -> None:
    op.create_table(
        "audit_record",
        sa.Column("seq", sa.BigInteger(), autoincrement=False, nullable=False),
        sa.Column("at", sa.Double(), nullable=False),
        *(sa.Column(name, sa.Text(), nullable=False) for name in _TEXTS),
        sa.PrimaryKeyConstraint("seq"),
    )
    if op.get_bind().dialect.name == "postgresql":
        op.execute(
            "CREATE FUNCTION refuse_audit_change() RETURNS trigger LANGUAGE plpgsql AS "
            f"$$ BEGIN RAISE EXCEPTION '{_REFUSED}'; END $$"
        )
        op.execute(
            "CREATE TRIGGER audit_record_stays BEFORE UPDATE OR DELETE OR TRUNCATE ON audit_record "
            "FOR EACH STATEMENT EXECUTE FUNCTION refuse_audit_change()"
        )
        return
    for event in ("UPDATE", "DELETE"):
        op.execute(
            f"CREATE TRIGGER audit_record_stays_{event.lower()} BEFORE {event} ON audit_record "
            f"BEGIN SELECT RAISE(ABORT, '{_REFUSED}'); END"
        )


def downgrade() -> None:
    op.drop_table("audit_record")
    if op.get_bind().dialect.name == "postgresql":
        op.execute("DROP FUNCTION refuse_audit_change()")
