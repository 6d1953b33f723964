"""``isotherm stack hook``: the resources that an environment told to stop, and how they are let on."""

import click

from orchestrator.cli.formats import Table, moment, printable, show
from orchestrator.cli.options import example, format_option
from orchestrator.cli.shell import Shell
from orchestrator.template.resource_registry import HOOKS
from orchestrator.views.stacks import HookView


@click.group()
def hook() -> None:
    """Show what stands at hooks, or let it on.

    An environment says under resource_registry, resources, NAME, hooks, where a resource stops: pre-create,
    pre-update and pre-delete, before anything is done to it; post-create, post-update and post-delete, after it was
    done and before what depends on it begins.
    """


@hook.command("list", epilog=example("isotherm stack hook list web", "isotherm stack hook list web -f json"))
@click.argument("name")
@format_option()
@click.pass_obj
def list_hooks(shell: Shell, name: str, form: str) -> None:
    """List the resources that stand at hooks.

    The one that has stood longest comes first.
    """
    with shell.service() as service:
        standing = service.hooks(name)
    _show(standing, form)


@hook.command(
    epilog=example(
        "isotherm stack hook clear web",
        "isotherm stack hook clear web 'server*' --kind pre-update",
        "isotherm stack hook clear web group/0/server",
    )
)
@click.argument("name")
@click.argument("resource_name", metavar="[RESOURCE]", default="*")
@click.option("--kind", type=click.Choice(HOOKS), help="The kind of the hook; any, if it is left out.")
@format_option()
@click.pass_obj
def clear(shell: Shell, name: str, resource_name: str, *, kind: str | None, form: str) -> None:
    """Let on what stands at hooks.

    RESOURCE may have wildcards; without it, all that stand are let on. Of what is in stacks in the stack, it is the
    path: GROUP/0/SERVER. What was let on is listed.
    """
    with shell.service() as service:
        cleared = service.clear_hooks(name, resource_name, kind)
    if not cleared:
        click.echo(f"nothing in {printable(name)} stands at such a hook", err=True)
    _show(cleared, form)
    if cleared and shell.settings.embedded:
        command = f"isotherm stack watch {printable(name)}"
        click.echo(f"The command that follows the stack goes on; if none does: {command}", err=True)


def _show(standing: list[HookView], form: str) -> None:
    rows = [(each.resource, each.kind, moment(each.since), each.uuid) for each in standing]
    table = Table(columns=("resource", "hook", "since", "uuid"), rows=rows)
    show(form, [each.to_dict() for each in standing], table)
