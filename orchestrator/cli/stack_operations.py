"""``isotherm stack check``, ``suspend`` and ``resume``: do something with a stack as it is."""

from typing import Final

import click

from orchestrator.cli.ending import follow_or_leave, refuse_to_leave
from orchestrator.cli.options import example, format_option, wait_option
from orchestrator.cli.progress import last_event
from orchestrator.cli.shell import Shell


def _command(action: str, words: str) -> click.Command:
    """Return the command that begins an operation on a stack as it is, and follows it."""

    @click.command(action.lower(), epilog=example(f"isotherm stack {action.lower()} web"), help=words)
    @click.argument("name")
    @wait_option
    @format_option()
    @click.pass_obj
    def command(shell: Shell, name: str, *, wait: bool, form: str) -> None:
        refuse_to_leave(shell, wait=wait)
        with shell.service() as service:
            after = last_event(service, service.stack(name).id) if wait else 0
            going = service.operate(action, name)
            follow_or_leave(shell, service, going, action=action, wait=wait, form=form, after=after)

    return command


OPERATION_COMMANDS: Final = (
    _command(
        "CHECK",
        """Look whether everything is as it was made.

        All of it is looked at, whatever is found. What is gone, or was changed by others, is CHECK_FAILED then, and the
        next update repairs it: in place where the resource's type allows it, else by a replacement. What a type cannot
        see counts as in order.
        """,
    ),
    _command(
        "SUSPEND",
        """Bring everything a stack made to rest.

        What depends on others rests before them. What that means is for each resource's type to say: a process is
        stopped where it stands, a file stays as it is.
        """,
    ),
    _command(
        "RESUME",
        """Bring everything back that was suspended.

        What others depend on is back before them. A resume that failed goes on where it was.
        """,
    ),
)
