"""``isotherm db``: the schema of the state of record."""

import click

from orchestrator.cli.formats import fields_table, show
from orchestrator.cli.options import example, format_option
from orchestrator.cli.shell import Shell


@click.group()
def db() -> None:
    """Bring the database's schema up to date, or show where it stands."""


@db.command(epilog=example("isotherm db upgrade"))
@format_option()
@click.pass_obj
def upgrade(shell: Shell, form: str) -> None:
    """Bring the schema up to date; nothing happens where it is already.

    Embedded mode does this by itself. With a database server, run it once before the first coordinator starts and
    after each upgrade of Isotherm.
    """
    # Brings alembic in, which no other command needs.
    from orchestrator.store import migrations

    before, after = migrations.upgrade(shell.settings.effective_database_url)
    done = {"before": before, "after": after}
    show(form, done, fields_table({"before": before or "no schema", "after": after}))


@db.command(epilog=example("isotherm db current"))
@format_option()
@click.pass_obj
def current(shell: Shell, form: str) -> None:
    """Show which revision the schema is at, and which one this version of Isotherm needs."""
    from orchestrator.store import migrations

    present = migrations.current(shell.settings.effective_database_url)
    needed = migrations.head()
    shown = {"current": present or "no schema", "needed": needed, "state": "ok" if present == needed else "wrong"}
    show(form, {"current": present, "needed": needed, "up_to_date": present == needed}, fields_table(shown))
