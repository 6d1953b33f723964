"""``isotherm stack output``: the outputs of a stack and their values."""

from typing import TYPE_CHECKING

import click

from orchestrator.cli.errors import STACK_FAILED
from orchestrator.cli.formats import FORMS, Table, as_json, fields_table, show
from orchestrator.cli.options import shell_command
from orchestrator.cli.shell import Shell

if TYPE_CHECKING:
    from orchestrator.views.stacks import OutputView


@click.group()
def output() -> None:
    """Show the outputs of a stack."""


@shell_command("isotherm stack output list web", group=output, name="list")
@click.argument("name")
def list_outputs(shell: Shell, name: str, form: str) -> None:
    """List the outputs of a stack."""
    with shell.service() as service:
        outputs = service.outputs(name)
    rows = [(view.key, view.description) for view in outputs]
    data = [{"key": view.key, "description": view.description} for view in outputs]
    show(form, data, Table(columns=("key", "description"), rows=rows))


@shell_command(
    "isotherm stack output show web",
    'URL="$(isotherm stack output show web url -f value)"',
    group=output,
    name="show",
    forms=(*FORMS, "value"),
)
@click.argument("name")
@click.argument("key", required=False)
def show_output(shell: Shell, name: str, key: str | None, form: str) -> None:
    """Show an output, or all of them.

    The format ``value`` writes only the value: text as it is, everything else as JSON. If KEY has no value, the command
    ends with 1.
    """
    if key is None:
        _show_all(shell, name, form)
        return
    with shell.service() as service:
        view = service.output(name, key)
    if form == "value":
        _write_value(view)
    else:
        description = view.description.strip()
        fields = {"key": view.key, "description": description, "value": view.value, "error": view.error}
        show(form, view.to_dict(), fields_table(fields))
    if view.error:
        raise click.exceptions.Exit(STACK_FAILED)


def _show_all(shell: Shell, name: str, form: str) -> None:
    if form == "value":
        raise click.UsageError("-f value writes one value: name the KEY of the output")
    with shell.service() as service:
        outputs = service.outputs(name)
    rows = [
        (view.key, f"error: {view.error}" if view.error else view.value, view.description) for view in outputs
    ]
    table = Table(columns=("key", "value", "description"), rows=rows)
    show(form, [view.to_dict() for view in outputs], table)


def _write_value(view: "OutputView") -> None:
    if view.error:
        click.echo(f"Error: output {view.key!r} has no value: {view.error}", err=True)
    elif view.value is not None:
        click.echo(view.value if isinstance(view.value, str) else as_json(view.value, indent=None))
