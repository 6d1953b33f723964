"""``isotherm stack protect`` and ``unprotect``: keep a stack, or resources of it, from being lost."""

import click

from orchestrator.cli.formats import Table, show
from orchestrator.cli.options import comment_option, shell_command
from orchestrator.cli.shell import Shell

_resources = click.argument("resources", nargs=-1, metavar="[RESOURCE]...")


@shell_command(
    "isotherm stack protect web",
    "isotherm stack protect web database --comment 'holds the orders'",
    "isotherm stack protect web tier/database",
)
@click.argument("name")
@_resources
@comment_option
def protect(shell: Shell, name: str, *, resources: tuple[str, ...], form: str) -> None:
    """Protect a stack, or resources of it.

    A protected stack is not deleted or abandoned. A protected RESOURCE is neither deleted nor replaced, whatever the
    order: an update, a rollback, a restore, a signal, or the deletion of a stack that it is nested in; it is still
    changed in place. Such orders are refused before anything is touched; a replacement that only a worker finds to be
    needed fails there, and the resource stays as it is.

    Name a resource of a nested stack by its path, as 'isotherm stack resource list -n 9' shows it. An order with
    --unprotect may override the protection, once.
    """
    _mark(shell, name, resources, form, protected=True)


@shell_command("isotherm stack unprotect web", "isotherm stack unprotect web database")
@click.argument("name")
@_resources
@comment_option
def unprotect(shell: Shell, name: str, *, resources: tuple[str, ...], form: str) -> None:
    """Take protection off again.

    Without RESOURCE, that of the stack itself; its resources keep theirs.
    """
    _mark(shell, name, resources, form, protected=False)


def _mark(shell: Shell, name: str, resources: tuple[str, ...], form: str, *, protected: bool) -> None:
    with shell.service() as service:
        stack = service.protect(name, resources, protected=protected)
        views = service.resources(stack.id, depth=max((each.count("/") for each in resources), default=0))
    by_path = {"/".join((*view.within, view.name)): view for view in views}
    marked = {path: by_path[path].protected for path in resources} or {"": stack.protected}
    rows = [(stack.name, path, "yes" if is_protected else "no") for path, is_protected in marked.items()]
    data = [
        {"stack": stack.name, "resource": path, "protected": is_protected}
        for path, is_protected in marked.items()
    ]
    show(form, data, Table(columns=("stack", "resource", "protected"), rows=rows))
