"""``isotherm plan``: show saved plans."""

from typing import TYPE_CHECKING, Final

import click

from orchestrator.cli.errors import warn
from orchestrator.cli.formats import FORMS, show
from orchestrator.cli.options import shell_command
from orchestrator.cli.shell import Shell

if TYPE_CHECKING:
    from orchestrator.views.plans import PlanView

MARKDOWN: Final = "markdown"


@click.group()
def plan() -> None:
    """Show saved plans.

    isotherm stack plan makes them, and isotherm stack apply carries them out.
    """


@shell_command(
    "isotherm plan show web.plan",
    "isotherm plan show web.plan -f markdown",
    "isotherm plan show web.plan -f json",
    group=plan,
    name="show",
    forms=(*FORMS, MARKDOWN),
)
@click.argument("file")
def show_file(shell: Shell, file: str, form: str) -> None:
    """Show a plan that was written to a file."""
    from orchestrator.keys.plan_seal import read_plan_file

    content = read_plan_file(file, most_bytes=4 * shell.settings.max_message_bytes)
    with shell.service() as service:
        view = service.plans.read(content, file=file).view
    show_plan(view, form)


def show_plan(view: "PlanView", form: str) -> None:
    """Write a plan, with its warnings."""
    if form == MARKDOWN:
        from orchestrator.cli.plan_markdown import plan_markdown

        click.echo(plan_markdown(view), nl=False)
        return
    from orchestrator.cli.plan_tables import saved_plan_tables

    warn(view.warnings, form)
    show(form, view.to_dict(), *saved_plan_tables(view))
