"""``isotherm stack``: create, list, show, follow, draw and delete stacks."""

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, Final, Unpack

import click

from orchestrator.cli import graph as drawing
from orchestrator.cli.ending import follow_or_leave, outputs_table, refuse_to_leave
from orchestrator.cli.errors import warn
from orchestrator.cli.events import last_event
from orchestrator.cli.formats import Table, fields_table, moment, show
from orchestrator.cli.options import (
    comment_option,
    rollback_option,
    shell_command,
    tags_option,
    template_options,
    timeout_option,
    wait_option,
)
from orchestrator.cli.shell import Shell
from orchestrator.cli.source import Given, stack_job
from orchestrator.cli.times import AGE

if TYPE_CHECKING:
    from orchestrator.views.stacks import StackView


@click.group()
def stack() -> None:
    """Create, update, show, follow and delete stacks."""


@shell_command(
    "isotherm stack create web -t web.yaml",
    "isotherm stack create web -t web.yaml -e prod.yaml -P count=3 --timeout 30",
    "isotherm stack create web -t web.yaml --dry-run",
    group=stack,
)
@click.argument("name")
@template_options
@click.option(
    "--dry-run", "is_dry_run", is_flag=True, help="Show what would be created, and where; create nothing."
)
@rollback_option
@tags_option("Tags of the stack; nested stacks have none.")
@timeout_option
@comment_option
@wait_option
def create(
    shell: Shell, name: str, *, template: str, is_dry_run: bool, wait: bool, form: str, **given: Unpack[Given]
) -> None:
    """Create a stack from a template.

    Progress is shown until the stack is complete; then its outputs are. With --dry-run nothing is created, and the
    planned resources are shown as by isotherm stack preview, with the nodes on which they would be placed.
    """
    if not is_dry_run:
        refuse_to_leave(shell, wait=wait)
    job = stack_job(name, shell.settings, template=template, **given)
    if is_dry_run:
        from orchestrator.cli.stack_preview import show_preview

        show_preview(shell, job, form)
        return
    with shell.service() as service:
        made = service.create(job)
        follow_or_leave(shell, service, made, action="CREATE", wait=wait, form=form, after=0)


#: The words of ``--sort``, and the keys that they stand for.
_SORTS: Final = {
    "created": ("created_at", "name"),
    "updated": ("updated_at", "name"),
    "name": ("name",),
    "state": ("status", "action", "name"),
}


@shell_command(
    "isotherm stack list",
    "isotherm stack list --state FAILED --name 'web*' --older-than 7d",
    "isotherm stack list --tags prod,eu --sort updated --reverse --limit 10",
    "isotherm stack list --drifted",
    "isotherm stack list --partial",
    "isotherm stack list -f json",
    group=stack,
    name="list",
)
@click.option("--nested", "is_nested", is_flag=True, help="Show nested stacks as well.")
@click.option(
    "--state",
    "states",
    multiple=True,
    metavar="STATE",
    help="Only stacks in this state, such as CREATE_FAILED, FAILED or UPDATE. May be repeated.",
)
@click.option(
    "--name",
    "names",
    multiple=True,
    metavar="NAME",
    help="Only stacks of this name; * and ? match any characters. May be repeated.",
)
@tags_option("Only the stacks that have all of these tags.")
@tags_option("Only the stacks that have any of these tags.", "--tags-any")
@click.option(
    "--older-than",
    "older_than_seconds",
    type=AGE,
    metavar="AGE",
    help="Only stacks that were created longer ago: 7d, 12h.",
)
@click.option(
    "--newer-than",
    "newer_than_seconds",
    type=AGE,
    metavar="AGE",
    help="Only stacks that were created since then: 7d, 12h.",
)
@click.option("--drifted", "is_drifted", is_flag=True, help="Only the stacks with drift on record.")
@click.option(
    "--partial", "is_partial", is_flag=True, help="Only the stacks that were updated in part, with targets."
)
@click.option(
    "--sort",
    type=click.Choice(tuple(_SORTS)),
    default="created",
    show_default=True,
    help="What to sort by, ascending.",
)
@click.option("--reverse", "descending", is_flag=True, help="Sort descending.")
@click.option("--limit", type=click.IntRange(min=1), metavar="N", help="Show this many at most.")
def list_stacks(
    shell: Shell,
    *,
    is_nested: bool,
    is_drifted: bool,
    is_partial: bool,
    tags: tuple[str, ...] | None,
    tags_any: tuple[str, ...] | None,
    sort: str,
    form: str,
    **wanted: Any,
) -> None:
    """List the stacks of the project."""
    with shell.service() as service:
        stacks = service.stacks(
            nested=is_nested,
            drifted=is_drifted,
            partial=is_partial,
            tags=tags or (),
            tags_any=tags_any or (),
            sort=_SORTS[sort],
            **wanted,
        )
    show(form, [view.to_dict() for view in stacks], _stacks_table(stacks, is_nested=is_nested))


def _stacks_table(stacks: Sequence["StackView"], *, is_nested: bool) -> Table:
    names = {view.id: view.name for view in stacks}
    columns = ["name", "state", "created", "updated", "id"]
    rows = [
        [view.name, view.state, moment(view.created_at), moment(view.updated_at), view.id] for view in stacks
    ]
    if any(view.stale for view in stacks):
        columns.append("stale")
        rows = [[*row, "yes" if view.stale else ""] for row, view in zip(rows, stacks, strict=True)]
    if any(view.partial for view in stacks):
        columns.append("partial")
        rows = [
            [*row, f"{len(view.partial)} left" if view.partial else ""]
            for row, view in zip(rows, stacks, strict=True)
        ]
    if is_nested:
        columns.append("in")
        rows = [[*row, names.get(view.parent_id or "", "")] for row, view in zip(rows, stacks, strict=True)]
    return Table(columns=tuple(columns), rows=rows, spare=("updated", "created"))


@shell_command("isotherm stack show web", group=stack, name="show")
@click.argument("name")
def show_stack(shell: Shell, name: str, form: str) -> None:
    """Show state, parameters and outputs."""
    with shell.service() as service:
        view = service.stack(name)
    warn(view.warnings, form)
    show(form, view.to_dict(), *_tables(view))


@shell_command("isotherm stack watch web", group=stack)
@click.argument("name")
def watch(shell: Shell, name: str, form: str) -> None:
    """Follow an operation to its end.

    Shows the progress of the operation in progress on the stack. Without a broker this also carries on an operation
    that an interrupted command left.
    """
    with shell.service() as service:
        present = service.stack(name)
        after = last_event(service, present.id)
        # A rollback is never the requested end.
        action = "" if present.action == "ROLLBACK" else present.action
        follow_or_leave(shell, service, present, action=action, wait=True, form=form, after=after)


@shell_command(
    "isotherm stack graph web | dot -Tsvg > web.svg",
    "isotherm stack graph web -f mermaid",
    group=stack,
    forms=("dot", "mermaid", "json"),
)
@click.argument("name")
def graph(shell: Shell, name: str, form: str) -> None:
    """Draw the dependency graph of a stack.

    An arrow points from a resource to one that it requires.
    """
    with shell.service() as service:
        view = service.graph(name)
    if form == "json":
        show(form, view.to_dict())
    else:
        click.echo(drawing.as_dot(view, name) if form == "dot" else drawing.as_mermaid(view), nl=False)


def _tables(view: "StackView") -> list[Table]:
    fields: dict[str, Any] = {
        "name": view.name,
        "id": view.id,
        "project": view.project,
        "description": view.description.strip(),
        "state": view.state,
        "reason": view.reason,
        **({"rolled back": view.rolled_back} if view.rolled_back else {}),
        "in service": "yes" if view.in_service else "no",
        **({"protected": "yes"} if view.protected else {}),
        **({"partial": f"not as defined: {', '.join(view.partial)}"} if view.partial else {}),
        **({"stale": "a value of another stack's output is outdated"} if view.stale else {}),
        **({"stale in": ", ".join(view.stale_readers)} if view.stale_readers else {}),
        "created": moment(view.created_at),
        "updated": moment(view.updated_at),
        "timeout": f"{view.timeout_minutes:g} min",
        **({"tags": ", ".join(view.tags)} if view.tags else {}),
    }
    tables = [fields_table(fields)]
    if view.parameters:
        tables.append(fields_table(view.parameters, "parameters"))
    if view.outputs:
        tables.append(outputs_table(view.outputs))
    if view.annotations:
        tables.append(fields_table(view.annotations, "annotations"))
    return tables
