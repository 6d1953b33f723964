"""``isotherm stack template``, ``environment`` and ``files``: the definition of a stack, as it was given."""

import click

from orchestrator.cli.formats import Table, as_json, as_yaml, show
from orchestrator.cli.options import shell_command, traversal_option
from orchestrator.cli.shell import Shell


@click.group()
def template() -> None:
    """Show the template of a stack."""


@click.group()
def environment() -> None:
    """Show the environments of a stack."""


@click.group()
def files() -> None:
    """Show the files of a stack."""


@shell_command(
    "isotherm stack template show web",
    "isotherm stack template show web -f json",
    group=template,
    name="show",
    forms=("text", "json", "yaml"),
)
@click.argument("name")
@traversal_option
def show_template(shell: Shell, name: str, *, traversal_id: str | None, form: str) -> None:
    """Show a stack's template as it was given.

    The defaults of hidden parameters are masked. With --traversal, the template of an earlier operation is shown.
    """
    with shell.service() as service:
        view = service.observer.definition(name, traversal_id, shows_values=True)
    if form != "text":
        show(form, {"file": view.file, "source": view.source})
    else:
        click.echo(view.source, nl=not view.source.endswith("\n"))


@shell_command(
    "isotherm stack environment show web",
    "isotherm stack environment show web -f json",
    group=environment,
    name="show",
    forms=("yaml", "json"),
)
@click.argument("name")
@traversal_option
def show_environment(shell: Shell, name: str, *, traversal_id: str | None, form: str) -> None:
    """Show a stack's environments as given.

    One document each, in their order: later ones win. Values are shown of parameters that the stack's own template
    declares and does not hide; options of event sinks are masked.
    """
    with shell.service() as service:
        views = service.observer.environments(name, traversal_id)
    if form == "json":
        click.echo(as_json([view.to_dict() for view in views]))
        return
    for view in views:
        # A name may have a line break in it.
        click.echo(f"--- # {view.file!r}\n{as_yaml(view.content)}", nl=False)


@shell_command("isotherm stack files list web", group=files, name="list")
@click.argument("name")
@traversal_option
def list_files(shell: Shell, name: str, *, traversal_id: str | None, form: str) -> None:
    """List the files that came with a definition."""
    with shell.service() as service:
        found = service.observer.definition(name, traversal_id).files
    data = [{"name": file, "characters": length} for file, length in found]
    show(form, data, Table(columns=("name", "characters"), rows=list(found)))


@shell_command(
    "isotherm stack files show web user_data.sh",
    group=files,
    name="show",
    forms=("text", "json", "yaml"),
)
@click.argument("name")
@click.argument("file")
@traversal_option
def show_file(shell: Shell, name: str, file: str, *, traversal_id: str | None, form: str) -> None:
    """Show the content of one file.

    Nothing is masked: it needs the role for 'isotherm stack export'.
    """
    with shell.service() as service:
        content = service.observer.file(name, file, traversal_id)
    if form != "text":
        show(form, {"name": file, "content": content})
    else:
        click.echo(content, nl=False)
