"""End of a command that begins an operation: follow it, write its result, and exit with its code."""

import time
from collections.abc import Iterator
from contextlib import suppress
from dataclasses import replace
from typing import TYPE_CHECKING

import click

from orchestrator.cli.errors import DONE, STACK_FAILED, warn
from orchestrator.cli.formats import (
    Table,
    fields_table,
    printable,
    show,
    show_line,
    show_tables,
    state_style,
)
from orchestrator.cli.shell import Shell
from orchestrator.cli.times import duration
from orchestrator.errors import InvalidInput, NotFound, Problem

if TYPE_CHECKING:
    from orchestrator.service import Service
    from orchestrator.views.stacks import OutputView, StackView

#: The states in which outputs have their final values.
_WITH_OUTPUTS = ("CREATE_COMPLETE", "ADOPT_COMPLETE", "UPDATE_COMPLETE", "RESTORE_COMPLETE")
#: The actions that give a stack a definition.
_DEFINING = ("CREATE", "ADOPT", "UPDATE")


def refuse_to_leave(shell: Shell, *, wait: bool) -> None:
    """Refuse ``--no-wait`` in embedded mode, where the command itself does the work.

    Raises:
        InvalidInput: there is no broker.
    """
    if not wait and shell.settings.embedded:
        problem = Problem(
            path="--no-wait",
            message="without a broker this command does the work itself; no other process would carry on after it",
            hint="leave --no-wait out, or set ISOTHERM_BROKER_URL and start a coordinator and workers",
        )
        raise InvalidInput([problem])


def follow_or_leave(
    shell: Shell,
    service: "Service",
    view: "StackView",
    *,
    action: str,
    status: str = "COMPLETE",
    wait: bool,
    form: str,
    after: int,
) -> None:
    """Follow an operation to its end if ``wait``, write its result, and exit.

    ``action`` and ``status`` are the requested end; events up to the id ``after`` are not shown.

    Raises:
        Exit: always, with the exit code.
    """
    # The display takes a while to import, and few commands follow an operation.
    from orchestrator.cli.progress import follow, resumable

    started = time.monotonic()
    was_under_way = view.status == "IN_PROGRESS"
    begun = view
    if action in _DEFINING:
        warn(begun.warnings, form)
    if wait:
        with resumable(view.name, embedded=shell.settings.embedded):
            view = _with_rolled_back(service, follow(service, view, after=after))
    if view.traversal_id == begun.traversal_id:
        # The view of a followed stack has neither.
        view = replace(view, description=begun.description, parameters=begun.parameters)
    outputs = service.outputs(view.id) if wait and view.state in _WITH_OUTPUTS else ()
    if form == "table":
        seconds = time.monotonic() - started if wait and was_under_way else None
        _write_result(service, view, outputs, seconds=seconds)
    else:
        # The view of a followed stack lacks outputs and warnings, which only the view of a single stack has.
        shown = (*begun.warnings, *_warnings_of_plugins(service, view)) if wait else begun.warnings
        warnings = [warning.to_wire() for warning in shown]
        more = {"outputs": [output.to_dict() for output in outputs], "warnings": warnings}
        show(form, {**view.to_dict(), **more})
    superseded = view.action == begun.action == "UPDATE" and view.traversal_id != begun.traversal_id
    if superseded:
        sentence = "superseded by another update, whose result is shown here"
        click.echo(f"{printable(view.name)}: {sentence}", err=True)
    # A rollback, or a delete that another client began meanwhile, is not the requested end.
    ended = (view.action, view.status) == (action, status) and not superseded
    raise click.exceptions.Exit(DONE if ended or not wait else STACK_FAILED)


def wait_for_end(
    shell: Shell, service: "Service", view: "StackView", *, action: str, wait: bool, after: int
) -> None:
    """Do as :func:`follow_or_leave`, but write the result on stderr: stdout has a document already.

    Raises:
        Exit: always, with the exit code.
    """
    from orchestrator.cli.progress import follow, resumable

    if wait:
        with resumable(view.name, embedded=shell.settings.embedded):
            view = _with_rolled_back(service, follow(service, view, after=after))
    click.echo(f"{printable(view.name)} {view.state}{_why(view)}", err=True)
    ended = (view.action, view.status) == (action, "COMPLETE")
    raise click.exceptions.Exit(DONE if ended or not wait else STACK_FAILED)


def _warnings_of_plugins(service: "Service", view: "StackView") -> Iterator[Problem]:
    """Yield the warnings of lifecycle plugins at the stack's last operation, worded as in a preview."""
    with suppress(NotFound):
        for call in service.traversal(view.id, view.traversal_id).plugins:
            for warning in call.warnings:
                yield Problem(message=f"lifecycle plugin {call.plugin!r}: {warning}")


def _write_result(
    service: "Service", view: "StackView", outputs: tuple["OutputView", ...], *, seconds: float | None
) -> None:
    took = f" after {duration(seconds)}" if seconds is not None else ""
    state = view.state, state_style(view.state)
    show_line((printable(view.name), "bold"), (" ", ""), state, (f"{took}{_why(view)}", ""))
    if view.status == "FAILED":
        for failed in (resource for resource in service.resources(view.id) if resource.status == "FAILED"):
            state = failed.state, state_style(failed.state)
            reason = f": {printable(failed.reason)}"
            show_line(("  ", ""), (printable(failed.name), "bold"), (" ", ""), state, (reason, ""))
    if outputs:
        show_tables([outputs_table(outputs)])


def _with_rolled_back(service: "Service", view: "StackView") -> "StackView":
    """Return the view of a stack with what its rollback takes back, which the view of a followed stack lacks."""
    if view.action != "ROLLBACK":
        return view
    with suppress(NotFound):
        return replace(view, rolled_back=service.stack(view.id).rolled_back)
    return view


def _why(view: "StackView") -> str:
    """Return why an operation failed, and why it was rolled back, as the end of a line."""
    reasons = [
        view.reason if view.status == "FAILED" else "",
        f"rolled back because {view.rolled_back}" if view.rolled_back else "",
    ]
    told = "; ".join(filter(None, reasons))
    return f": {printable(told)}" if told else ""


def outputs_table(outputs: tuple["OutputView", ...]) -> Table:
    """Return the table of outputs; an output without a value shows its error."""
    values = {view.key: f"error: {view.error}" if view.error else view.value for view in outputs}
    return fields_table(values, "outputs")
