"""``isotherm stack export`` and ``isotherm stack abandon``: write a stack as a document, and give its objects up."""

import sys
from typing import TYPE_CHECKING

import click

from orchestrator.cli.ending import follow_or_leave, refuse_to_leave, wait_for_end
from orchestrator.cli.errors import BAD_INPUT
from orchestrator.cli.events import last_event
from orchestrator.cli.formats import as_json, as_yaml, fields_table, printable, show
from orchestrator.cli.options import (
    comment_option,
    force_option,
    shell_command,
    unprotect_option,
    wait_option,
    yes_option,
)
from orchestrator.cli.shell import Shell
from orchestrator.config.secret_file import write_secret_file

if TYPE_CHECKING:
    from orchestrator.views.stacks import StackView

output_option = click.option(
    "-o",
    "--output-file",
    "output",
    metavar="FILE",
    help="Where to write the document, readable by you alone; standard output if left out.",
)


@shell_command(
    "isotherm stack export web -o web.json", "isotherm stack export web -f yaml", forms=("json", "yaml")
)
@click.argument("name")
@output_option
def export(shell: Shell, name: str, *, output: str | None, form: str) -> None:
    """Write a stack as one document.

    It holds the template, environments, files and parameters, and for each resource its physical id, its state, its
    metadata and the data that its type keeps. Nothing is masked: values of hidden parameters and other secrets are
    included. 'isotherm stack adopt' creates a stack from it.
    """
    with shell.service() as service:
        document = service.export(name)
    _write(document, output, form)


@shell_command(
    "isotherm stack abandon web -o web.json",
    "isotherm stack abandon web -o web.json --yes",
    forms=("json", "yaml"),
)
@click.argument("name")
@output_option
@yes_option
@unprotect_option
@force_option
@comment_option
@wait_option
def abandon(
    shell: Shell,
    name: str,
    *,
    output: str | None,
    yes: bool,
    unprotect: bool,
    force: bool,
    wait: bool,
    form: str,
) -> None:
    """Delete a stack, but keep its objects.

    The document of 'isotherm stack export', secrets included, is written first; then the stack is deleted, and every
    object that it created is left as it is. With the document, 'isotherm stack adopt' takes them over again, here or
    elsewhere.
    """
    refuse_to_leave(shell, wait=wait)
    with shell.service() as service:
        present = service.stack(name)
        if not yes and shell.can_answer() and not _confirmed(present):
            click.echo("Nothing was touched.", err=True)
            raise click.exceptions.Exit(BAD_INPUT)
        _warn(present)
        document = service.export(present.id)
        _write(document, output, form)
        after = last_event(service, present.id) if wait else 0
        going = service.abandon(present.id, unprotect=unprotect, force=force)
        if going is None:
            if output:
                show(
                    form, present.to_dict(), fields_table({"name": present.name, "state": "already deleted"})
                )
            return
        if output:
            follow_or_leave(shell, service, going, action="DELETE", wait=wait, form="table", after=after)
        # Only the document is on stdout.
        wait_for_end(shell, service, going, action="DELETE", wait=wait, after=after)


def _write(document: dict[str, object], output: str | None, form: str) -> None:
    text = as_yaml(document) if form == "yaml" else as_json(document) + "\n"
    if output is None or output == "-":
        click.echo(text, nl=False)
        # Before the stack is deleted.
        sys.stdout.flush()
        return
    write_secret_file(output, text)
    click.echo(f"Wrote {printable(output)}; it holds secrets.", err=True)


def _warn(view: "StackView") -> None:
    if view.status == "IN_PROGRESS":
        sentence = (
            f"{printable(view.name)} is {view.state}: unfinished resources may be missing in the document."
        )
        click.echo(sentence, err=True)


def _confirmed(view: "StackView") -> bool:
    question = f"Abandon the stack {printable(view.name)}? Its objects are kept, but no longer managed."
    return click.confirm(question, err=True)
