"""``isotherm stack suspend``: bring everything to rest."""

import click

from orchestrator.cli.ending import operate_and_follow
from orchestrator.cli.options import example, format_option, wait_option
from orchestrator.cli.shell import Shell


@click.command(epilog=example("isotherm stack suspend web"))
@click.argument("name")
@wait_option
@format_option()
@click.pass_obj
def suspend(shell: Shell, name: str, *, wait: bool, form: str) -> None:
    """Bring everything a stack made to rest.

    What depends on others rests before them. What that means is for each resource's type to say: a process is stopped
    where it stands, a file stays as it is.
    """
    operate_and_follow(shell, name, "SUSPEND", wait=wait, form=form)
