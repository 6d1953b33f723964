"""``isotherm event-sink``: positions and backlogs of event sinks, and the removal of a sink's position."""

import click

from orchestrator.cli.formats import Table, fields_table, moment, show
from orchestrator.cli.options import shell_command
from orchestrator.cli.shell import Shell


@click.group("event-sink")
def event_sink() -> None:
    """Show the delivery of events to event sinks."""


@shell_command("isotherm event-sink list", "isotherm event-sink list -f json", group=event_sink, name="list")
def list_sinks(shell: Shell, form: str) -> None:
    """List event sinks with their backlogs.

    POSITION is the id of the last event delivered to a sink, BACKLOG the number of events not delivered yet, and LOST
    the number that will never be: events beyond the setting max_sink_backlog_events are not kept. A sink that an
    environment names gets the events of one STACK.
    """
    with shell.service() as service:
        views = service.event_sinks()
    columns = ("name", "type", "stack", "enabled", "position", "backlog", "lost", "failing since", "error")
    rows = [
        (
            view.name,
            view.type,
            view.stack,
            "yes" if view.enabled else "no",
            "" if view.position is None else view.position,
            view.backlog,
            view.lost,
            "" if view.failing_since is None else moment(view.failing_since),
            view.error,
        )
        for view in views
    ]
    show(form, [view.to_dict() for view in views], Table(columns=columns, rows=rows))


@shell_command("isotherm event-sink forget webhook", group=event_sink)
@click.argument("name")
def forget(shell: Shell, name: str, form: str) -> None:
    """Stop keeping events for a sink.

    For a sink that was removed: disable it first, or remove its package. Its backlog is never delivered; if it is
    enabled again, it gets the events from then on. A sink that an environment names has the name shown in the list.
    """
    with shell.service() as service:
        service.forget_event_sink(name)
    forgotten = {"name": name, "state": "forgotten"}
    show(form, forgotten, fields_table(forgotten))
