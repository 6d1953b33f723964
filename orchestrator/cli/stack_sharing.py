"""``isotherm stack output share`` and ``unshare``: which projects may read outputs of a stack."""

import click

from orchestrator.cli.options import shell_command
from orchestrator.cli.shell import Shell
from orchestrator.cli.stack_dependencies import show_dependencies

_outputs = click.argument("outputs", nargs=-1, required=True, metavar="OUTPUT...")
_with = click.option("--with", "project", required=True, metavar="PROJECT", help="The other project.")


@shell_command(
    "isotherm stack output share network network_id --with shop",
    "isotherm stack output share network network_id subnet_id --with shop -f json",
)
@click.argument("name")
@_outputs
@_with
def share(shell: Shell, name: str, *, outputs: tuple[str, ...], project: str, form: str) -> None:
    """Let stacks of another project read outputs.

    They read them with resources of the type Isotherm::Stack::Output. Anybody who may change stacks of that project
    then sees the values. Stacks of the same project need no share. It is of this stack: a later stack of the same name
    shares nothing.
    """
    with shell.service() as service:
        view = service.sharing.share(name, outputs, project)
    show_dependencies(view, form)


@shell_command("isotherm stack output unshare network network_id --with shop")
@click.argument("name")
@_outputs
@_with
def unshare(shell: Shell, name: str, *, outputs: tuple[str, ...], project: str, form: str) -> None:
    """Share outputs with a project no more.

    Stacks that have read a value keep it; the next update that reads it again fails.
    """
    with shell.service() as service:
        view = service.sharing.unshare(name, outputs, project)
    show_dependencies(view, form)
