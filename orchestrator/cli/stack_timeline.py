"""``isotherm stack timeline``: a Gantt chart of an operation."""

from typing import TYPE_CHECKING

import click

from orchestrator.cli.formats import console_for_results, moment, printable, show, state_style
from orchestrator.cli.gantt import gantt, legend
from orchestrator.cli.options import shell_command, traversal_option
from orchestrator.cli.shell import Shell
from orchestrator.cli.state_marks import has_signs
from orchestrator.cli.times import duration

if TYPE_CHECKING:
    from orchestrator.views.operations import Timeline


@shell_command(
    "isotherm stack timeline web",
    "isotherm stack timeline web --critical",
    "isotherm stack timeline web --traversal 5f2b1a94-0c8f-4f0e-9a55-0a2f6f8d3c11 -f json",
)
@click.argument("name")
@traversal_option
@click.option(
    "--critical",
    "is_critical_only",
    is_flag=True,
    help="Draw only the critical path: the resources that determined the total duration.",
)
def timeline(shell: Shell, name: str, *, traversal_id: str | None, is_critical_only: bool, form: str) -> None:
    """Draw a Gantt chart of an operation.

    One line for each resource, in the order in which they were begun: blocked, in the queue, running, being
    retried after an error, held at a hook. An asterisk marks the critical path: each of its resources was begun when
    the one before was done, and together they determined the total duration. The drawing is as wide as the terminal; if
    the output is no terminal, 80 columns, or the value of COLUMNS.
    """
    with shell.service() as service:
        view = service.observer.timeline(name, traversal_id=traversal_id)
    if form != "table":
        show(form, view.to_dict())
        return
    _draw(view, critical_only=is_critical_only)


def _draw(view: "Timeline", *, critical_only: bool) -> None:
    from rich.text import Text

    console = console_for_results()
    ascii_only = not has_signs(console.encoding)
    operation = view.operation
    state = f"{operation.action}_{operation.status}"
    heading = Text.assemble((printable(operation.stack), "bold"), "  ", (state, state_style(state)))
    ended = operation.ended_at if operation.ended_at is not None else view.as_of
    heading.append(f"  {duration(max(ended - operation.begun_at, 0))}")
    heading.append(f"  begun {moment(operation.begun_at)}", "dim")
    console.print(heading, soft_wrap=True)
    if not view.bars:
        console.print("No resource had a part in it.", soft_wrap=True)
        return
    for line in gantt(view, console.width, ascii_only=ascii_only, critical_only=critical_only):
        console.print(line, soft_wrap=True)
    console.print(legend(view, ascii_only=ascii_only), soft_wrap=True)
    spent = [f"{kind} {duration(seconds)}" for kind, seconds in view.critical_seconds.items() if seconds]
    if spent:
        console.print(f"critical path: {', '.join(spent)}", soft_wrap=True)
    if view.trimmed:
        click.echo("Some events of this operation have been removed: the drawing is incomplete.", err=True)
