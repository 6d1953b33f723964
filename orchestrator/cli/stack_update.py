"""``isotherm stack update``: give a stack a new definition."""

from dataclasses import replace
from typing import Unpack

import click

from orchestrator.cli.ending import follow_or_leave, refuse_to_leave
from orchestrator.cli.errors import CHANGES, DONE, warn
from orchestrator.cli.events import last_event
from orchestrator.cli.formats import show
from orchestrator.cli.options import (
    comment_option,
    existing_option,
    optional_template_options,
    refresh_option,
    rollback_again_option,
    shell_command,
    tags_option,
    targets_options,
    timeout_option,
    unprotect_option,
    wait_option,
)
from orchestrator.cli.plan_tables import plan_tables
from orchestrator.cli.shell import Shell
from orchestrator.cli.source import Given, existing_job, stack_job


@shell_command(
    "isotherm stack update web -t web.yaml -P count=5",
    "isotherm stack update web --existing -P count=5",
    "isotherm stack update web --existing --refresh --default-timeout",
    "isotherm stack update web -t web.yaml --dry-run",
    "isotherm stack update web -t web.yaml --dry-run --exit-code",
    "isotherm stack update web -t web.yaml --target db --target cache",
    "isotherm stack update web --existing --replace server",
)
@click.argument("name")
@optional_template_options
@existing_option
@refresh_option
@targets_options
@click.option(
    "--dry-run", "is_dry_run", is_flag=True, help="Show what an update would do, and change nothing."
)
@click.option(
    "--exit-code",
    "is_exit_code",
    is_flag=True,
    help="With --dry-run: exit with 0 if there is nothing to do, and with 4 if there are changes.",
)
@rollback_again_option
@unprotect_option
@tags_option("New tags of the stack, instead of those it has; an empty text removes them.")
@timeout_option
@click.option(
    "--default-timeout",
    "has_default_timeout",
    is_flag=True,
    help="Give the stack the default time-out again; with --existing its present one is kept otherwise.",
)
@comment_option
@wait_option
def update(
    shell: Shell,
    name: str,
    *,
    template: str | None,
    is_upon_existing: bool,
    refresh: bool,
    targets: tuple[str, ...],
    replaces: tuple[str, ...],
    is_dry_run: bool,
    is_exit_code: bool,
    unprotect: bool,
    has_default_timeout: bool,
    wait: bool,
    form: str,
    **given: Unpack[Given],
) -> None:
    """Give a stack a new definition.

    Only resources that differ are changed: in place if the resource's type allows it, else by a replacement, which is
    created before the old object is deleted. Resources that the template no longer has are deleted at the end. An
    operation in progress is superseded: its running steps are finished first.

    The definition is replaced as a whole. With --existing, the template and the values of parameters that are not given
    are kept; given environments are appended to the existing ones.

    With --target, only the resources that are named are visited, and all that these require: nothing else is made,
    changed or deleted. The stack has the new definition all the same. It says which resources are not as that has them,
    until an update without targets is complete. With --replace, a resource gets a new object, whatever the old one
    looks like. For both the stack must be at rest.

    With --dry-run nothing is changed. The planned action is shown for each resource, with the properties that cause it,
    maps and lists by key; values that are known only after the change are marked, hidden ones masked. Where the action
    depends on such values, the reason names what else may be done, and why. Lifecycle plugins that are enabled here are
    called as well. With --exit-code the command exits with 0 if there is nothing to do, and with 4 if anything changes
    or may change; other codes are those of errors.
    """
    if is_exit_code and not is_dry_run:
        raise click.UsageError("--exit-code is for --dry-run: give both")
    if has_default_timeout and given.get("timeout_minutes") is not None:
        raise click.UsageError("--timeout and --default-timeout exclude each other: give one of them")
    if template is None and not is_upon_existing:
        raise click.UsageError("give a template with -t, or --existing to keep the present one")
    if not is_dry_run:
        refuse_to_leave(shell, wait=wait)
    with shell.service() as service:
        if template is None or is_upon_existing:
            before = service.definition(name)
            job = existing_job(before, shell.settings, template=template, **given)
            if given.get("rollback") is None:
                job = replace(job, rollback=before.rollback)
        else:
            job = stack_job(name, shell.settings, template=template, **given)
        # A job without a time-out has that of the settings.
        timeout_minutes = None if has_default_timeout else job.timeout_minutes
        job = replace(
            job,
            refresh=refresh,
            unprotect=unprotect,
            targets=targets,
            replaces=replaces,
            timeout_minutes=timeout_minutes,
        )
        if is_dry_run:
            plan = service.plan_update(job)
            warn(plan.warnings, form)
            show(form, plan.to_dict(), *plan_tables(plan))
            click.get_current_context().exit(CHANGES if is_exit_code and plan.has_changes else DONE)
        after = last_event(service, name) if wait else 0
        going = service.update(job)
        follow_or_leave(shell, service, going, action="UPDATE", wait=wait, form=form, after=after)
