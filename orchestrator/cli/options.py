"""Options that several commands share, and the parsing of their values."""

import functools
import json
import math
import sys
from collections.abc import Callable
from typing import Any, TypeVar

import click

from orchestrator.cli.formats import FORMS
from orchestrator.cli.shell import Shell
from orchestrator.errors import InvalidInput, Problem
from orchestrator.model.comments import COMMENT, is_comment
from orchestrator.model.tags import read_tags

Command = TypeVar("Command", bound=Callable[..., Any])


def example(*lines: str) -> str:
    """Return the epilog that shows examples of a command."""
    heading = "Example:" if len(lines) == 1 else "Examples:"
    return "\n".join(["\b", heading, *(f"  {line}" for line in lines)])


def _remember_form(context: click.Context, _: click.Parameter, value: str) -> str:
    # Errors have the same format, also those that click finds after this option.
    context.ensure_object(Shell).form = value
    return value


def format_option(*forms: str, default: str = "") -> Callable[[Command], Command]:
    """Return the option ``-f`` with ``forms``; table, JSON and YAML by default."""
    forms = forms or FORMS
    return click.option(
        "-f",
        "--format",
        "form",
        type=click.Choice(forms),
        default=default or forms[0],
        show_default=True,
        is_eager=True,
        callback=_remember_form,
        help="How to write the result, and errors.",
    )


def shell_command(
    *examples: str,
    group: click.Group | None = None,
    name: str | None = None,
    forms: tuple[str, ...] = FORMS,
    cls: type[click.Command] = click.Command,
) -> Callable[[Callable[..., None]], click.Command]:
    """Return the decorator of a command that receives the shell first, and has ``-f`` as its last option."""

    def decorate(function: Callable[..., None]) -> click.Command:
        made = click.command(name, cls=cls, epilog=example(*examples))(click.pass_obj(function))
        if group is not None:
            group.add_command(made)
        return format_option(*forms)(made)

    return decorate


def split_pairs(
    _context: click.Context, _parameter: click.Parameter, given: tuple[str, ...]
) -> dict[str, str]:
    """Return a map of the values given as ``NAME=VALUE``.

    Raises:
        BadParameter: an entry has another form, or a name is given twice.
    """
    values: dict[str, str] = {}
    for entry in given:
        name, separator, value = entry.partition("=")
        if not separator or not name.strip():
            raise click.BadParameter(f"expected NAME=VALUE, got {entry!r}")
        name = name.strip()
        if name in values:
            raise click.BadParameter(f"expected each name once, got {name!r} twice")
        values[name] = value
    return values


def json_object(text: str, *, path: str, such_as: str) -> dict[str, object]:
    """Return the JSON object in the value of the option ``path``; ``such_as`` is an example for the error.

    As curl has it, the value ``@FILE`` is the text of a file, and ``@-`` that of stdin: others of the machine see the
    command lines of processes.

    Raises:
        InvalidInput: it is not JSON, with the position, or not an object; or the file cannot be read.
    """
    if text.startswith("@"):
        # Few options name a file.
        from orchestrator.cli.source import text_in

        path, file = f"{path} {text}", text[1:]
        text = sys.stdin.read() if file == "-" else text_in(file, path=path)
    try:
        value = json.loads(text)
    except json.JSONDecodeError as error:
        message = f"expected JSON, but at line {error.lineno}, column {error.colno}: {error.msg}"
        raise InvalidInput([Problem(path=path, message=message)]) from error
    if not isinstance(value, dict):
        raise InvalidInput(
            [Problem(path=path, message=f"expected a JSON object such as {such_as}, got {text}")]
        )
    return value


class _Minutes(click.FloatRange):
    """A positive number; click calls its own type "float range" in errors."""

    name = "number of minutes"


def _finite(_context: click.Context, _parameter: click.Parameter, minutes: float | None) -> float | None:
    # click's range lets nan through: it is neither below nor above anything.
    if minutes is not None and not math.isfinite(minutes):
        raise click.BadParameter(f"expected a number of minutes, got {minutes}")
    return minutes


def template_options(command: Command, *, required: bool = True) -> Command:
    """Add the options of a stack's definition: ``-t``, ``-e``, ``-P``; the command parses each text once."""
    decorators = [
        click.option(
            "-t",
            "--template",
            "template",
            required=required,
            metavar="FILE",
            help="The template: HOT or CFN, in YAML or JSON; - reads standard input.",
        ),
        click.option(
            "-e",
            "--environment",
            "environments",
            multiple=True,
            metavar="FILE",
            help="An environment file; may be given several times, later ones take precedence.",
        ),
        click.option(
            "-P",
            "--parameter",
            "parameters",
            multiple=True,
            metavar="NAME=VALUE",
            callback=split_pairs,
            help="A parameter's value; may be given several times. Lists and maps are written in JSON.",
        ),
    ]
    for decorate in reversed(decorators):
        command = decorate(command)
    return _reading_once(command)


def _reading_once(command: Command) -> Command:
    @functools.wraps(command)
    def run(*args: Any, **options: Any) -> Any:
        from orchestrator.template.reading import shared_readings

        with shared_readings():
            return command(*args, **options)

    return run  # type: ignore[return-value]  # it is called alike


def optional_template_options(command: Command) -> Command:
    """Add the same options with an optional template, for stacks that have one already."""
    return template_options(command, required=False)


def _read_tags(
    _context: click.Context, _parameter: click.Parameter, given: str | None
) -> tuple[str, ...] | None:
    try:
        return None if given is None else read_tags(given)
    except ValueError as error:
        raise click.BadParameter(str(error)) from error


def tags_option(words: str, name: str = "--tags") -> Callable[[Command], Command]:
    """Return the option ``--tags``, or another ``name``, with the help ``words``; its value is None if not given."""
    return click.option(name, metavar="TAG,...", callback=_read_tags, help=words)


def _keep_comment(context: click.Context, _: click.Parameter, value: str) -> None:
    if not is_comment(value):
        raise click.BadParameter(f"expected {COMMENT}")
    context.ensure_object(Shell).comment = value


#: The command's function does not receive it: it is the shell's, and recorded with all that the command does.
comment_option = click.option(
    "--comment",
    default="",
    metavar="TEXT",
    callback=_keep_comment,
    expose_value=False,
    help="Why, for the stack's history and the audit log: --comment 'ticket 4711'.",
)
yes_option = click.option(
    "-y", "--yes", is_flag=True, help="Do not ask for confirmation; implied when stdin is no terminal."
)
traversal_option = click.option(
    "--traversal",
    "traversal_id",
    metavar="ID",
    help="The operation, as listed by isotherm stack history; the last one if left out.",
)
timeout_option = click.option(
    "--timeout",
    "timeout_minutes",
    type=_Minutes(min=0, min_open=True),
    callback=_finite,
    metavar="MINUTES",
    help="The operation fails if it takes longer.",
)
rollback_option = click.option(
    "--rollback",
    "rollback",
    is_flag=True,
    help="If the operation fails, roll back to the last complete state; a new stack is deleted.",
)
rollback_again_option = click.option(
    "--rollback/--no-rollback",
    "rollback",
    default=None,
    help="If the operation fails, roll back to the last complete state. With --existing the default is the choice "
    "of the operation before.",
)
existing_option = click.option(
    "--existing",
    "is_upon_existing",
    is_flag=True,
    help="Keep what is not given: template, environments, values.",
)
refresh_option = click.option(
    "--refresh",
    "refresh",
    is_flag=True,
    help="Compare every resource with its real state, and repair differences.",
)


def targets_options(command: Command) -> Command:
    """Add the options that name single resources of an update."""
    command = click.option(
        "--replace",
        "replaces",
        multiple=True,
        metavar="RESOURCE",
        help="Replace this resource, whatever it looks like. May be repeated.",
    )(command)
    return click.option(
        "--target",
        "targets",
        multiple=True,
        metavar="RESOURCE",
        help="Visit only this resource, and those that it requires. May be repeated.",
    )(command)


unprotect_option = click.option(
    "--unprotect",
    "unprotect",
    is_flag=True,
    help="Delete and replace what is protected as well, this once.",
)
force_option = click.option(
    "--force",
    "force",
    is_flag=True,
    help="Delete it although other stacks read its outputs.",
)
wait_option = click.option(
    "--wait/--no-wait",
    default=True,
    help="Follow the operation to its end (the default), or return once it is accepted.",
)
