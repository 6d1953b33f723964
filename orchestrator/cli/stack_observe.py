"""``isotherm stack observe``: the observation policy of a stack."""

from typing import TYPE_CHECKING, Any

import click

from orchestrator.cli.formats import Table, fields_table, moment, show
from orchestrator.cli.options import shell_command
from orchestrator.cli.shell import Shell
from orchestrator.cli.times import Time, duration
from orchestrator.cli.waiting import Waiting
from orchestrator.model.durations import span_seconds
from orchestrator.model.observation_policy import GONE, MODES

if TYPE_CHECKING:
    from orchestrator.engine.observation_round import RoundState
    from orchestrator.views.drift import ObservationView

_SPAN = Time("duration", span_seconds, "a duration such as 15m or 2h")


@click.group()
def observe() -> None:
    """Set when a stack's objects are observed."""


@shell_command(
    "isotherm stack observe set web --mode detect --interval 1h",
    "isotherm stack observe set web --mode repair --ignore 'OS::Nova::Server/metadata.owner'",
    "isotherm stack observe set web --mode off",
    group=observe,
    name="set",
)
@click.argument("name")
@click.option(
    "--mode", type=click.Choice(MODES), help="Observe never, or record drift, or repair it as well."
)
@click.option("--interval", "interval_seconds", type=_SPAN, help="How often, such as 15m.")
@click.option("--window", metavar="HH:MM-HH:MM", help="Only at this time of the day, in UTC; '' for any.")
@click.option("--repairs-per-hour", type=int, help="The most resources that are repaired in an hour.")
@click.option("--gone", type=click.Choice(GONE), help="What a repair does about an object that is gone.")
@click.option("--replace/--no-replace", default=None, help="Whether a repair may replace resources.")
@click.option(
    "--ignore",
    multiple=True,
    metavar="WHAT",
    help="No drift: TYPE/PATH, RESOURCE/PATH, or without a path the whole; several times; '' for nothing.",
)
@click.option(
    "--report-only",
    multiple=True,
    metavar="WHAT",
    help="A type or a resource that is never repaired; several times; '' for none.",
)
def set_policy(shell: Shell, name: str, *, form: str, **given: Any) -> None:
    """Set the observation policy of a stack.

    Options that are left out keep their values. The policy holds for nested stacks, too. Resources whose repair was
    given up have another chance.
    """
    changes = {key: value for key, value in given.items() if value is not None and value != ()}
    for key in ("ignore", "report_only"):
        if key in changes:
            changes[key] = [each for each in changes[key] if each]
    with shell.service() as service:
        view = service.drift.set_policy(name, changes)
    _show(view, form)


@shell_command("isotherm stack observe show web", group=observe, name="show")
@click.argument("name")
def show_policy(shell: Shell, name: str, form: str) -> None:
    """Show the policy, and when it takes effect."""
    with shell.service() as service:
        view = service.drift.observation(name)
    _show(view, form)


@shell_command("isotherm stack observe run", "isotherm stack observe run -f json", group=observe, name="run")
def run(shell: Shell, form: str) -> None:
    """Observe what is due, and repair its drift.

    For embedded mode, where nothing runs between two commands: let cron run it. Each stack of the project is observed
    whose time by its policy has come, and repaired if its policy says so. With a broker, coordinators do this.
    """
    with shell.service() as service, Waiting("observing stacks") as waiting:
        found = service.drift.observe_due(lambda state: waiting.go_on(_in_words(state)))
    rows = [
        (each.stack, "yes" if each.observed else "no", each.drifted, each.repaired, each.trouble)
        for each in found
    ]
    columns = ("stack", "observed", "drifted", "repaired", "trouble")
    show(form, [each.to_dict() for each in found], Table(columns=columns, rows=rows))


def _in_words(state: "RoundState") -> str:
    return f"{state.done} of {state.stacks} stacks are done, {state.repairing} are under repair"


def _show(view: "ObservationView", form: str) -> None:
    fields = {
        "stack": view.stack,
        "mode": view.mode,
        "interval": duration(view.interval_seconds),
        "window": view.window or "any time",
        "repairs per hour": view.repairs_per_hour,
        "gone": view.gone,
        "replace": "yes" if view.replace else "no",
        "ignore": ", ".join(view.ignore),
        "report only": ", ".join(view.report_only),
        "observed": "never" if view.observed_at is None else moment(view.observed_at),
        "next": "never" if view.due_at is None else moment(view.due_at),
        "repairs today": view.repairs,
        "trouble": view.trouble,
    }
    show(form, view.to_dict(), fields_table(fields))
