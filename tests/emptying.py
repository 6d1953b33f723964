"""Emptying a database between tests, the audit log included, from which triggers let nothing be removed."""

import sqlalchemy as sa

from orchestrator.store.tables import metadata


def empty(connection: sa.Connection) -> None:
    """Remove every row of every table, in the caller's transaction."""
    if connection.dialect.name == "postgresql":
        # No trigger fires; for superusers alone, as tests are.
        connection.execute(sa.text("SET LOCAL session_replication_role = replica"))
        _delete(connection)
        connection.execute(sa.text("SET LOCAL session_replication_role = origin"))
        return
    triggers = connection.execute(sa.text("SELECT name, sql FROM sqlite_master WHERE type = 'trigger'")).all()
    for trigger in triggers:
        connection.execute(sa.text(f"DROP TRIGGER {trigger.name}"))
    _delete(connection)
    for trigger in triggers:
        connection.exec_driver_sql(trigger.sql)


def _delete(connection: sa.Connection) -> None:
    for table in reversed(metadata.sorted_tables):
        connection.execute(table.delete())
