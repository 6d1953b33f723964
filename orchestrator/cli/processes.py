"""``isotherm worker``, ``coordinator`` and ``agent``: long-running processes of an installation with a broker."""

from typing import TYPE_CHECKING

import click

from orchestrator.cli.logs import LEVELS, configure_logs
from orchestrator.cli.options import example, split_pairs
from orchestrator.cli.shell import Shell

if TYPE_CHECKING:
    from orchestrator.config.settings import Settings

concurrency_option = click.option(
    "--concurrency",
    type=click.IntRange(min=1),
    metavar="N",
    help="How many messages to work on at once; the number of processors if left out.",
)
loglevel_option = click.option(
    "--loglevel",
    type=click.Choice(LEVELS, case_sensitive=False),
    help="The log level; that of the settings if left out.",
)
name_option = click.option(
    "--name", help="The name that Celery's tools show; made from the host's name if left out. Must be unique."
)


@click.command(
    epilog=example("isotherm worker", "isotherm worker --pool threads --concurrency 50 --loglevel INFO")
)
@concurrency_option
@click.option(
    "--pool",
    type=click.Choice(["prefork", "threads", "solo"]),
    default="prefork",
    show_default=True,
    help="How a worker runs several checks at once.",
)
@loglevel_option
@name_option
@click.pass_obj
def worker(shell: Shell, concurrency: int | None, pool: str, loglevel: str | None, name: str | None) -> None:
    """Run a worker.

    It takes checks from the broker, each of which moves one resource one step further. Start as many as you
    like, on as many machines as you like.
    """
    settings = _settings_with_logs(shell, loglevel)
    # Imports celery, which only the commands of this module and the doctor need.
    from orchestrator.queue.processes import run_worker

    raise click.exceptions.Exit(run_worker(settings, concurrency=concurrency, pool=pool, name=name))


@click.command(epilog=example("isotherm coordinator", "isotherm coordinator --concurrency 4"))
@click.option(
    "--concurrency",
    type=click.IntRange(min=1),
    metavar="N",
    help="How many jobs to begin at once; 2 if left out. Sweeps and ends of operations have a process of their own.",
)
@loglevel_option
@name_option
@click.pass_obj
def coordinator(shell: Shell, concurrency: int | None, loglevel: str | None, name: str | None) -> None:
    """Run a coordinator.

    It accepts stack jobs, sends checks to workers, and retries those that are due. One is enough; several share the
    work, and the others continue when one is lost.
    """
    settings = _settings_with_logs(shell, loglevel)
    from orchestrator.queue.processes import run_coordinator

    raise click.exceptions.Exit(run_coordinator(settings, concurrency=concurrency, name=name))


@click.command(epilog=example("isotherm agent --node host1", "isotherm agent --node host2 --label rack=r1"))
@click.option(
    "--node", required=True, metavar="NAME", help="The name of the machine; must be unique among agents."
)
@click.option(
    "--label",
    "labels",
    multiple=True,
    metavar="NAME=VALUE",
    callback=split_pairs,
    help="A label of the node for placement; may be given several times. Adds to the setting agent.labels.",
)
@loglevel_option
@click.pass_obj
def agent(shell: Shell, node: str, labels: dict[str, str], loglevel: str | None) -> None:
    """Run a node's agent.

    It reports the state of this machine, and manages the resources that stacks place on it: instances, volumes, files,
    processes. It needs the broker and the node state cache, but not the database.
    """
    settings = _settings_with_logs(shell, loglevel)
    # Found by its entry point: this package must not import the workers'. Imports celery, as above.
    from hooks.loading.entries import load_named

    serve = load_named("isotherm.workers", "agent_process")
    raise click.exceptions.Exit(serve(settings, node=node, labels=labels))


def _settings_with_logs(shell: Shell, loglevel: str | None) -> "Settings":
    settings = shell.settings
    if loglevel:
        settings = settings.with_values(log_level=loglevel.upper())
    configure_logs(settings)
    return settings
