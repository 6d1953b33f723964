"""``isotherm stack resume``: bring everything back from rest."""

import click

from orchestrator.cli.ending import operate_and_follow
from orchestrator.cli.options import example, format_option, wait_option
from orchestrator.cli.shell import Shell


@click.command(epilog=example("isotherm stack resume web"))
@click.argument("name")
@wait_option
@format_option()
@click.pass_obj
def resume(shell: Shell, name: str, *, wait: bool, form: str) -> None:
    """Bring everything back that was suspended.

    What others depend on is back before them. A resume that failed goes on where it was.
    """
    operate_and_follow(shell, name, "RESUME", wait=wait, form=form)
