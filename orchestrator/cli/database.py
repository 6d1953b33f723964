"""``isotherm db``: the schema of the state of record."""

import click

from orchestrator.cli.formats import fields_table, show
from orchestrator.cli.options import shell_command
from orchestrator.cli.shell import Shell
from orchestrator.config.state_directory import prepare_state_directory


@click.group()
def db() -> None:
    """Manage the database's schema."""


@shell_command("isotherm db upgrade", group=db)
def upgrade(shell: Shell, form: str) -> None:
    """Bring the schema up to date.

    Does nothing if it is up to date already. Embedded mode does this by itself with its SQLite file. With a database
    server, run it once before the first coordinator starts and after each upgrade of Isotherm.
    """
    # Imports alembic, which the commands about stacks do not need.
    from orchestrator.store import migrations

    if not shell.settings.database_url:
        prepare_state_directory(shell.settings.state_directory)
    before, after = migrations.upgrade(shell.settings.effective_database_url)
    fields = fields_table({"before": before or "no schema", "after": after})
    show(form, {"before": before, "after": after}, fields)


@shell_command("isotherm db current", group=db)
def current(shell: Shell, form: str) -> None:
    """Show the revision of the schema.

    Shows the revision that the database has, and the one that this version of Isotherm needs.
    """
    from orchestrator.store import migrations
    from orchestrator.store.probing import ping

    url = shell.settings.effective_database_url
    # First, because it does not create a missing SQLite file.
    ping(url)
    present, needed = migrations.current(url), migrations.head()
    is_current = present == needed
    fields = {"current": present or "no schema", "needed": needed, "state": "ok" if is_current else "wrong"}
    show(form, {"current": present, "needed": needed, "up_to_date": is_current}, fields_table(fields))
