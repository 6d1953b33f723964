"""``isotherm queue``: the messages that processes have refused."""

from dataclasses import asdict

import click

from orchestrator.cli.formats import Table, fields_table, moment, show
from orchestrator.cli.options import shell_command
from orchestrator.cli.shell import Shell
from orchestrator.views.times import iso


@click.group()
def queue() -> None:
    """Show what came over the broker and was refused."""


@queue.group()
def refused() -> None:
    """Show and remove refused messages.

    A message is refused that is not signed, not for its receiver, late, too large, or unreadable. Its content is not
    kept.
    """


@shell_command(
    "isotherm queue refused list", "isotherm queue refused list -f json", group=refused, name="list"
)
@click.option(
    "--limit", type=click.IntRange(min=1), default=20, show_default=True, help="How many messages to show."
)
def list_refused(shell: Shell, *, limit: int, form: str) -> None:
    """Count refused messages, and list the newest.

    They are counted by place and reason.
    """
    with shell.service() as service:
        counts, newest = service.refused.counts(), service.refused.newest(limit)
    data = {
        "counts": [{**asdict(each), "last_at": iso(each.last_at)} for each in counts],
        "newest": [{**asdict(each), "received_at": iso(each.received_at)} for each in newest],
    }
    show(
        form,
        data,
        Table(
            columns=("place", "reason", "count", "last at"),
            rows=[(each.place, each.reason, each.amount, moment(each.last_at)) for each in counts],
        ),
        Table(
            columns=("no", "received at", "place", "reason", "task", "message", "bytes"),
            rows=[
                (
                    each.no,
                    moment(each.received_at),
                    each.place,
                    each.reason,
                    each.task,
                    each.message_id,
                    each.size_bytes,
                )
                for each in newest
            ],
            title="newest",
        ),
    )


@shell_command("isotherm queue refused show 12", group=refused, name="show")
@click.argument("no", type=int)
def show_refused(shell: Shell, *, no: int, form: str) -> None:
    """Show one refused message."""
    with shell.service() as service:
        found = service.refused.get(no)
    fields = {**asdict(found), "received_at": iso(found.received_at)}
    show(form, fields, fields_table(fields))


@shell_command("isotherm queue refused purge", group=refused)
def purge(shell: Shell, *, form: str) -> None:
    """Remove all refused messages, and their counts."""
    with shell.service() as service:
        removed = {"purged": service.refused.purge()}
    show(form, removed, fields_table(removed))
