"""``isotherm attention``: what needs a person, each finding with the command that acts on it."""

from typing import TYPE_CHECKING

import click

from orchestrator.cli.errors import DONE, FINDINGS
from orchestrator.cli.formats import Table, moment, show, show_tables
from orchestrator.cli.options import shell_command
from orchestrator.cli.shell import Shell

if TYPE_CHECKING:
    from orchestrator.views.attention import AttentionView, Finding


@shell_command("isotherm attention", "isotherm attention -f json", "isotherm attention --exit-code")
@click.option("--exit-code", "has_exit_code", is_flag=True, help="End with 1 if there is a finding.")
def attention(shell: Shell, *, has_exit_code: bool, form: str) -> None:
    """List what needs a person, most urgent first.

    These are the findings of the dashboard's page Attention: failed and stuck stacks, resources held at hooks,
    operations without progress, and faults of the installation. COMMAND does something about a finding, or shows more.
    At most 50 findings of a kind are listed; JSON has the number of all.
    """
    from orchestrator.doctor.broker import check_broker

    sees_fleet = shell.may("fleet.read")
    broker_answers = not sees_fleet or check_broker(shell.settings).ok
    with shell.service() as service:
        view = service.attention(broker_answers=broker_answers, sees_fleet=sees_fleet)
    if form == "table":
        _show(view)
    else:
        show(form, view.to_dict())
    raise click.exceptions.Exit(FINDINGS if has_exit_code and view.total else DONE)


def _show(view: "AttentionView") -> None:
    findings = [finding for group in view.groups for finding in group.findings]
    if not findings:
        click.echo("nothing needs attention")
        return
    rows = [
        (
            each.kind,
            _name(each),
            "" if each.since is None else moment(each.since),
            each.what,
            each.command,
        )
        for each in findings
    ]
    columns = ("kind", "subject", "since", "finding", "command")
    show_tables([Table(columns=columns, rows=rows, spare=("since", "kind"))])
    for group in view.groups:
        if left := group.total - len(group.findings):
            click.echo(f"and {left} more of the kind {group.kind}")


def _name(finding: "Finding") -> str:
    stack = finding.stack
    return f"{finding.subject} of {stack}" if stack and stack != finding.subject else finding.subject
