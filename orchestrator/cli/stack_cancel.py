"""``isotherm stack cancel``: end what is under way."""

import click

from orchestrator.cli.ending import follow_or_leave, refuse_to_leave
from orchestrator.cli.options import example, format_option, wait_option
from orchestrator.cli.progress import last_event
from orchestrator.cli.shell import Shell


@click.command(epilog=example("isotherm stack cancel web", "isotherm stack cancel web --no-rollback"))
@click.argument("name")
@click.option(
    "--rollback/--no-rollback",
    default=True,
    help="Bring back what the stack was when it was complete last (the default), or leave it as it is.",
)
@wait_option
@format_option()
@click.pass_obj
def cancel(shell: Shell, name: str, *, rollback: bool, wait: bool, form: str) -> None:
    """End what is under way.

    Steps under way end by themselves; nothing new starts. Of a stack that never was complete, a rollback leaves
    nothing. A check, a suspend or a resume has nothing to bring back: it fails.
    """
    refuse_to_leave(shell, wait=wait)
    with shell.service() as service:
        after = last_event(service, service.stack(name).id) if wait else 0
        going = service.cancel(name, rollback=rollback)
        # What gave the stack no new definition leaves nothing to bring back.
        action, status = (going.action, "COMPLETE" if going.action == "ROLLBACK" else "FAILED")
        follow_or_leave(
            shell, service, going, action=action, status=status, wait=wait, form=form, after=after
        )
