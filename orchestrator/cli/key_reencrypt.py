"""``isotherm key reencrypt``: rewrite what is at rest with the newest encryption key."""

from collections import Counter

import click

from orchestrator.cli.errors import STACK_FAILED
from orchestrator.cli.formats import Table, console_for_messages, show
from orchestrator.cli.options import shell_command
from orchestrator.cli.shell import Shell

#: Without a terminal, a line of progress is written after so many rows.
REPORT_EVERY = 10_000


@shell_command("isotherm key reencrypt", "isotherm key reencrypt --dry-run")
@click.option("--dry-run", is_flag=True, help="Count what is encrypted with which key, and change nothing.")
def reencrypt(shell: Shell, *, dry_run: bool, form: str) -> None:
    """Encrypt the database with the newest key.

    That is the first in the setting encryption_keys: configure it in all processes before, and restart them; the keys
    of before follow it. Afterwards they can be removed from the setting, and values that are plain, or of an earlier
    version, are not read any more.

    It can run while the installation is in use, and can be interrupted: the next run continues.
    """
    with shell.service() as service:
        if dry_run:
            counts = service.reencryption.count()
            table = Table(columns=("encrypted with", "values"), rows=list(counts.items()))
            show(form, {"dry_run": True, "values": counts}, table)
            return
        console = console_for_messages()
        reported = 0

        def report(rows: Counter[str]) -> None:
            nonlocal reported
            if rows.total() - reported >= REPORT_EVERY:
                reported = rows.total()
                click.echo(f"rewrote {reported} rows", err=True)

        if console.is_terminal:
            with console.status("looking ...") as status:
                done = service.reencryption.run(lambda rows: status.update(f"rewrote {rows.total()} rows"))
        else:
            done = service.reencryption.run(report)
    data = {"dry_run": False, "rows": dict(done.rows), "unreadable": list(done.unreadable)}
    show(form, data, Table(columns=("table", "rewritten rows"), rows=sorted(done.rows.items())))
    if done.unreadable:
        for each in done.unreadable:
            click.echo(f"cannot be read: {each}", err=True)
        click.echo("keep the old keys until this command reads everything", err=True)
        raise click.exceptions.Exit(STACK_FAILED)
