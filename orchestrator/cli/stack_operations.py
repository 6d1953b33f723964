"""``isotherm stack check``, ``suspend`` and ``resume``: operations that keep a stack's definition."""

import click

from orchestrator.cli.ending import follow_or_leave, refuse_to_leave
from orchestrator.cli.events import last_event
from orchestrator.cli.options import comment_option, example, format_option, wait_option
from orchestrator.cli.shell import Shell


def _command(action: str, words: str) -> click.Command:

    @click.command(action.lower(), epilog=example(f"isotherm stack {action.lower()} web"), help=words)
    @click.argument("name")
    @comment_option
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


check = _command(
    "CHECK",
    """Check that all resources exist unchanged.

    All resources are checked, even if some fail. A resource that is gone, or was changed by others, becomes
    CHECK_FAILED, and the next update repairs it: in place if its type allows it, else by a replacement. Differences
    that a type cannot detect are ignored.
    """,
)
suspend = _command(
    "SUSPEND",
    """Suspend all resources of a stack.

    A resource is suspended before the resources that it requires. The type of a resource decides what that means:
    a process is stopped, a file stays as it is.
    """,
)
resume = _command(
    "RESUME",
    """Resume a suspended stack.

    A resource is resumed after the resources that it requires. A failed resume continues where it failed.
    """,
)
