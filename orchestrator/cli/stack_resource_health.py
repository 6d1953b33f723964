"""``isotherm stack resource mark-unhealthy`` and ``metadata``: what is said of a resource, and what it is told."""

import click

from orchestrator.cli.formats import fields_table, show
from orchestrator.cli.options import example, format_option
from orchestrator.cli.shell import Shell


@click.command(
    "mark-unhealthy",
    epilog=example(
        "isotherm stack resource mark-unhealthy web server --reason 'its disk is dying'",
        "isotherm stack resource mark-unhealthy web server --reset",
    ),
)
@click.argument("name")
@click.argument("resource_name", metavar="RESOURCE")
@click.option("--reason", default="", metavar="TEXT", help="Why, for people.")
@click.option("--reset", is_flag=True, help="Say that it is sound after all: it is CHECK_COMPLETE then.")
@format_option()
@click.pass_obj
def mark_unhealthy(
    shell: Shell, name: str, resource_name: str, *, reason: str, reset: bool, form: str
) -> None:
    """Have a resource replaced by the next update.

    It is CHECK_FAILED, whatever it looks like, until an update replaces it. With --reset a resource that is
    CHECK_FAILED, because somebody said so or because a check found it so, is left alone by updates again.
    """
    with shell.service() as service:
        view = service.mark_unhealthy(name, resource_name, reason=reason, reset=reset)
    fields = {"name": view.name, "state": view.state, "reason": view.reason}
    show(form, view.to_dict(), fields_table(fields))


@click.command("metadata", epilog=example("isotherm stack resource metadata web server -f json"))
@click.argument("name")
@click.argument("resource_name", metavar="RESOURCE")
@format_option()
@click.pass_obj
def metadata(shell: Shell, name: str, resource_name: str, form: str) -> None:
    """Show the metadata that a resource has now.

    They are from its template, and changed by signals since.
    """
    with shell.service() as service:
        view = service.resource(name, resource_name)
    show(form, view.metadata, fields_table(view.metadata, "metadata"))
