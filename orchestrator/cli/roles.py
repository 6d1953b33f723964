"""Options that describe a user: a name, a role, and the projects in which the user has it."""

from collections.abc import Callable
from typing import Any, TypeVar

import click

from orchestrator.errors import InvalidInput, Problem
from orchestrator.model.identity import ROLES

Command = TypeVar("Command", bound=Callable[..., Any])


def user_options(*, required: bool) -> Callable[[Command], Command]:
    """Return the options ``--user``, ``--role`` and ``--for-project``."""
    options = (
        click.option(
            "--user", default=None if required else "", required=required, metavar="NAME", help="The user."
        ),
        click.option("--role", type=click.Choice(ROLES), required=required, help="The user's role."),
        click.option(
            "--for-project",
            "projects",
            multiple=True,
            required=required,
            metavar="PROJECT",
            help="A project in which the user has the role; may be given several times. '*' for all.",
        ),
    )

    def decorate(command: Command) -> Command:
        for option in reversed(options):
            command = option(command)
        return command

    return decorate


def check_user(user: str, role: str | None, projects: tuple[str, ...]) -> None:
    """Check that the three are given together, and are names.

    Raises:
        InvalidInput: they are not.
    """
    from orchestrator.model.names import NAME, is_name

    if len({bool(each) for each in (user, role, projects)}) > 1:
        raise InvalidInput([Problem(message="expected --user, --role and --for-project together")])
    for each in (user, *projects) if user else ():
        if not is_name(each) or "," in each:
            raise InvalidInput([Problem(path=each, message=f"expected {NAME}, and without a comma")])
