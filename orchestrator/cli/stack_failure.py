"""``isotherm stack failure``: the root causes of a failed operation, and the resources that they blocked."""

from typing import TYPE_CHECKING

import click

from orchestrator.cli.formats import (
    Table,
    console_for_results,
    moment,
    printable,
    show,
    show_tables,
    state_style,
)
from orchestrator.cli.options import shell_command, traversal_option
from orchestrator.cli.shell import Shell

if TYPE_CHECKING:
    from rich.text import Text

    from orchestrator.views.operations import FailedView, FailureView

#: The greatest number of blocked resources that are named.
MOST_NAMED = 5


@shell_command(
    "isotherm stack failure web",
    "isotherm stack failure web --traversal 5f2b1a94-0c8f-4f0e-9a55-0a2f6f8d3c11",
    "isotherm stack failure web -f json",
)
@click.argument("name")
@traversal_option
def failure(shell: Shell, name: str, *, traversal_id: str | None, form: str) -> None:
    """Show why an operation failed.

    A root is a resource that failed although all resources that it requires were done. The likely root failed first.
    It is shown with the resources that never began because of it and, if it is in a nested stack, with its path. For
    a rollback, the failure of the operation that it takes back follows.
    """
    with shell.service() as service:
        view = service.observer.failure(name, traversal_id=traversal_id)
    if form != "table":
        show(form, view.to_dict())
        return
    _show(view)


def _show(view: "FailureView") -> None:
    console = console_for_results()
    for line in summary_lines(view):
        console.print(line, soft_wrap=True)
    rest = [("independent", each) for each in view.roots[1:]] + [("later", each) for each in view.later]
    if rest:
        click.echo()
        show_tables([_table(rest)])
    if view.rolled_back:
        click.echo("\nIt takes back:")
        _show(view.rolled_back)


def summary_lines(view: "FailureView") -> "list[Text]":
    """Return the summary of a failure: the operation's result, the likely root, and the resources it blocks."""
    from rich.text import Text

    operation = view.operation
    state = f"{operation.action}_{operation.status}"
    heading = Text.assemble((printable(operation.stack), "bold"), " ", (state, state_style(state)))
    if operation.reason and operation.status == "FAILED":
        heading.append(f": {_in_line(operation.reason)}")
    if not view.roots:
        nothing = "no resource has failed" if operation.status == "FAILED" else "nothing has failed"
        return [heading, Text(f"  {nothing}")]
    outer = view.roots[0]
    root = view.innermost or outer
    name = "/".join(view.path) or outer.name
    lines = [heading, Text()]
    lines.append(
        Text.assemble("likely root: ", (printable(name), "bold red"), (f" ({printable(root.type)})", "dim"))
    )
    lines.append(Text(f"  {_in_line(root.reason) or 'no reason is known'}"))
    lines.append(Text(f"  {_circumstances(root)}", style="dim"))
    if root is not outer and root.blocks:
        lines.append(Text(f"  {_blocks(root)} in its stack", style="yellow"))
    if outer.blocks:
        lines.append(Text(f"  {_blocks(outer)}", style="yellow"))
    return lines


def _in_line(text: str) -> str:
    return printable(" ".join(text.split()))


def _circumstances(root: "FailedView") -> str:
    parts = [
        "" if root.at is None else f"failed at {moment(root.at)}",
        f"{root.attempts} attempt{'' if root.attempts == 1 else 's'}" if root.attempts else "",
        f"by {printable(root.worker)}" if root.worker else "",
        f"physical id {printable(root.physical_id)}" if root.physical_id else "",
    ]
    return ", ".join(filter(None, (f"{root.action.lower()}", *parts)))


def _blocks(root: "FailedView") -> str:
    named = root.blocked[:MOST_NAMED]
    more = f" and {root.blocks - len(named)} more" if root.blocks > len(named) else ""
    return f"never begun because of it: {root.blocks} ({printable(', '.join(named))}{more})"


def _table(rest: list[tuple[str, "FailedView"]]) -> Table:
    rows = [
        (
            kind,
            each.name,
            each.type,
            each.action,
            "" if each.at is None else moment(each.at),
            each.attempts,
            each.blocks,
            each.reason,
        )
        for kind, each in rest
    ]
    columns = ("failure", "name", "type", "action", "at", "attempts", "blocks", "reason")
    return Table(columns=columns, rows=rows, title="other failures", spare=("type", "attempts", "action"))
