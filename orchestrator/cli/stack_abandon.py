"""``isotherm stack export`` and ``isotherm stack abandon``: a stack as a document, and no stack any more."""

import sys
from collections.abc import Callable
from typing import Any, TypeVar

import click

from orchestrator.cli.ending import follow_or_leave, refuse_to_leave, wait_for_end
from orchestrator.cli.errors import BAD_INPUT
from orchestrator.cli.formats import as_json, as_yaml, fields_table, printable, show
from orchestrator.cli.options import example, format_option, wait_option
from orchestrator.cli.progress import last_event
from orchestrator.cli.secret_file import write_secret_file
from orchestrator.cli.shell import Shell
from orchestrator.views.stacks import StackView

Command = TypeVar("Command", bound=Callable[..., Any])


def output_option(command: Command) -> Command:
    """Add the option ``-o``."""
    return click.option(
        "-o",
        "--output-file",
        "output",
        metavar="FILE",
        help="Where to write the document, readable by you alone; standard output if left out.",
    )(command)


@click.command(epilog=example("isotherm stack export web -o web.json", "isotherm stack export web -f yaml"))
@click.argument("name")
@output_option
@format_option("json", "yaml")
@click.pass_obj
def export(shell: Shell, name: str, *, output: str | None, form: str) -> None:
    """Write a stack as one document.

    It tells the template, environments, files and parameters, and of each resource its physical id, its state, its
    metadata and what its type keeps. All of it as it is: also the values of hidden parameters and other secrets.
    'isotherm stack adopt' makes a stack of it.
    """
    with shell.service() as service:
        document = service.export(name)
    _write(document, output, form)


@click.command(
    epilog=example("isotherm stack abandon web -o web.json", "isotherm stack abandon web -o web.json --yes")
)
@click.argument("name")
@output_option
@click.option(
    "-y", "--yes", is_flag=True, help="Ask no question; none is asked either when stdin is no terminal."
)
@wait_option
@format_option("json", "yaml")
@click.pass_obj
def abandon(shell: Shell, name: str, *, output: str | None, yes: bool, wait: bool, form: str) -> None:
    """Give a stack up, and leave what it made alone.

    The document of 'isotherm stack export', secrets included, is written first; then the stack goes. With the document,
    'isotherm stack adopt' takes everything over again, here or elsewhere.
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
        going = service.abandon(present.id)
        if going is None:
            if output:
                show(
                    form, present.to_dict(), fields_table({"name": present.name, "state": "already deleted"})
                )
            return
        if output:
            follow_or_leave(shell, service, going, action="DELETE", wait=wait, form="table", after=after)
        # The document is on stdout, and nothing else.
        wait_for_end(shell, service, going, action="DELETE", wait=wait, after=after)


def _write(document: dict[str, Any], output: str | None, form: str) -> None:
    text = as_yaml(document) if form == "yaml" else as_json(document) + "\n"
    if output is None or output == "-":
        click.echo(text, nl=False)
        # Before anything is touched.
        sys.stdout.flush()
        return
    write_secret_file(output, text)
    click.echo(f"Wrote {printable(output)}; it holds secrets.", err=True)


def _warn(view: StackView) -> None:
    if view.status == "IN_PROGRESS":
        sentence = (
            f"{printable(view.name)} is {view.state}: what it is still making may be missing in the document."
        )
        click.echo(sentence, err=True)


def _confirmed(view: StackView) -> bool:
    question = f"Give up the stack {printable(view.name)}? Nobody looks after what it made then."
    return click.confirm(question, err=True)
