"""``isotherm stack delete``: delete stacks, or show what that would do."""

from collections.abc import Sequence
from typing import TYPE_CHECKING

import click

from hooks.values.dataclass import dataclass
from orchestrator.cli.ending import follow_or_leave, refuse_to_leave
from orchestrator.cli.errors import BAD_INPUT, CHANGES, DONE, STACK_FAILED, exit_code, report, warn
from orchestrator.cli.events import last_event
from orchestrator.cli.formats import Table, fields_table, printable, show
from orchestrator.cli.options import (
    comment_option,
    force_option,
    shell_command,
    unprotect_option,
    wait_option,
    yes_option,
)
from orchestrator.cli.shell import Shell
from orchestrator.errors import IsothermError

if TYPE_CHECKING:
    from orchestrator.service import Service
    from orchestrator.views.plans import PlanView
    from orchestrator.views.stacks import StackView


@dataclass(slots=True, kw_only=True)
class _Deletion:
    """One of several stacks that are deleted: its last view, the last event before, and why it was refused."""

    view: "StackView"
    after: int = 0
    error: IsothermError | None = None

    @property
    def state(self) -> str:
        return "refused" if self.error else self.view.state

    @property
    def reason(self) -> str:
        return str(self.error) if self.error else self.view.reason


@shell_command(
    "isotherm stack delete web",
    "isotherm stack delete web --dry-run",
    "isotherm stack delete web database cache --yes",
)
@click.argument("names", nargs=-1, required=True, metavar="NAME...")
@click.option(
    "--dry-run",
    "is_dry_run",
    is_flag=True,
    help="Show what would be deleted, in which order; delete nothing.",
)
@click.option(
    "--exit-code",
    "is_exit_code",
    is_flag=True,
    help="With --dry-run: exit with 4 if anything is refused because it is protected.",
)
@yes_option
@unprotect_option
@force_option
@comment_option
@wait_option
def delete(
    shell: Shell,
    names: tuple[str, ...],
    *,
    is_dry_run: bool,
    is_exit_code: bool,
    yes: bool,
    unprotect: bool,
    force: bool,
    wait: bool,
    form: str,
) -> None:
    """Delete stacks and all their resources.

    Of several stacks, all are looked up before the first is deleted. The deletions go on at the same time, and each is
    reported; the exit code is that of the worst.

    With --dry-run nothing is deleted. Each resource is shown after those that are deleted before it, with what its
    deletion policy keeps of it, and what is refused because it is protected. The stack must be at rest.
    """
    if is_exit_code and not is_dry_run:
        raise click.UsageError("--exit-code is for --dry-run: give both")
    if not is_dry_run:
        refuse_to_leave(shell, wait=wait)
    wanted = tuple(dict.fromkeys(names))
    with shell.service() as service:
        if is_dry_run:
            plans = [
                service.plans.of_delete(name, unprotect=unprotect, lists_refused=True).view for name in wanted
            ]
            _show_plans(plans, form)
            is_refused = any(plan.counts.get("REFUSE") for plan in plans)
            click.get_current_context().exit(CHANGES if is_exit_code and is_refused else DONE)
        present = {view.id: view for view in map(service.stack, wanted)}
        views = [*present.values()]
        if not yes and shell.can_answer() and not _confirmed(service, views):
            click.echo("Nothing was deleted.", err=True)
            raise click.exceptions.Exit(BAD_INPUT)
        if len(views) == 1:
            _delete_one(shell, service, views[0], unprotect=unprotect, force=force, wait=wait, form=form)
        else:
            _delete_all(shell, service, views, unprotect=unprotect, force=force, wait=wait, form=form)


def _delete_one(
    shell: Shell,
    service: "Service",
    view: "StackView",
    *,
    unprotect: bool,
    force: bool,
    wait: bool,
    form: str,
) -> None:
    after = last_event(service, view.id) if wait else 0
    going = service.delete(view.id, unprotect=unprotect, force=force)
    if going is None:
        show(form, view.to_dict(), fields_table({"name": view.name, "state": "already deleted"}))
        return
    follow_or_leave(shell, service, going, action="DELETE", wait=wait, form=form, after=after)


def _delete_all(
    shell: Shell,
    service: "Service",
    views: Sequence["StackView"],
    *,
    unprotect: bool,
    force: bool,
    wait: bool,
    form: str,
) -> None:
    deletions = [_begun(service, view, unprotect=unprotect, force=force, wait=wait) for view in views]
    if wait:
        from orchestrator.cli.progress import follow, resumable

        for each in deletions:
            if each.error is None and each.view.deleted_at is None:
                with resumable(each.view.name, embedded=shell.settings.embedded):
                    each.view = follow(service, each.view, after=each.after)
    for each in deletions:
        if each.error is not None:
            report(each.error, form)
    data = [{**each.view.to_dict(), "refused": str(each.error or "")} for each in deletions]
    rows = [(each.view.name, each.state, each.reason) for each in deletions]
    show(form, data, Table(columns=("name", "state", "reason"), rows=rows))
    raise click.exceptions.Exit(max(_code(each, wait=wait) for each in deletions))


def _begun(service: "Service", view: "StackView", *, unprotect: bool, force: bool, wait: bool) -> _Deletion:
    """Begin a deletion; a refusal keeps the others from nothing."""
    try:
        after = last_event(service, view.id) if wait else 0
        return _Deletion(view=service.delete(view.id, unprotect=unprotect, force=force) or view, after=after)
    except IsothermError as error:
        return _Deletion(view=view, error=error)


def _code(deletion: _Deletion, *, wait: bool) -> int:
    if deletion.error is not None:
        return exit_code(deletion.error)
    is_over = (deletion.view.action, deletion.view.status) == ("DELETE", "COMPLETE")
    return DONE if is_over or not wait else STACK_FAILED


def _show_plans(plans: Sequence["PlanView"], form: str) -> None:
    from orchestrator.cli.plan_tables import delete_plan_tables

    for plan in plans:
        warn(plan.warnings, form)
    documents = [
        {
            "name": plan.stack,
            "state": plan.state,
            "counts": dict(plan.counts),
            "resources": [each.to_dict() for each in plan.resources],
        }
        for plan in plans
    ]
    # One stack is one document, as everywhere.
    data = documents[0] if len(documents) == 1 else documents
    show(form, data, *(table for plan in plans for table in delete_plan_tables(plan)))


def _confirmed(service: "Service", views: Sequence["StackView"]) -> bool:
    count = sum(len(service.resources(view.id)) for view in views)
    resources = f"{count} resource{'' if count == 1 else 's'}"
    listed = ", ".join(printable(view.name) for view in views)
    if len(views) == 1:
        return click.confirm(f"Delete the stack {listed} and its {resources}?", err=True)
    return click.confirm(f"Delete {len(views)} stacks ({listed}) and their {resources}?", err=True)
