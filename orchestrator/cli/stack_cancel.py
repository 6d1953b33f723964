"""``isotherm stack cancel``: end the operation in progress."""

import click

from orchestrator.cli.ending import follow_or_leave, refuse_to_leave
from orchestrator.cli.events import last_event
from orchestrator.cli.options import comment_option, shell_command, unprotect_option, wait_option
from orchestrator.cli.shell import Shell


@shell_command("isotherm stack cancel web", "isotherm stack cancel web --no-rollback")
@click.argument("name")
@click.option(
    "--rollback/--no-rollback",
    default=True,
    help="Roll back to the last complete state (the default), or leave the stack as it is.",
)
@unprotect_option
@comment_option
@wait_option
def cancel(shell: Shell, name: str, *, rollback: bool, unprotect: bool, wait: bool, form: str) -> None:
    """Cancel the operation in progress.

    Steps in progress are finished; nothing new starts. The rollback of a stack that never was complete deletes its
    resources. A check, a suspend or a resume cannot be rolled back: it fails.
    """
    refuse_to_leave(shell, wait=wait)
    with shell.service() as service:
        after = last_event(service, service.stack(name).id) if wait else 0
        going = service.cancel(name, rollback=rollback, unprotect=unprotect)
        # An operation without a new definition cannot be rolled back.
        action, status = (going.action, "COMPLETE" if going.action == "ROLLBACK" else "FAILED")
        follow_or_leave(
            shell, service, going, action=action, status=status, wait=wait, form=form, after=after
        )
