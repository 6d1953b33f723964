"""Emptying a database between tests, the audit log included, from which triggers let nothing be removed."""

import sqlalchemy as sa

from orchestrator.store.tables import metadata


def empty(connection: sa.Connection) -> None:
    """Remove every row of every table, in the caller's transaction."""
    if connection.dialect.name == "postgresql":
        # No trigger fires; for superusers alone, as tests are. All at once: a round trip takes longer than to remove
        # nothing from a table that is empty, as most are.
        deletions = [f"DELETE FROM {table.name}" for table in reversed(metadata.sorted_tables)]
        roles = [f"SET LOCAL session_replication_role = {role}" for role in ("replica", "origin")]
        connection.exec_driver_sql("; ".join([roles[0], *deletions, roles[1]]))
        return
    triggers = connection.execute(sa.text("SELECT name, sql FROM sqlite_master WHERE type = 'trigger'")).all()
    for trigger in triggers:
        connection.execute(sa.text(f"DROP TRIGGER {trigger.name}"))
    for table in reversed(metadata.sorted_tables):
        connection.execute(table.delete())
    for trigger in triggers:
        connection.exec_driver_sql(trigger.sql)
