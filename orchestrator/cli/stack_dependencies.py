"""``isotherm stack dependencies``: which outputs a stack reads of others, and who reads its own."""

from typing import TYPE_CHECKING

import click

from orchestrator.cli.formats import Table, fields_table, show
from orchestrator.cli.options import shell_command
from orchestrator.cli.shell import Shell

if TYPE_CHECKING:
    from orchestrator.views.dependencies import DependenciesView


@shell_command("isotherm stack dependencies network", "isotherm stack dependencies network -f json")
@click.argument("name")
def dependencies(shell: Shell, name: str, form: str) -> None:
    """Show which outputs stacks read of each other.

    What the stack reads of others, who reads its outputs, and with which projects they are shared. Readers in other
    projects are only counted. A stale value is outdated: the next update of its reader reads the output again.
    """
    with shell.service() as service:
        view = service.sharing.of(name)
    show_dependencies(view, form)


def show_dependencies(view: "DependenciesView", form: str) -> None:
    """Write what a stack reads, who reads it, and what it shares; without lists that are empty."""
    reads = [
        (each.resource, each.source, each.source_project, each.output, "yes" if each.stale else "no")
        for each in view.reads
    ]
    readers = [
        (each.stack, each.resource, each.output, "yes" if each.stale else "no") for each in view.read_by
    ]
    if view.other_readers:
        stacks = f"{view.other_readers} stack{'' if view.other_readers == 1 else 's'}"
        readers.append((f"({stacks} of other projects)", "", "", ""))
    shares = [(each.output, each.project) for each in view.shares]
    tables = (
        Table(columns=("resource", "stack", "project", "output", "stale"), rows=reads, title="reads"),
        Table(columns=("stack", "resource", "output", "stale"), rows=readers, title="read by"),
        Table(columns=("output", "project"), rows=shares, title="shared with"),
    )
    filled = [table for table in tables if table.rows]
    nothing = fields_table({"name": view.stack, "reads": "none", "read by": "none", "shared with": "none"})
    show(form, view.to_dict(), *(filled or [nothing]))
