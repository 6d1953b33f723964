"""``isotherm stack plan`` and ``isotherm stack apply``: review what an operation would do, then do exactly that."""

import shlex
from collections.abc import Iterator, Mapping
from contextlib import ExitStack, contextmanager
from typing import TYPE_CHECKING, Any, Final, Unpack

import click

from orchestrator.cli.ending import follow_or_leave, refuse_to_leave
from orchestrator.cli.errors import DONE, report
from orchestrator.cli.events import last_event
from orchestrator.cli.formats import FORMS
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
from orchestrator.cli.plan import MARKDOWN, show_plan
from orchestrator.cli.shell import Shell
from orchestrator.cli.source import Given, existing_job, stack_job
from orchestrator.errors import IsothermError, NotFound

if TYPE_CHECKING:
    from orchestrator.engine.stack_plans import StackPlan
    from orchestrator.service import Service

#: The exit codes of a plan with ``--exit-code``, which are Terraform's.
_CHANGES: Final = 2
_ERROR: Final = 1


class _WrongUsage(click.UsageError):
    """A wrong command line with ``--exit-code``: 2 means changes then."""

    exit_code = _ERROR


class _PlanCommand(click.Command):
    """A command whose wrong use ends with 1 if ``--exit-code`` is given."""

    def make_context(
        self, info_name: str | None, args: list[str], *more: Any, **others: Any
    ) -> click.Context:
        given = any(each.startswith("--exit") for each in args)
        try:
            return super().make_context(info_name, args, *more, **others)
        except click.UsageError as error:
            if given:
                raise _WrongUsage(error.format_message(), error.ctx) from error
            raise


@shell_command(
    "isotherm stack plan web -t web.yaml -o web.plan",
    "isotherm stack plan web --existing -P count=5 -f markdown",
    "isotherm stack plan web -t web.yaml --exit-code",
    "isotherm stack plan web -t web.yaml --target db --replace db",
    "isotherm stack plan web --delete -o delete.plan",
    forms=(*FORMS, MARKDOWN),
    cls=_PlanCommand,
)
@click.argument("name")
@optional_template_options
@existing_option
@refresh_option
@targets_options
@click.option("--delete", "is_delete", is_flag=True, help="Plan the deletion of the stack.")
@click.option(
    "-o", "--output", "output", metavar="FILE", help="Write the plan to this file, to apply it later."
)
@click.option(
    "--exit-code",
    "is_exit_code",
    is_flag=True,
    help="Exit with 0 if there is nothing to do, 2 if there are changes, 1 after any error.",
)
@rollback_again_option
@tags_option("Tags of the stack after the operation.")
@timeout_option
@unprotect_option
def plan(
    shell: Shell,
    name: str,
    *,
    template: str | None,
    is_upon_existing: bool,
    refresh: bool,
    targets: tuple[str, ...],
    replaces: tuple[str, ...],
    is_delete: bool,
    output: str | None,
    unprotect: bool,
    is_exit_code: bool,
    form: str,
    **given: Unpack[Given],
) -> None:
    """Plan a create, update or delete.

    Shows what would be done to each resource, and why, and changes nothing. If there is no stack of this name, that is
    what a create does, else what an update does, or with --delete a delete. The stack must be at rest. Of an update,
    --target plans only the resources that are named and all that these require, and --replace the replacement of one:
    see isotherm stack update.

    With -o, the plan is written to a file as well, which isotherm stack apply carries out. It is bound to the stack's
    present state: once anything has changed, it is refused. The file holds the whole definition. It is signed and
    encrypted, and readable for its owner only.
    """
    refused = _WrongUsage if is_exit_code else click.UsageError
    is_defined = template is not None or is_upon_existing
    if is_delete and (is_defined or refresh or targets or replaces):
        raise refused(
            "--delete takes no definition: leave out -t, --existing, --refresh, --target and --replace"
        )
    if not is_delete and not is_defined:
        raise refused("give a template with -t, --existing to keep the present one, or --delete")
    with _ending_with_one(form, applies=is_exit_code), shell.service() as service:
        if is_delete:
            made = service.plans.of_delete(name, unprotect=unprotect)
        else:
            made = _planned(
                shell,
                service,
                name,
                template=template,
                is_upon_existing=is_upon_existing,
                changes={
                    "refresh": refresh,
                    "unprotect": unprotect,
                    "targets": targets,
                    "replaces": replaces,
                },
                **given,
            )
        if output is not None:
            from orchestrator.config.secret_file import write_secret_file

            write_secret_file(output, service.plans.packed(made))
    show_plan(made.view, form)
    if output is not None and form == "table":
        click.echo(f"To carry it out: isotherm stack apply {shlex.quote(output)}", err=True)
    has_changes = made.view.has_changes
    click.get_current_context().exit(_CHANGES if is_exit_code and has_changes else DONE)


def _planned(
    shell: Shell,
    service: "Service",
    name: str,
    *,
    template: str | None,
    is_upon_existing: bool,
    changes: "Mapping[str, Any]",
    **given: Unpack[Given],
) -> "StackPlan":
    """Return the plan of a create or an update; ``changes`` are the fields of its job that are no definition."""
    from dataclasses import replace

    if template is None or is_upon_existing:
        before = service.definition(name)
        job = existing_job(before, shell.settings, template=template, **given)
        if given.get("rollback") is None:
            job = replace(job, rollback=before.rollback)
    else:
        job = stack_job(name, shell.settings, template=template, **given)
    job = replace(job, **changes)
    try:
        service.stack(name)
    except NotFound:
        return service.plans.of_create(job)
    return service.plans.of_update(job)


@contextmanager
def _ending_with_one(form: str, *, applies: bool) -> Iterator[None]:
    """End the command with 1 after an error, if that ``applies``: 2 means changes then.

    Raises:
        Exit: after an error.
    """
    try:
        yield
    except IsothermError as error:
        if not applies:
            raise
        report(error, form)
        raise click.exceptions.Exit(_ERROR) from error


@shell_command(
    "isotherm stack apply web.plan",
    "isotherm stack apply web.plan --comment 'ticket 4711'",
)
@click.argument("file")
@comment_option
@wait_option
def apply(shell: Shell, file: str, *, wait: bool, form: str) -> None:
    """Carry out a plan that was written to a file.

    Does what the plan says, or refuses and says what has changed since. A plan is applied once. If a value that was not
    known before needs an action that the plan does not list, that resource fails, and nothing is done to it.
    """
    from orchestrator.keys.plan_seal import read_plan_file

    refuse_to_leave(shell, wait=wait)
    content = read_plan_file(file, most_bytes=4 * shell.settings.max_message_bytes)
    with shell.service() as service:
        read = service.plans.read(content, file=file)
        with ExitStack() as checks:
            for operation in read.job.operations:
                checks.enter_context(shell.allowed(operation))
            is_new = read.view.action == "CREATE"
            after = last_event(service, read.view.stack_id) if wait and not is_new else 0
            going = service.apply(read)
            follow_or_leave(shell, service, going, action=read.view.action, wait=wait, form=form, after=after)
