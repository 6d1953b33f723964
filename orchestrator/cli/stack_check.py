"""``isotherm stack check``: look whether everything is as it was made."""

import click

from orchestrator.cli.ending import operate_and_follow
from orchestrator.cli.options import example, format_option, wait_option
from orchestrator.cli.shell import Shell


@click.command(epilog=example("isotherm stack check web"))
@click.argument("name")
@wait_option
@format_option()
@click.pass_obj
def check(shell: Shell, name: str, *, wait: bool, form: str) -> None:
    """Look whether everything is as it was made.

    All of it is looked at, whatever is found. What is gone, or was changed by others, is CHECK_FAILED then, and the
    next update repairs it: in place where the resource's type allows it, else by a replacement. What a type cannot
    see counts as in order.
    """
    operate_and_follow(shell, name, "CHECK", wait=wait, form=form)
