"""``isotherm stack event``: what happened to a stack."""

from collections.abc import Iterable

import click

from orchestrator.cli.face import StackService
from orchestrator.cli.formats import Table, as_json, as_yaml, moment, show
from orchestrator.cli.options import example, format_option
from orchestrator.cli.progress import event_line, events_after
from orchestrator.cli.shell import Shell
from orchestrator.errors import NotFound
from orchestrator.views import EventView

#: Seconds between two looks for new events.
FOLLOW_SECONDS = 0.5


@click.group()
def event() -> None:
    """Show what happened to a stack."""


@event.command(
    "list", epilog=example("isotherm stack event list web", "isotherm stack event list web --follow")
)
@click.argument("name")
@click.option(
    "--follow",
    is_flag=True,
    help="Go on until interrupted, or until the stack is gone. JSON is then one object a line.",
)
@format_option()
@click.pass_obj
def list_events(shell: Shell, name: str, *, follow: bool, form: str) -> None:
    """List the events of a stack, oldest first."""
    with shell.service() as service:
        stack_id = service.stack(name).id
        if follow:
            _follow(shell, service, stack_id, form)
            return
        events = list(events_after(service, stack_id, 0))
    rows = [
        (moment(view.at), view.resource or view.stack, view.type, view.state, view.reason) for view in events
    ]
    table = Table(columns=("at", "resource", "type", "state", "reason"), rows=rows)
    show(form, [view.to_dict() for view in events], table)


def _follow(shell: Shell, service: StackService, stack_id: str, form: str) -> None:
    after = 0
    while True:
        # Asked before the events are read: those of the deletion itself are shown too.
        is_gone = _is_gone(service, stack_id)
        events = list(events_after(service, stack_id, after))
        _write(events, form)
        after = events[-1].id if events else after
        if is_gone:
            return
        shell.pause(FOLLOW_SECONDS)


def _is_gone(service: StackService, stack_id: str) -> bool:
    try:
        view = service.stack(stack_id)
    except NotFound:
        return True
    # Asked for by its id, a deleted stack is still known.
    return view.state == "DELETE_COMPLETE"


def _write(events: Iterable[EventView], form: str) -> None:
    for view in events:
        if form == "json":
            click.echo(as_json(view.to_dict(), indent=None))
        elif form == "yaml":
            click.echo("---\n" + as_yaml(view.to_dict()), nl=False)
        else:
            click.echo(event_line(view))
