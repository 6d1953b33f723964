"""``isotherm db purge``: permanently remove deleted stacks and old history."""

from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING

import click

from orchestrator.cli.errors import BAD_INPUT
from orchestrator.cli.formats import Table, console_for_messages, printable, show
from orchestrator.cli.options import shell_command
from orchestrator.cli.shell import Shell
from orchestrator.cli.times import Age
from orchestrator.model.purge import KINDS

if TYPE_CHECKING:
    from rich.status import Status

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
    type=Age(),
    default="30",
    show_default="30 days",
    metavar="AGE",
    help="Only what ended longer ago: a number of days, or 90m, 12h, 2w.",
)
@click.option("--project", metavar="PROJECT", help="Only what belongs to this project; all if left out.")
@click.option("--dry-run", is_flag=True, help="Count what would be removed, and remove nothing.")
@click.option(
    "-y", "--yes", is_flag=True, help="Do not ask for confirmation; implied when stdin is no terminal."
)
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
        with _progress(is_silent=dry_run) as progress:
            removed: Counter[str] = Counter()
            steps = service.purge(older_than_seconds=older_than_seconds, project=project, dry_run=dry_run)
            for step in steps:
                removed[step.kind] += step.count
                progress.show(removed)
    counts = {kind: removed[kind] for kind in KINDS}
    column = "would be removed" if dry_run else "removed"
    show(form, {"dry_run": dry_run, **counts}, Table(columns=("kind", column), rows=list(counts.items())))


def _ask(service: "Service", older_than_seconds: float, project: str | None) -> None:
    """Ask for confirmation, with the number of rows of each kind."""
    going: Counter[str] = Counter()
    for step in service.purge(older_than_seconds=older_than_seconds, project=project, dry_run=True):
        going[step.kind] += step.count
    whose = f"the project {printable(project)}" if project else "all projects"
    if not click.confirm(f"Remove for good, of {whose}: {_in_words(going)}?", err=True):
        click.echo("Nothing was removed.", err=True)
        raise click.exceptions.Exit(BAD_INPUT)


def _in_words(counts: Counter[str]) -> str:
    return ", ".join(f"{counts[kind]} {kind}" for kind in KINDS if counts[kind]) or "nothing"


class _Progress:
    def __init__(self, status: "Status | None", *, is_silent: bool) -> None:
        self._status, self._is_silent = status, is_silent
        self._reported = 0

    def show(self, removed: Counter[str]) -> None:
        """Show the counts; without a terminal, once every :data:`REPORT_EVERY` rows."""
        if self._is_silent:
            return
        if self._status is not None:
            self._status.update(f"removed {_in_words(removed)}")
        elif removed.total() - self._reported >= REPORT_EVERY:
            self._reported = removed.total()
            click.echo(f"removed {_in_words(removed)}", err=True)


@contextmanager
def _progress(*, is_silent: bool) -> Iterator[_Progress]:
    console = console_for_messages()
    if is_silent or not console.is_terminal:
        yield _Progress(None, is_silent=is_silent)
        return
    with console.status("looking ...") as status:
        yield _Progress(status, is_silent=False)
