"""``isotherm stack hook``: list and clear the hooks at which resources are held."""

from typing import TYPE_CHECKING

import click

from orchestrator.cli.formats import Table, moment, printable, show
from orchestrator.cli.options import comment_option, shell_command
from orchestrator.cli.shell import Shell
from orchestrator.template.resource_registry import HOOKS

if TYPE_CHECKING:
    from orchestrator.views.stacks import HookView


@click.group()
def hook() -> None:
    """List and clear hooks that hold resources.

    An environment sets hooks under resource_registry, resources, NAME, hooks: pre-create, pre-update and pre-delete
    hold a resource before the action; post-create, post-update and post-delete after it, before resources that depend
    on it begin.
    """


@shell_command(
    "isotherm stack hook list web", "isotherm stack hook list web -f json", group=hook, name="list"
)
@click.argument("name")
def list_hooks(shell: Shell, name: str, form: str) -> None:
    """List the resources that are held at hooks.

    The one that has been held longest comes first.
    """
    with shell.service() as service:
        held = service.hooks(name)
    _show(held, form)


@shell_command(
    "isotherm stack hook clear web",
    "isotherm stack hook clear web 'server*' --kind pre-update",
    "isotherm stack hook clear web group/0/server --comment 'ticket 4711'",
    group=hook,
)
@click.argument("name")
@click.argument("resource_name", metavar="[RESOURCE]", default="*")
@click.option("--kind", type=click.Choice(HOOKS), help="The kind of the hook; any, if it is left out.")
@comment_option
def clear(shell: Shell, name: str, resource_name: str, *, kind: str | None, form: str) -> None:
    """Clear hooks, so that resources continue.

    RESOURCE may have wildcards; without it, all hooks are cleared. For a resource in a nested stack it is the path:
    GROUP/0/SERVER. The cleared hooks are listed.
    """
    with shell.service() as service:
        cleared = service.clear_hooks(name, resource_name, kind)
    if not cleared:
        click.echo(f"no resource in {printable(name)} is held at such a hook", err=True)
    _show(cleared, form)
    if cleared and shell.settings.embedded:
        command = f"isotherm stack watch {printable(name)}"
        click.echo(
            f"The command that follows the stack carries on; if there is none, run: {command}", err=True
        )


def _show(held: list["HookView"], form: str) -> None:
    rows = [(each.resource, each.kind, moment(each.since), each.uuid) for each in held]
    table = Table(columns=("resource", "hook", "since", "uuid"), rows=rows)
    show(form, [each.to_dict() for each in held], table)
