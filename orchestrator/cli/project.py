"""``isotherm project``: limits of projects, and what they use of them."""

from contextlib import nullcontext
from typing import TYPE_CHECKING

import click

from orchestrator.cli.formats import Table, fields_table, show
from orchestrator.cli.options import shell_command, split_pairs
from orchestrator.cli.shell import Shell
from orchestrator.model.project_limits import UNLIMITED, as_text

if TYPE_CHECKING:
    from collections.abc import Sequence

    from orchestrator.views.projects import ProjectLimitView


@click.group()
def project() -> None:
    """Limit what projects use, and show it."""


@project.group()
def limits() -> None:
    """Limit what projects use.

    The limits are stacks, resources, jobs (waiting), evaluation_seconds (a minute), streams (of a dashboard),
    template_bytes and software (configs and deployments). Where none is set for a project, the settings project_limits
    hold. A change holds from the next job on; what a project has already stays.
    """


@shell_command(
    "isotherm project limits list", "isotherm project limits list -f json", group=limits, name="list"
)
def list_limits(shell: Shell, form: str) -> None:
    """List the limits that were set for projects."""
    with shell.service() as service:
        views = service.projects.limits()
    show_limits(views, form)


def show_limits(views: "Sequence[ProjectLimitView]", form: str) -> None:
    """Write limits."""
    rows = [(each.project, each.limit, _most(each.most)) for each in views]
    show(form, [each.to_dict() for each in views], Table(columns=("project", "limit", "most"), rows=rows))


@shell_command(
    "isotherm project limits set acme stacks=20 resources=1000",
    "isotherm project limits set acme jobs=unlimited",
    group=limits,
    name="set",
)
@click.argument("name", metavar="PROJECT")
@click.argument("given", metavar="LIMIT=NUMBER...", nargs=-1, required=True, callback=split_pairs)
def set_limits(shell: Shell, name: str, given: dict[str, str], form: str) -> None:
    """Set limits of a project."""
    with shell.service() as service:
        views = service.projects.set_limits(name, given)
    show_limits(views, form)


@shell_command("isotherm project limits unset acme stacks", group=limits, name="unset")
@click.argument("name", metavar="PROJECT")
@click.argument("limit")
def unset_limit(shell: Shell, name: str, limit: str, form: str) -> None:
    """Take a limit of a project away.

    The settings project_limits hold for it again.
    """
    with shell.service() as service:
        service.projects.unset_limit(name, limit)
    data = {"project": name, "limit": limit, "state": "unset"}
    show(form, data, fields_table(data))


@shell_command("isotherm project usage", "isotherm project usage acme -f json", group=project)
@click.argument("name", metavar="[PROJECT]", required=False)
def usage(shell: Shell, name: str | None, form: str) -> None:
    """Show what a project uses of its limits.

    It is the project of the settings if none is named. Seconds of evaluation are those of the present minute, and are
    counted where there is a limit. Streams are counted by each dashboard.
    """
    is_other = name is not None and name != shell.settings.project
    with shell.allowed("project.read") if is_other else nullcontext(), shell.service() as service:
        views = service.projects.usage(name)
    rows = [
        (each.limit, "" if each.used is None else as_text(each.used), _most(each.most), each.what)
        for each in views
    ]
    show(
        form,
        [each.to_dict() for each in views],
        Table(columns=("limit", "used", "most", "what"), rows=rows),
    )


def _most(most: float | None) -> str:
    return UNLIMITED if most is None else as_text(most)
