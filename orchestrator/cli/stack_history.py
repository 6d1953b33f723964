"""``isotherm stack history``: the operations on a stack, newest first."""

from typing import TYPE_CHECKING

import click

from orchestrator.cli.events import PAGE
from orchestrator.cli.formats import Table, fields_table, moment, show
from orchestrator.cli.options import shell_command
from orchestrator.cli.shell import Shell
from orchestrator.cli.times import duration

if TYPE_CHECKING:
    from orchestrator.views.stacks import TraversalView

#: The length to which a template's id is shortened.
SHORT = 12


@shell_command(
    "isotherm stack history web",
    "isotherm stack history web --limit 5 -f json",
    "isotherm stack history web --traversal 5f2b1a94-0c8f-4f0e-9a55-0a2f6f8d3c11",
)
@click.argument("name")
@click.option("--limit", type=click.IntRange(min=1), metavar="N", help="Show this many at most.")
@click.option(
    "--marker",
    default="",
    metavar="ID",
    help="Begin after the operation with this id, with the next older one.",
)
@click.option(
    "--traversal",
    "traversal_id",
    metavar="ID",
    help="Show this operation, with its resources by state and its lifecycle plugin calls.",
)
def history(
    shell: Shell, name: str, *, limit: int | None, marker: str, traversal_id: str | None, form: str
) -> None:
    """List the operations on a stack, newest first.

    Each is shown with its action, its result, its duration, and the numbers of resources that it created, changed,
    deleted and that failed. The operations on a deleted stack are found by its id, and by its name if no other stack
    has it, until they are purged.
    """
    if traversal_id is not None:
        if limit is not None or marker:
            raise click.UsageError("--traversal shows one operation: leave --limit and --marker out")
        with shell.service() as service:
            view = service.traversal(name, traversal_id)
        show(form, view.to_dict(), *_tables(view))
        return
    views: list[TraversalView] = []
    with shell.service() as service:
        while limit is None or len(views) < limit:
            size = PAGE if limit is None else min(PAGE, limit - len(views))
            page = service.history(name, after=marker, limit=size)
            views += page
            if len(page) < size:
                break
            marker = page[-1].id
    show(form, [view.to_dict() for view in views], _list_table(views))
    if form == "table" and limit is not None and len(views) == limit:
        click.echo(f"There may be more: --marker {views[-1].id} goes on.", err=True)


def _list_table(views: list["TraversalView"]) -> Table:
    columns = (
        *(
            "begun",
            "state",
            "took",
            "made",
            "changed",
            "replaced",
            "deleted",
            "failed",
            "template",
            "id",
            "reason",
        ),
        "user",
        "comment",
    )
    rows = [
        (
            moment(view.begun_at),
            view.state,
            _took(view),
            view.made,
            view.changed,
            view.replaced,
            view.deleted,
            view.failed,
            view.template_id[:SHORT],
            view.id,
            view.reason,
            view.user,
            view.comment,
        )
        for view in views
    ]
    return Table(columns=columns, rows=rows)


def _tables(view: "TraversalView") -> list[Table]:
    fields = {
        "id": view.id,
        "stack": view.stack,
        "stack id": view.stack_id,
        "state": view.state,
        "reason": view.reason,
        "user": view.user,
        "comment": view.comment,
        **({"plan": view.plan, "planned by": view.planned_by} if view.plan else {}),
        **({"targets": ", ".join(view.targets)} if view.targets else {}),
        **({"to replace": ", ".join(view.replaces)} if view.replaces else {}),
        "begun": moment(view.begun_at),
        "ended": "" if view.ended_at is None else moment(view.ended_at),
        "took": _took(view),
        "template": view.template_id,
        "made": view.made,
        "changed": view.changed,
        "replaced": view.replaced,
        "deleted": view.deleted,
        "failed": view.failed,
    }
    tables = [fields_table(fields)]
    if view.nodes:
        tables.append(fields_table(dict(sorted(view.nodes.items())), "resources by state"))
    if view.plugins:
        rows = [
            (
                each.plugin,
                each.state,
                "" if each.asked_seconds is None else duration(each.asked_seconds),
                "" if each.told_seconds is None else duration(each.told_seconds),
                each.error,
                "; ".join(each.warnings),
            )
            for each in view.plugins
        ]
        columns = ("plugin", "state", "pre_op took", "post_op took", "error", "warnings")
        tables.append(Table(columns=columns, rows=rows, title="lifecycle plugins"))
    return tables


def _took(view: "TraversalView") -> str:
    return "" if view.duration_seconds is None else duration(view.duration_seconds)
