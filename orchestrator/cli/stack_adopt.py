"""``isotherm stack adopt``: create a stack from existing objects."""

from typing import Unpack

import click

from orchestrator.cli.ending import follow_or_leave, refuse_to_leave
from orchestrator.cli.options import (
    comment_option,
    optional_template_options,
    rollback_option,
    shell_command,
    tags_option,
    timeout_option,
    wait_option,
)
from orchestrator.cli.shell import Shell
from orchestrator.cli.source import Given, adopt_job


@shell_command(
    "isotherm stack adopt web --adopt-file web.json",
    "isotherm stack adopt web --adopt-file web.json -t web.yaml -P count=3",
)
@click.argument("name")
@click.option(
    "--adopt-file",
    required=True,
    metavar="FILE",
    help="The existing objects: a document of 'isotherm stack export', or one with the key 'resources' alone.",
)
@optional_template_options
@rollback_option
@tags_option("Tags of the stack, instead of those in the file.")
@timeout_option
@comment_option
@wait_option
def adopt(
    shell: Shell,
    name: str,
    *,
    adopt_file: str,
    template: str | None,
    wait: bool,
    form: str,
    **given: Unpack[Given],
) -> None:
    """Create a stack from existing objects.

    The adopt file names the object of each resource of the template; each object is checked, as far as its type can,
    and taken over as it is. Nothing is created or changed. Without -t the file's own template, environments and values
    apply, and options override them. From then on the stack is like any other: an update changes the adopted objects,
    and a delete deletes them. If the adoption fails or is cancelled, a rollback leaves every object alone.

    In the file, the key 'resources' is a map by the resources' names; for each, 'resource_id' is its physical id, and
    'type', 'metadata' and 'resource_data' are optional.
    """
    refuse_to_leave(shell, wait=wait)
    job = adopt_job(name, shell.settings, adopt_file=adopt_file, template=template, **given)
    with shell.service() as service:
        going = service.adopt(job)
        follow_or_leave(shell, service, going, action="ADOPT", wait=wait, form=form, after=0)
