"""``isotherm stack resource``: list, show and signal the resources of a stack."""

from typing import TYPE_CHECKING

import click

from orchestrator.cli.ending import follow_or_leave
from orchestrator.cli.events import last_event
from orchestrator.cli.formats import Table, fields_table, moment, printable, show
from orchestrator.cli.options import comment_option, example, json_object, shell_command
from orchestrator.cli.shell import Shell

if TYPE_CHECKING:
    from orchestrator.views.stacks import ResourceView


@click.group()
def resource() -> None:
    """Show, signal and mark resources of a stack."""


@shell_command(
    "isotherm stack resource list web", "isotherm stack resource list web -n 2", group=resource, name="list"
)
@click.argument("name")
@click.option(
    "-n",
    "--nested-depth",
    "depth",
    type=click.IntRange(min=0),
    default=0,
    metavar="DEPTH",
    help="Include so many levels of nested stacks.",
)
def list_resources(shell: Shell, name: str, depth: int, form: str) -> None:
    """List the resources of a stack.

    With -n the resources of a nested stack follow it, each with its path of names.
    """
    with shell.service() as service:
        resources = service.resources(name, depth=depth)
    rows = [
        (
            "/".join((*view.within, view.name)),
            view.type,
            f"{view.state}, protected" if view.protected else view.state,
            view.physical_id,
            moment(view.updated_at),
            view.reason,
        )
        for view in resources
    ]
    table = Table(columns=("name", "type", "state", "physical id", "updated", "reason"), rows=rows)
    show(form, [view.to_dict() for view in resources], table)


@shell_command(
    "isotherm stack resource show web server -f yaml",
    "isotherm stack resource show web server --all-attributes",
    group=resource,
    name="show",
)
@click.argument("name")
@click.argument("resource_name", metavar="RESOURCE")
@click.option(
    "--all-attributes",
    "is_live",
    is_flag=True,
    help="Read all attributes of its type from the object now, in this process: it needs the settings of clients.",
)
def show_resource(shell: Shell, name: str, resource_name: str, *, is_live: bool, form: str) -> None:
    """Show one resource of a stack.

    Its properties are those that were applied last; values that may be secrets are masked. Its attributes and its
    metadata are shown as they were last recorded; recorded are the attributes that others refer to.
    """
    with shell.service() as service:
        view = (service.live_resource if is_live else service.resource)(name, resource_name)
    show(form, view.to_dict(), *_tables(view))


@shell_command(
    "isotherm stack resource logs web server",
    "isotherm stack resource logs web server -f json",
    group=resource,
    name="logs",
)
@click.argument("name")
@click.argument("resource_name", metavar="RESOURCE")
def resource_logs(shell: Shell, name: str, resource_name: str, form: str) -> None:
    """Show what the steps of a resource logged.

    Those of its last steps, oldest first: of each as many lines as there was room for, without known secrets.
    """
    from orchestrator.views.times import iso

    with shell.service() as service:
        steps = service.resource_logs(name, resource_name)[::-1]
    rows = []
    for step in steps:
        rows += [(iso(line.at), step.action, step.worker, line.level, line.message) for line in step.lines]
        if step.left_out:
            rows.append((iso(step.at), step.action, step.worker, "", f"{step.left_out} more had no room"))
    table = Table(columns=("time", "action", "worker", "level", "message"), rows=rows)
    show(form, [step.to_dict() for step in steps], table)


@resource.command(
    epilog=example(
        "isotherm stack resource signal web handle",
        """isotherm stack resource signal web handle -d '{"status": "SUCCESS", "data": "ready"}'""",
    )
)
@click.argument("name")
@click.argument("resource_name", metavar="RESOURCE")
@click.option(
    "-d",
    "--data",
    # curl's name: scripts append it to a handle's attribute curl_cli.
    "--data-binary",
    "data",
    default="{}",
    metavar="JSON",
    help="The data of the signal: a JSON object; @FILE reads it from a file, @- from stdin.",
)
@comment_option
@click.pass_obj
def signal(shell: Shell, name: str, resource_name: str, data: str) -> None:
    """Send a signal to a resource.

    A wait condition's handle, for example, counts the signals that it gets; a scaling policy makes its group larger or
    smaller. The result of a signal is among the events.
    """
    details = json_object(data, path="--data", such_as='{"status": "SUCCESS"}')
    with shell.service() as service:
        changing = service.signal(name, resource_name, details)
        click.echo(f"{printable(resource_name)} in {printable(name)} was signalled", err=True)
        if changing is None:
            return
        if not shell.settings.embedded:
            click.echo(f"{printable(changing.name)} changes: isotherm stack watch {changing.id}", err=True)
            return
        # In embedded mode this command has to do the work.
        after = last_event(service, changing.id)
        follow_or_leave(
            shell, service, changing, action=changing.action, wait=True, form="table", after=after
        )


def _tables(view: "ResourceView") -> list[Table]:
    fields = {
        "name": view.name,
        "type": view.type,
        "state": view.state,
        **({"protected": "yes"} if view.protected else {}),
        "reason": view.reason,
        "physical id": view.physical_id,
        "uuid": view.uuid,
        "requires": ", ".join(view.requires),
        "created": moment(view.created_at),
        "updated": moment(view.updated_at),
    }
    tables = [fields_table(fields)]
    titled = (
        ("properties", view.properties),
        ("attributes", view.attributes),
        ("attributes that could not be read", view.attribute_errors),
        ("metadata", view.metadata),
        ("annotations", view.annotations),
    )
    for title, values in titled:
        if values:
            tables.append(fields_table(values, title))
    return tables
