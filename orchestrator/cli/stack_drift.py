"""``isotherm stack drift``: observe a stack on demand, and show how its objects differ."""

from collections.abc import Sequence
from typing import TYPE_CHECKING

import click

from orchestrator.cli.formats import Table, as_json, moment, printable, show
from orchestrator.cli.options import shell_command
from orchestrator.cli.shell import Shell
from orchestrator.cli.waiting import Waiting

if TYPE_CHECKING:
    from orchestrator.views.drift import DriftView

_MASKED = "****"


@click.group()
def drift() -> None:
    """Find and show changes made by others."""


@shell_command(
    "isotherm stack drift detect web", "isotherm stack drift detect web -f json", group=drift, name="detect"
)
@click.argument("name")
def detect(shell: Shell, name: str, form: str) -> None:
    """Observe a stack now, and show its drift.

    Each object is read and compared with the record of its resource. Nothing is changed, no resource becomes
    CHECK_FAILED, and an operation that begins meanwhile goes first. Stacks with a policy are observed by themselves:
    isotherm stack observe set.
    """
    with shell.service() as service, Waiting(f"observing stack {printable(name)!r}") as waiting:
        found = service.drift.detect(name, waiting.go_on)
        trouble = service.drift.observation(name).trouble
    if trouble:
        click.echo(f"not everything was observed: {printable(trouble)}", err=True)
    _show(found, form)


@shell_command(
    "isotherm stack drift show web", "isotherm stack drift show web -f json", group=drift, name="show"
)
@click.argument("name")
def show_drift(shell: Shell, name: str, form: str) -> None:
    """Show the drift on record.

    A row for each property that differs, with both values; a row without a property is an object that is gone. The
    standing says what is done about it: reported, repairing, postponed or left alone.
    """
    with shell.service() as service:
        found = service.drift.drift(name)
    _show(found, form)


def _show(found: "Sequence[DriftView]", form: str) -> None:
    columns = ("resource", "property", "recorded", "observed", "since", "seen", "standing")
    rows = [
        (
            each.resource,
            each.key or "(gone)",
            *_values(each),
            moment(each.since_at),
            each.times,
            f"{each.standing}: {each.why}" if each.why else each.standing,
        )
        for each in found
    ]
    show(form, [each.to_dict() for each in found], Table(columns=columns, rows=rows, spare=("seen", "since")))


def _values(view: "DriftView") -> tuple[str, str]:
    if view.hidden:
        return _MASKED, _MASKED
    return _text(view.recorded), _text(view.observed)


def _text(value: object) -> str:
    if value is None:
        return ""
    return value if isinstance(value, str) else " ".join(as_json(value).split())
