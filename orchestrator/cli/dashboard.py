"""``isotherm dashboard``: Flower with the pages about stacks."""

import click

from orchestrator.cli.logs import configure_logs
from orchestrator.cli.options import example
from orchestrator.cli.shell import Shell


@click.command(
    context_settings={"ignore_unknown_options": True},
    epilog=example(
        "isotherm dashboard",
        "isotherm dashboard --port=8080 --basic_auth=ann:secret --stack_actions --stack_operators=ann",
    ),
)
@click.argument("options", nargs=-1, type=click.UNPROCESSED)
@click.pass_obj
def dashboard(shell: Shell, options: tuple[str, ...]) -> None:
    """Serve Flower with pages about stacks.

    Takes Flower's options, written --name=value: --port=8080, --basic_auth=NAME:PASSWORD or --url_prefix=PREFIX.
    Without authentication, everyone who reaches the address can see everything but values of parameters and outputs,
    and can change nothing.

    --stack_actions allows operators to cancel, retry, delete and signal stacks; --stack_operators names the operators.
    """
    # Packages' metadata are slow to read, and no other command needs them.
    from orchestrator.dashboard.installed import require_flower

    settings = shell.settings
    configure_logs(settings)
    require_flower()
    # Imports Flower and Tornado, which no other command needs.
    from orchestrator.cli.dashboard_server import serve

    serve(settings, options)
