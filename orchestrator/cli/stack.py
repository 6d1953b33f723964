"""``isotherm stack``: make, show, follow and delete stacks."""

import time
from typing import Any

import click

from orchestrator.cli import graph as drawing
from orchestrator.cli.errors import BAD_INPUT, DONE, STACK_FAILED
from orchestrator.cli.face import StackService
from orchestrator.cli.formats import (
    Table,
    console_for_results,
    fields_table,
    moment,
    printable,
    show,
    show_tables,
    state_style,
)
from orchestrator.cli.options import example, format_option, template_options, timeout_option, wait_option
from orchestrator.cli.progress import duration, follow, last_event, resumable
from orchestrator.cli.shell import Shell
from orchestrator.cli.source import stack_job
from orchestrator.errors import InvalidInput, Problem
from orchestrator.views import OutputView, StackView


@click.group()
def stack() -> None:
    """Make, show, follow and delete stacks."""


@stack.command(
    epilog=example(
        "isotherm stack create web -t web.yaml",
        "isotherm stack create web -t web.yaml -e prod.yaml -P count=3 --timeout 30",
    )
)
@click.argument("name")
@template_options
@timeout_option
@wait_option
@format_option()
@click.pass_obj
def create(
    shell: Shell,
    name: str,
    *,
    template: str,
    environments: tuple[str, ...],
    parameters: dict[str, str],
    timeout_minutes: float | None,
    wait: bool,
    form: str,
) -> None:
    """Create a stack from a template.

    Progress is shown until the stack is complete; then its outputs are.
    """
    _refuse_to_leave(shell, wait=wait)
    job = stack_job(
        name,
        shell.settings,
        template=template,
        environments=environments,
        parameters=parameters,
        timeout_minutes=timeout_minutes,
    )
    with shell.service() as service:
        made = service.create(job)
        _follow_or_leave(shell, service, made, action="CREATE", wait=wait, form=form, after=0)


@stack.command("list", epilog=example("isotherm stack list", "isotherm stack list -f json"))
@format_option()
@click.pass_obj
def list_stacks(shell: Shell, form: str) -> None:
    """List the stacks of the project."""
    with shell.service() as service:
        stacks = service.stacks()
    rows = [
        (view.name, view.state, moment(view.created_at), moment(view.updated_at), view.id) for view in stacks
    ]
    table = Table(columns=("name", "state", "created", "updated", "id"), rows=rows)
    show(form, [view.to_dict() for view in stacks], table)


@stack.command("show", epilog=example("isotherm stack show web"))
@click.argument("name")
@format_option()
@click.pass_obj
def show_stack(shell: Shell, name: str, form: str) -> None:
    """Show state, parameters and outputs."""
    with shell.service() as service:
        view = service.stack(name)
    show(form, view.to_dict(), *_tables(view))


@stack.command(epilog=example("isotherm stack delete web", "isotherm stack delete web --yes --no-wait"))
@click.argument("name")
@click.option(
    "-y", "--yes", is_flag=True, help="Ask no question; none is asked either when stdin is no terminal."
)
@wait_option
@format_option()
@click.pass_obj
def delete(shell: Shell, name: str, *, yes: bool, wait: bool, form: str) -> None:
    """Delete a stack and everything it made."""
    _refuse_to_leave(shell, wait=wait)
    with shell.service() as service:
        present = service.stack(name)
        if not yes and shell.can_answer() and not _confirmed(service, present):
            click.echo("Nothing was deleted.", err=True)
            raise click.exceptions.Exit(BAD_INPUT)
        after = last_event(service, present.id) if wait else 0
        going = service.delete(name)
        if going is None:
            show(form, present.to_dict(), fields_table({"name": present.name, "state": "already deleted"}))
            return
        _follow_or_leave(shell, service, going, action="DELETE", wait=wait, form=form, after=after)


@stack.command(epilog=example("isotherm stack watch web"))
@click.argument("name")
@format_option()
@click.pass_obj
def watch(shell: Shell, name: str, form: str) -> None:
    """Follow an operation to its end.

    Shows the progress of whatever is under way on the stack. Without a broker this also carries on what an
    interrupted command left.
    """
    with shell.service() as service:
        present = service.stack(name)
        after = last_event(service, present.id)
        _follow_or_leave(shell, service, present, action=present.action, wait=True, form=form, after=after)


@stack.command(
    epilog=example("isotherm stack graph web | dot -Tsvg > web.svg", "isotherm stack graph web -f mermaid")
)
@click.argument("name")
@format_option("dot", "mermaid", "json")
@click.pass_obj
def graph(shell: Shell, name: str, form: str) -> None:
    """Draw what depends on what.

    An arrow points from a resource to one that it requires.
    """
    with shell.service() as service:
        view = service.graph(name)
    if form == "json":
        show(form, view.to_dict())
    else:
        click.echo(drawing.as_dot(view, name) if form == "dot" else drawing.as_mermaid(view), nl=False)


def _refuse_to_leave(shell: Shell, *, wait: bool) -> None:
    if not wait and shell.settings.embedded:
        problem = Problem(
            path="--no-wait",
            message="without a broker this command does the work itself; nobody would carry on after it",
            hint="leave --no-wait out, or set ISOTHERM_BROKER_URL and start a coordinator and workers",
        )
        raise InvalidInput([problem])


def _confirmed(service: StackService, view: StackView) -> bool:
    count = len(service.resources(view.id))
    question = f"Delete the stack {printable(view.name)} and its {count} resource{'' if count == 1 else 's'}?"
    return click.confirm(question, err=True)


def _follow_or_leave(
    shell: Shell, service: StackService, view: StackView, *, action: str, wait: bool, form: str, after: int
) -> None:
    started = time.monotonic()
    was_under_way = view.status == "IN_PROGRESS"
    if wait:
        with resumable(view.name, embedded=shell.settings.embedded):
            view = follow(service, view, after=after)
    outputs = service.outputs(view.id) if wait and view.state == "CREATE_COMPLETE" else ()
    if form == "table":
        seconds = time.monotonic() - started if wait and was_under_way else None
        _final_word(service, view, outputs, seconds=seconds)
    else:
        show(form, {**view.to_dict(), "outputs": [output.to_dict() for output in outputs]})
    raise click.exceptions.Exit(_verdict(view, action=action, wait=wait))


def _verdict(view: StackView, *, action: str, wait: bool) -> int:
    # A rollback, or a delete that somebody else ordered meanwhile, is not the end that was asked for.
    reached = view.status == "COMPLETE" and view.action == action != "ROLLBACK"
    return DONE if reached or not wait else STACK_FAILED


def _final_word(
    service: StackService, view: StackView, outputs: tuple[OutputView, ...], *, seconds: float | None
) -> None:
    from rich.text import Text

    console = console_for_results()
    word = Text.assemble((printable(view.name), "bold"), " ", (view.state, state_style(view.state)))
    word.append(f" after {duration(seconds)}" if seconds is not None else "")
    word.append(f": {printable(view.reason)}" if view.reason and view.status == "FAILED" else "")
    console.print(word, soft_wrap=True)
    if view.status == "FAILED":
        for failed in (resource for resource in service.resources(view.id) if resource.status == "FAILED"):
            line = Text.assemble(
                "  ", (printable(failed.name), "bold"), " ", (failed.state, state_style(failed.state))
            )
            console.print(line.append(f": {printable(failed.reason)}"), soft_wrap=True)
    if outputs:
        show_tables([_outputs_table(outputs)])


def _outputs_table(outputs: tuple[OutputView, ...]) -> Table:
    values = {view.key: f"error: {view.error}" if view.error else view.value for view in outputs}
    return fields_table(values, "outputs")


def _tables(view: StackView) -> list[Table]:
    fields: dict[str, Any] = {
        "name": view.name,
        "id": view.id,
        "project": view.project,
        "description": view.description.strip(),
        "state": view.state,
        "reason": view.reason,
        "created": moment(view.created_at),
        "updated": moment(view.updated_at),
        "timeout": f"{view.timeout_minutes:g} min",
    }
    tables = [fields_table(fields)]
    if view.parameters:
        tables.append(fields_table(view.parameters, "parameters"))
    if view.outputs:
        tables.append(_outputs_table(view.outputs))
    return tables
