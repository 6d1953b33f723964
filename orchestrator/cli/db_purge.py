"""``isotherm db purge``: permanently remove deleted stacks and old history."""

from collections import Counter
from collections.abc import Callable, Iterable
from typing import TYPE_CHECKING

import click

from orchestrator.cli.errors import BAD_INPUT
from orchestrator.cli.formats import Table, console_for_messages, printable, show
from orchestrator.cli.options import shell_command, yes_option
from orchestrator.cli.shell import Shell
from orchestrator.cli.times import AGE
from orchestrator.model.purge import KINDS, Removed

if TYPE_CHECKING:
    from orchestrator.service import Service

#: Without a terminal, a line of progress is written after so many removed rows.
REPORT_EVERY = 100_000


@shell_command(
    "isotherm db purge",
    "isotherm db purge --older-than 90 --dry-run",
    "isotherm db purge --older-than 12h --project tests --yes -f json",
)
@click.option(
    "--older-than",
    "older_than_seconds",
    type=AGE,
    default="30",
    show_default="30 days",
    metavar="AGE",
    help="Only what ended longer ago: a number of days, or 90m, 12h, 2w.",
)
@click.option("--project", metavar="PROJECT", help="Only what belongs to this project; all if left out.")
@click.option("--dry-run", is_flag=True, help="Count what would be removed, and remove nothing.")
@yes_option
def purge(
    shell: Shell,
    *,
    older_than_seconds: float,
    project: str | None,
    dry_run: bool,
    yes: bool,
    form: str,
) -> None:
    """Remove old history permanently.

    Removes deleted stacks with all their records; of other stacks, finished operations that the next one does not
    need, deleted resources, and all but the newest events; finished jobs; templates and files that nothing refers to.
    No resource is touched, and no stack behaves differently afterwards: only its history is shorter.

    It can run while the installation is in use, and can be interrupted. Whatever the age, records of existing stacks,
    jobs, templates and files that are younger than an hour are kept.
    """
    with shell.service() as service:
        if not dry_run and not yes and shell.can_answer():
            _ask(service, older_than_seconds, project)
        steps = service.purge(older_than_seconds=older_than_seconds, project=project, dry_run=dry_run)
        removed = _total(steps) if dry_run else _shown_total(steps)
    counts = {kind: removed[kind] for kind in KINDS}
    column = "would be removed" if dry_run else "removed"
    show(form, {"dry_run": dry_run, **counts}, Table(columns=("kind", column), rows=list(counts.items())))


def _ask(service: "Service", older_than_seconds: float, project: str | None) -> None:
    """Ask for confirmation, with the number of rows of each kind."""
    going = _total(service.purge(older_than_seconds=older_than_seconds, project=project, dry_run=True))
    whose = f"the project {printable(project)}" if project else "all projects"
    if not click.confirm(f"Remove for good, of {whose}: {_in_words(going)}?", err=True):
        click.echo("Nothing was removed.", err=True)
        raise click.exceptions.Exit(BAD_INPUT)


def _in_words(counts: Counter[str]) -> str:
    return ", ".join(f"{counts[kind]} {kind}" for kind in KINDS if counts[kind]) or "nothing"


def _total(steps: Iterable[Removed], report: Callable[[Counter[str]], None] = lambda _: None) -> Counter[str]:
    """Return the number of rows of each kind; ``report`` is called with the numbers so far, after each step."""
    total: Counter[str] = Counter()
    for step in steps:
        total[step.kind] += step.count
        report(total)
    return total


def _shown_total(steps: Iterable[Removed]) -> Counter[str]:
    """Return the number of rows of each kind, shown meanwhile: without a terminal, once every :data:`REPORT_EVERY`."""
    console = console_for_messages()
    if console.is_terminal:
        with console.status("looking ...") as status:
            return _total(steps, lambda removed: status.update(f"removed {_in_words(removed)}"))
    reported = 0

    def report(removed: Counter[str]) -> None:
        nonlocal reported
        if removed.total() - reported >= REPORT_EVERY:
            reported = removed.total()
            click.echo(f"removed {_in_words(removed)}", err=True)

    return _total(steps, report)
