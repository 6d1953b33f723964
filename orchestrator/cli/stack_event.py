"""``isotherm stack event``: the events of a stack, listed or followed."""

from collections.abc import Iterable
from typing import TYPE_CHECKING, Any

import click

from hooks.values.states import ACTIONS, STATUSES
from orchestrator.cli.events import PAGE, event_line, events_after
from orchestrator.cli.formats import Table, as_json, as_yaml, fields_table, moment, show
from orchestrator.cli.options import shell_command
from orchestrator.cli.shell import Shell
from orchestrator.cli.times import MOMENT
from orchestrator.errors import NotFound
from orchestrator.model.event_filter import EventFilter

if TYPE_CHECKING:
    from orchestrator.service import Service
    from orchestrator.views.stacks import EventView

#: Seconds between two queries for new events.
FOLLOW_SECONDS = 0.5


@click.group()
def event() -> None:
    """Show the events of a stack."""


@shell_command(
    "isotherm stack event list web",
    "isotherm stack event list web --follow",
    "isotherm stack event list web --reverse --limit 20 --status FAILED --since 12h",
    "isotherm stack event list web --resource 'server*' -f json",
    group=event,
    name="list",
)
@click.argument("name")
@click.option("--limit", type=click.IntRange(min=1), metavar="N", help="Show this many at most.")
@click.option(
    "--marker",
    type=click.IntRange(min=0),
    metavar="ID",
    help="Begin after the event with this id, which was the last of a page.",
)
@click.option("--reverse", is_flag=True, help="Newest first.")
@click.option(
    "--resource",
    "resources",
    multiple=True,
    metavar="NAME",
    help="Only events of this resource; * and ? match any characters, '' is the stack itself. May be repeated.",
)
@click.option(
    "--type", "types", multiple=True, metavar="TYPE", help="Only events of this type; as --resource."
)
@click.option(
    "--action",
    "actions",
    multiple=True,
    type=click.Choice(ACTIONS, case_sensitive=False),
    help="Only events of this action; may be given several times.",
)
@click.option(
    "--status",
    "statuses",
    multiple=True,
    type=click.Choice(STATUSES, case_sensitive=False),
    help="Only events with this status; may be given several times.",
)
@click.option(
    "--since",
    type=MOMENT,
    metavar="TIME",
    help="Only events since this time: 2026-03-01T12:00:00Z, or 90m ago, 12h, 2d.",
)
@click.option(
    "--traversal", "traversal_id", metavar="ID", help="Only events of this operation; see stack history."
)
@click.option(
    "--follow",
    is_flag=True,
    help="Show new events until interrupted, or until the stack is deleted. JSON is then one object a line.",
)
def list_events(
    shell: Shell,
    /,
    name: str,
    *,
    limit: int | None,
    marker: int | None,
    reverse: bool,
    follow: bool,
    form: str,
    **wanted: Any,
) -> None:
    """List the events of a stack, oldest first.

    The events of a deleted stack are found by its id, and by its name if no other stack has it, until they are purged.
    The newest events of each stack are kept, up to the setting max_events_per_stack.
    """
    if follow and (reverse or limit is not None):
        raise click.UsageError(
            "--follow shows all events, oldest first: it cannot be combined with --reverse or --limit"
        )
    fits = EventFilter(**wanted)
    with shell.service() as service:
        if follow:
            _follow(shell, service, name, form, after=marker or 0, wanted=fits)
            return
        events = _page(service, name, fits, marker=marker, limit=limit, reverse=reverse)
    rows = [
        (view.id, moment(view.at), view.resource or view.stack, view.type, view.state, view.reason)
        for view in events
    ]
    table = Table(columns=("id", "at", "resource", "type", "state", "reason"), rows=rows)
    show(form, [view.to_dict() for view in events], table)
    if form == "table" and limit is not None and len(events) == limit:
        click.echo(f"There may be more: --marker {events[-1].id} goes on.", err=True)


@shell_command("isotherm stack event show web 1207", group=event, name="show")
@click.argument("name")
@click.argument("event_id", metavar="ID", type=click.IntRange(min=0))
def show_event(shell: Shell, name: str, event_id: int, form: str) -> None:
    """Show one event of a stack."""
    with shell.service() as service:
        view = service.event(name, event_id)
    fields = {
        "id": view.id,
        "at": moment(view.at),
        "stack": view.stack,
        "traversal": view.traversal_id,
        "resource": view.resource,
        "resource uuid": view.resource_uuid,
        "type": view.type,
        "state": view.state,
        "reason": view.reason,
        "physical id": view.physical_id,
        "cause": view.cause,
        "worker": view.worker,
    }
    show(form, view.to_dict(), fields_table(fields))


def _page(
    service: "Service",
    name: str,
    wanted: EventFilter,
    *,
    marker: int | None,
    limit: int | None,
    reverse: bool,
) -> list["EventView"]:
    """Return at most ``limit`` events after a marker, newest first with ``reverse``."""
    events: list[EventView] = []
    while limit is None or len(events) < limit:
        size = PAGE if limit is None else min(PAGE, limit - len(events))
        if reverse:
            page = service.events(name, before=marker, newest_first=True, limit=size, wanted=wanted)
        else:
            page = service.events(name, after=marker or 0, limit=size, wanted=wanted)
        events += page
        if len(page) < size:
            break
        marker = page[-1].id
    return events


def _follow(
    shell: Shell, service: "Service", name: str, form: str, *, after: int, wanted: EventFilter
) -> None:
    # By its id: another stack may get its name.
    stack_id = service.history(name, limit=1)[0].stack_id
    while True:
        # Before the events are read, so that the events of the deletion itself are shown.
        is_gone = _is_gone(service, stack_id)
        events = list(events_after(service, stack_id, after, wanted=wanted))
        _write(events, form)
        after = events[-1].id if events else after
        if is_gone:
            return
        shell.pause(FOLLOW_SECONDS)


def _is_gone(service: "Service", stack_id: str) -> bool:
    try:
        latest = service.history(stack_id, limit=1)
    except NotFound:
        return True
    # By its id a deleted stack is still found.
    return not latest or latest[0].state == "DELETE_COMPLETE"


def _write(events: Iterable["EventView"], form: str) -> None:
    for view in events:
        if form == "json":
            click.echo(as_json(view.to_dict(), indent=None))
        elif form == "yaml":
            click.echo("---\n" + as_yaml(view.to_dict()), nl=False)
        else:
            click.echo(event_line(view))
