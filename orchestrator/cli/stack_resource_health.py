"""``isotherm stack resource mark-unhealthy`` and ``metadata``: health mark and metadata of a resource."""

import click

from orchestrator.cli.formats import fields_table, show
from orchestrator.cli.options import shell_command
from orchestrator.cli.shell import Shell


@shell_command(
    "isotherm stack resource mark-unhealthy web server --reason 'its disk is dying'",
    "isotherm stack resource mark-unhealthy web server --reset",
    name="mark-unhealthy",
)
@click.argument("name")
@click.argument("resource_name", metavar="RESOURCE")
@click.option("--reason", default="", metavar="TEXT", help="Why; shown with the resource.")
@click.option("--reset", is_flag=True, help="Remove the mark: the resource becomes CHECK_COMPLETE.")
def mark_unhealthy(
    shell: Shell, name: str, resource_name: str, *, reason: str, reset: bool, form: str
) -> None:
    """Mark a resource for replacement.

    The resource becomes CHECK_FAILED, whatever its real state, and the next update replaces it. With --reset a resource
    that is CHECK_FAILED, by this mark or by a check, becomes CHECK_COMPLETE, and updates keep it.
    """
    with shell.service() as service:
        view = service.mark_unhealthy(name, resource_name, reason=reason, reset=reset)
    fields = {"name": view.name, "state": view.state, "reason": view.reason}
    show(form, view.to_dict(), fields_table(fields))


@shell_command("isotherm stack resource metadata web server -f json", name="metadata")
@click.argument("name")
@click.argument("resource_name", metavar="RESOURCE")
def metadata(shell: Shell, name: str, resource_name: str, form: str) -> None:
    """Show the present metadata of a resource.

    They come from its template, and signals may have changed them since.
    """
    with shell.service() as service:
        view = service.resource(name, resource_name)
    show(form, view.metadata, fields_table(view.metadata, "metadata"))
