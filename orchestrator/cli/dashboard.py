"""``isotherm dashboard``: Flower with the pages about stacks."""

import click

from orchestrator.cli.options import example
from orchestrator.cli.shell import Shell


@click.command(
    context_settings={"ignore_unknown_options": True},
    epilog=example("isotherm dashboard", "isotherm dashboard --port=8080 --basic_auth=ann:secret"),
)
@click.argument("options", nargs=-1, type=click.UNPROCESSED)
@click.pass_obj
def dashboard(shell: Shell, options: tuple[str, ...]) -> None:
    """Serve Flower with pages about stacks.

    Takes Flower's options, as --port=8080, --basic_auth=NAME:PASSWORD or --url_prefix=PREFIX.
    """
    settings = shell.settings
    # Brings Flower and Tornado in, which no other command needs.
    from orchestrator.dashboard.command import run_dashboard

    run_dashboard(settings, options)
