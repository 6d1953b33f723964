"""The parts of a process: its arguments, its environment variables, its stop signal."""

import shlex
import signal
from collections.abc import Mapping
from typing import Any

from hooks.values.nearest import Nearest
from orchestrator.definition import UNKNOWN
from orchestrator.plugins.properties import PropertyError
from workers.agent.commands.launcher import MARKER


def parse_command(command: object) -> list[str]:
    """Return the arguments of a command, given as a list or as one text in shell syntax.

    No shell is involved: nothing is expanded, piped or redirected. Numbers in a list become text.

    Raises:
        PropertyError: it is neither, or it is empty.
    """
    if isinstance(command, str):
        try:
            arguments = shlex.split(command)
        except ValueError as error:
            raise PropertyError(("command",), f"expected words as in a shell, found: {error}") from error
    elif isinstance(command, (list, tuple)):
        arguments = [_argument(item, index) for index, item in enumerate(command)]
    else:
        found = type(command).__name__
        raise PropertyError(("command",), f"expected a list of texts or one text, found {found}")
    if not arguments or not arguments[0]:
        raise PropertyError(("command",), "the command is empty")
    if any("\0" in argument for argument in arguments):
        raise PropertyError(("command",), "a command cannot hold a null character")
    return arguments


def _argument(item: object, index: int) -> str:
    if isinstance(item, (str, int, float)) and not isinstance(item, bool):
        return str(item)
    raise PropertyError(("command", index), f"expected a text or a number, found {type(item).__name__}")


def parse_env(env: Mapping[str, Any] | None) -> dict[str, str]:
    """Return the environment variables in a template, all as text; unknown values are left out.

    Raises:
        PropertyError: a name or a value is impossible in an environment. No value is shown.
    """
    variables: dict[str, str] = {}
    for name, value in (env or {}).items():
        if not name or "=" in name or "\0" in name:
            raise PropertyError(("env", name), "the name of a variable cannot be empty or hold '='")
        if name == MARKER:
            raise PropertyError(("env", name), "this variable is set by the resource itself")
        if value is UNKNOWN:
            continue
        if not isinstance(value, (str, int, float)) or isinstance(value, bool):
            found = type(value).__name__
            raise PropertyError(("env", name), f"expected a text or a number, found {found}", "use quotes")
        if "\0" in str(value):
            raise PropertyError(("env", name), "a variable cannot hold a null character")
        variables[name] = str(value)
    return variables


def parse_signal(name: str) -> signal.Signals:
    """Return the signal called ``name``, in any case and with or without SIG.

    Raises:
        PropertyError: there is none.
    """
    short = name.upper().removeprefix("SIG")
    names = {known.name.removeprefix("SIG"): known for known in signal.Signals}
    if short not in names:
        hint = Nearest().hint(short, names, "such as TERM, INT or QUIT")
        message, veiled = f"there is no signal {name!r}", "there is no such signal"
        raise PropertyError(("stop_signal",), message, hint, veiled=veiled)
    return names[short]
