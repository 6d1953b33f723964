"""``isotherm audit``: the audit log."""

from dataclasses import asdict

import click

from orchestrator.cli.errors import DONE, STACK_FAILED
from orchestrator.cli.formats import Table, fields_table, moment, show
from orchestrator.cli.options import shell_command
from orchestrator.cli.shell import Shell


@click.group()
def audit() -> None:
    """Show and verify who did what.

    On record are jobs, whatever was refused for lack of a role, commands that change the installation, and logins of
    the dashboard by tokens, and tokens that it or the API refused. Each record has the hash of all before it.
    """


@shell_command("isotherm audit list", "isotherm audit list --limit 1000 -f json", group=audit, name="list")
@click.option(
    "--limit", type=click.IntRange(min=1), default=20, show_default=True, help="How many records to show."
)
def list_records(shell: Shell, *, limit: int, form: str) -> None:
    """List the newest records, the newest first."""
    with shell.service() as service:
        records = service.audit_records(limit)
    columns = ("seq", "at", "user", "project", "action", "outcome", "target", "from", "detail")
    rows = [
        (
            *(each.seq, moment(each.at), each.entry.user, each.entry.project, each.entry.action),
            *(each.entry.outcome, each.entry.target, each.entry.origin, each.entry.detail),
        )
        for each in records
    ]
    show(form, [each.to_dict() for each in records], Table(columns=columns, rows=rows))


@shell_command("isotherm audit verify", "isotherm audit verify --expect HASH", group=audit)
@click.option(
    "--expect", default="", metavar="HASH", help="A hash that was noted elsewhere; a record must have it."
)
def verify(shell: Shell, *, expect: str, form: str) -> None:
    """Verify that no record was changed or removed.

    Names the first record that does not fit, and ends with 1. Removing the newest records is noticed only by a hash
    that was noted before: run it regularly, keep LAST_HASH elsewhere, and give it with --expect the next time.
    """
    with shell.service() as service:
        found = service.verify_audit_log(expect)
    fields = {**asdict(found), "state": "ok" if found.broken_at is None else "wrong"}
    show(
        form, fields, fields_table({name: value for name, value in fields.items() if value not in (None, "")})
    )
    raise click.exceptions.Exit(DONE if found.broken_at is None else STACK_FAILED)
