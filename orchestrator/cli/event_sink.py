"""``isotherm event-sink``: how far event sinks have been told, and forgetting those that are gone."""

import click

from orchestrator.cli.formats import Table, fields_table, moment, show
from orchestrator.cli.options import example, format_option
from orchestrator.cli.shell import Shell


@click.group("event-sink")
def event_sink() -> None:
    """Show how far event sinks have been told."""


@event_sink.command("list", epilog=example("isotherm event-sink list", "isotherm event-sink list -f json"))
@format_option()
@click.pass_obj
def list_sinks(shell: Shell, form: str) -> None:
    """List event sinks, and what waits for them.

    POSITION is the id of the last event that a sink was told, BACKLOG how many it was not told yet, and LOST how many
    it never will be: beyond the setting max_sink_backlog_events they are not kept. A sink that an environment names
    is told of one STACK.
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


@event_sink.command(epilog=example("isotherm event-sink forget webhook"))
@click.argument("name")
@format_option()
@click.pass_obj
def forget(shell: Shell, name: str, form: str) -> None:
    """Keep no events any more for a sink.

    For one that is gone: disable it first, or remove its package. What waits for it is never told; if it is enabled
    again, it is told what happens from then on. A sink that an environment names goes by the name in the list.
    """
    with shell.service() as service:
        service.forget_event_sink(name)
    forgotten = {"name": name, "state": "forgotten"}
    show(form, forgotten, fields_table(forgotten))
