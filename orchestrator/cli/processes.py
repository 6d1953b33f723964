"""``isotherm worker`` and ``isotherm coordinator``: the processes of an installation with a broker."""

from typing import TYPE_CHECKING

import click

from orchestrator.cli.logs import LEVELS, configure_logs
from orchestrator.cli.options import example
from orchestrator.cli.shell import Shell

if TYPE_CHECKING:
    from orchestrator.settings import Settings

concurrency_option = click.option(
    "--concurrency",
    type=click.IntRange(min=1),
    metavar="N",
    help="How many messages to work on at once; the number of processors if left out.",
)
loglevel_option = click.option(
    "--loglevel",
    type=click.Choice(LEVELS, case_sensitive=False),
    help="How much to log; the settings' if left out.",
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
    type=click.Choice(["prefork", "threads", "gevent", "solo"]),
    default="prefork",
    show_default=True,
    help="How a worker does several checks at once.",
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
    # Brings celery in, which only the two commands of this module (and the doctor) pay for.
    from orchestrator.queue import run_worker

    raise click.exceptions.Exit(run_worker(settings, concurrency=concurrency, pool=pool, name=name))


@click.command(epilog=example("isotherm coordinator", "isotherm coordinator --concurrency 2"))
@concurrency_option
@loglevel_option
@name_option
@click.pass_obj
def coordinator(shell: Shell, concurrency: int | None, loglevel: str | None, name: str | None) -> None:
    """Run a coordinator.

    It accepts stack jobs, hands out checks, and sweeps what is due. One is enough; several share the work,
    and go on when one is lost.
    """
    settings = _settings_with_logs(shell, loglevel)
    from orchestrator.queue import run_coordinator

    raise click.exceptions.Exit(run_coordinator(settings, concurrency=concurrency, name=name))


def _settings_with_logs(shell: Shell, loglevel: str | None) -> "Settings":
    settings = shell.settings
    if loglevel:
        settings = settings.model_copy(update={"log_level": loglevel.upper()})
    configure_logs(settings)
    return settings
