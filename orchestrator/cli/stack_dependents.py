"""``isotherm stack update-dependents``: update the stacks that read outputs of a stack, in order."""

import uuid
from collections.abc import Sequence
from dataclasses import replace
from itertools import groupby
from typing import TYPE_CHECKING, Final

import click

from hooks.values.dataclass import dataclass
from orchestrator.cli.errors import DONE, STACK_FAILED, exit_code
from orchestrator.cli.events import last_event
from orchestrator.cli.formats import Table, show
from orchestrator.cli.options import comment_option, shell_command
from orchestrator.cli.shell import Shell
from orchestrator.errors import IsothermError

if TYPE_CHECKING:
    from orchestrator.service import Service
    from orchestrator.views.dependencies import DependentView
    from orchestrator.views.stacks import StackView

UP_TO_DATE: Final = "up to date"
SKIPPED: Final = "skipped"


@dataclass(slots=True, kw_only=True)
class _Update:
    """The update of one dependent, as far as it got."""

    of: "DependentView"
    #: A state of the stack, or why there was no update.
    state: str = ""
    reason: str = ""
    code: int = DONE
    #: The stack in progress, and its last event before; None if no update was begun.
    begun: "StackView | None" = None
    after: int = 0


@shell_command(
    "isotherm stack update-dependents network",
    "isotherm stack update-dependents network --dry-run",
    "isotherm stack update-dependents network --dry-run -f json",
)
@click.argument("name")
@click.option("--dry-run", "is_dry_run", is_flag=True, help="Show the order, and update nothing.")
@comment_option
def update_dependents(shell: Shell, name: str, *, is_dry_run: bool, form: str) -> None:
    """Update the stacks that read outputs of a stack.

    The stacks that read outputs of NAME, those that read outputs of these, and so on, each with its existing
    definition. The stacks of a layer are updated at the same time, and the next layer begins when they have ended. A
    stack is left out if none of its values is stale then, and skipped if a stack that it reads has failed. Stacks of
    other projects are counted; their owners update them.
    """
    with shell.service() as service:
        dependents, others = service.sharing.dependents(name)
        if is_dry_run:
            updates = [_Update(of=each, state="stale" if each.stale else "") for each in dependents]
        else:
            updates = _carry_out(shell, service, name, dependents)
    if others:
        stacks = "1 stack" if others == 1 else f"{others} stacks"
        click.echo(f"{stacks} of other projects read outputs too: their owners update them", err=True)
    columns = ("layer", "name", "after", "state", "reason")
    rows = [
        (each.of.layer, each.of.name, ", ".join(each.of.after), each.state, each.reason) for each in updates
    ]
    data = {
        "stack": name,
        "other_projects": others,
        "dependents": [{**each.of.to_dict(), "state": each.state, "reason": each.reason} for each in updates],
    }
    show(form, data, Table(columns=columns, rows=rows))
    raise click.exceptions.Exit(max((each.code for each in updates), default=DONE))


def _carry_out(
    shell: Shell, service: "Service", name: str, dependents: Sequence["DependentView"]
) -> list[_Update]:
    from orchestrator.cli.progress import follow, resumable

    updates: list[_Update] = []
    for _, layer in groupby(dependents, key=lambda each: each.layer):
        failed = {each.of.name for each in updates if each.code != DONE}
        # What the layers before have changed is known only now.
        stale = {each.id for each in service.sharing.dependents(name)[0] if each.stale}
        some = [_begun(service, each, failed, is_stale=each.id in stale) for each in layer]
        for each in some:
            if each.begun is None:
                continue
            with resumable(each.of.name, embedded=shell.settings.embedded):
                view = follow(service, each.begun, after=each.after)
            each.state, each.reason = view.state, view.reason
            each.code = DONE if (view.action, view.status) == ("UPDATE", "COMPLETE") else STACK_FAILED
        updates += some
    return updates


def _begun(service: "Service", of: "DependentView", failed: set[str], *, is_stale: bool) -> _Update:
    """Begin the update of a stack, unless it needs none or a stack that it reads has failed."""
    if before := sorted(failed.intersection(of.after)):
        return _Update(of=of, state=SKIPPED, reason=f"{', '.join(before)} failed", code=STACK_FAILED)
    try:
        present = service.head(of.id)
        if not is_stale and present.status == "COMPLETE":
            return _Update(of=of, state=UP_TO_DATE)
        job = replace(service.definition(of.id), job_id=str(uuid.uuid4()))
        after = last_event(service, of.id)
        return _Update(of=of, begun=service.update(job), after=after)
    except IsothermError as error:
        return _Update(of=of, state="refused", reason=str(error), code=exit_code(error))
