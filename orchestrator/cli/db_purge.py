"""``isotherm db purge``: remove for good what nobody needs any more."""

from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING

import click

from orchestrator.cli.errors import BAD_INPUT
from orchestrator.cli.face import StackService
from orchestrator.cli.formats import Table, console_for_messages, printable, show
from orchestrator.cli.options import example, format_option
from orchestrator.cli.shell import Shell
from orchestrator.cli.times import Age
from orchestrator.model.purge import KINDS

if TYPE_CHECKING:
    from rich.status import Status

#: Without a terminal, progress is told each time that so much more was removed.
TOLD_EVERY = 100_000


@click.command(
    epilog=example(
        "isotherm db purge",
        "isotherm db purge --older-than 90 --dry-run",
        "isotherm db purge --older-than 12h --project tests --yes -f json",
    )
)
@click.option(
    "--older-than",
    "older_than_seconds",
    type=Age(),
    default="30",
    show_default="30 days",
    metavar="AGE",
    help="What has been over for longer: so many days, or 90m, 12h, 2w.",
)
@click.option("--project", metavar="PROJECT", help="Only what belongs to this project; else of all.")
@click.option("--dry-run", is_flag=True, help="Count what would be removed, and remove nothing.")
@click.option(
    "-y", "--yes", is_flag=True, help="Ask no question; none is asked either when stdin is no terminal."
)
@format_option()
@click.pass_obj
def purge(
    shell: Shell,
    *,
    older_than_seconds: float,
    project: str | None,
    dry_run: bool,
    yes: bool,
    form: str,
) -> None:
    """Remove for good what nobody needs any more.

    That is: deleted stacks, with all that is known of them; of living stacks, operations that are over and that the
    next one does not need, resources that are gone, and all but the newest events; jobs; templates and files that
    nothing refers to. Nothing that exists is touched, and no stack behaves differently afterwards: it only has less
    to tell of its past.

    It may run while everything runs, and may be interrupted. Whatever the age, nothing of a living stack goes that is
    younger than an hour, and no job, template or file.
    """
    with shell.service() as service:
        if not dry_run and not yes and shell.can_answer():
            _ask(service, older_than_seconds, project)
        with _progress(is_silent=dry_run) as tell:
            removed: Counter[str] = Counter()
            steps = service.purge(older_than_seconds=older_than_seconds, project=project, dry_run=dry_run)
            for step in steps:
                removed[step.kind] += step.count
                tell.show(removed)
    counts = {kind: removed[kind] for kind in KINDS}
    column = "would be removed" if dry_run else "removed"
    show(form, {"dry_run": dry_run, **counts}, Table(columns=("kind", column), rows=list(counts.items())))


def _ask(service: StackService, older_than_seconds: float, project: str | None) -> None:
    """Ask whether all this may go.

    Raises:
        Exit: it may not.
    """
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
    """Tells how much was removed so far."""

    def __init__(self, status: "Status | None", *, is_silent: bool) -> None:
        self._status, self._is_silent = status, is_silent
        self._told = 0

    def show(self, removed: Counter[str]) -> None:
        """Tell, if it is time to."""
        if self._is_silent:
            return
        if self._status is not None:
            self._status.update(f"removed {_in_words(removed)}")
        elif removed.total() - self._told >= TOLD_EVERY:
            self._told = removed.total()
            click.echo(f"removed {_in_words(removed)}", err=True)


@contextmanager
def _progress(*, is_silent: bool) -> Iterator[_Progress]:
    console = console_for_messages()
    if is_silent or not console.is_terminal:
        yield _Progress(None, is_silent=is_silent)
        return
    with console.status("looking ...") as status:
        yield _Progress(status, is_silent=False)
