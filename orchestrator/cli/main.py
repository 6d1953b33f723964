"""Root of the command ``isotherm``: its commands, and the one place where errors become messages."""

import io
import sys
from collections.abc import Iterator

import click

from orchestrator.cli import errors
from orchestrator.cli.commands import Commands
from orchestrator.cli.options import example
from orchestrator.cli.shell import Shell
from orchestrator.config.ending import code_of, end_commands_by_signals
from orchestrator.errors import IsothermError


class Boundary(click.Group):
    """A group that lets no error through: each becomes a message on stderr and an exit code."""

    def invoke(self, context: click.Context) -> object:
        """Run the command; every error ends it with a message and an exit code."""
        shell = context.ensure_object(Shell)
        try:
            return super().invoke(context)
        except (click.exceptions.Exit, BrokenPipeError):
            raise
        except KeyboardInterrupt as interrupt:
            code = code_of(interrupt)
        except click.Abort:
            code = errors.INTERRUPTED
        except click.UsageError as error:
            if isinstance(error, click.NoSuchCommand) and not error.possibilities:
                # click compares with the commands of the same group alone.
                nearest = nearest_command(self, error.command_name)
                if nearest:
                    words = f"{error.format_message()} Did you mean '{context.info_name} {nearest}'?"
                    error = click.UsageError(words, ctx=error.ctx)
            errors.report_usage(error, shell.form)
            code = error.exit_code
        except IsothermError as error:
            errors.report(error, shell.form)
            code = errors.exit_code(error)
        except Exception as error:  # noqa: BLE001  # the boundary: unexpected errors end here
            code = errors.report_unexpected(error, shell.form, shell.directories, shell.log_level)
        return context.exit(code)


def nearest_command(group: click.Group, name: str) -> str:
    """Return the command of any group that has this name or the most similar one; empty if none has.

    Of several, that is the first of the fewest words: ``stack create``.
    """
    from hooks.values.nearest import Nearest

    paths = sorted(_paths(group), key=len)
    names = {path[-1]: path for path in reversed(paths)}
    found = name if name in names else Nearest().among(name, names)
    return " ".join(names[found]) if found else ""


def _paths(group: click.Group) -> Iterator[tuple[str, ...]]:
    for name, command in group.commands.items():
        yield (name,)
        if isinstance(command, click.Group):
            for path in _paths(command):
                yield (name, *path)


@click.group(
    cls=Boundary,
    commands=Commands(),
    context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 110},
    epilog=example("isotherm stack create web -t web.yaml", "isotherm stack list", "isotherm doctor"),
)
@click.version_option(package_name="isotherm", prog_name="isotherm")
def isotherm() -> None:
    """Converge declarative stacks (HOT templates) onto real infrastructure.

    Without a broker a command does all the work itself, in this process. Settings come from isotherm.toml and
    from ISOTHERM_* variables.

    Exit codes: 0 the operation ended as requested; 1 the stack failed; 2 bad input; 3 a service cannot be reached.
    """


def main() -> None:
    """Run the console script."""
    for stream in (sys.stdout, sys.stderr):
        # In a locale that lacks a character, write its code instead of failing half-way through a table.
        if isinstance(stream, io.TextIOWrapper):
            stream.reconfigure(errors="backslashreplace")
    end_commands_by_signals()
    isotherm(prog_name="isotherm")


if __name__ == "__main__":
    main()
