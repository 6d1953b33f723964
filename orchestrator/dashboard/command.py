"""How the dashboard is started: ``isotherm dashboard``, and ``celery -A orchestrator.queue:app dashboard``."""

import atexit
import signal
import sys
from collections.abc import Sequence

import click
from celery import Celery
from celery.bin.base import CeleryCommand
from flower.command import (
    apply_env_options,
    apply_options,
    extract_settings,
    print_banner,
    setup_logging,
    sigterm_handler,
)
from flower.urls import settings as flowers
from tornado.options import options

from orchestrator.dashboard.app import Dashboard
from orchestrator.dashboard.options import define_options
from orchestrator.queue import default_app
from orchestrator.settings import Settings, load_settings
from orchestrator.store.store import Store


@click.command(cls=CeleryCommand, context_settings={"ignore_unknown_options": True})
@click.argument("tornado_argv", nargs=-1, type=click.UNPROCESSED)
@click.pass_context
def dashboard(context: click.Context, tornado_argv: tuple[str, ...]) -> None:
    """Flower, with pages about stacks."""
    serve(context.obj.app, load_settings(), tornado_argv, quiet=context.obj.quiet)


def run_dashboard(settings: Settings, arguments: Sequence[str]) -> None:
    """Serve until told to stop, with Flower's options and ours as they are typed."""
    serve(default_app(), settings, arguments)


def serve(app: Celery, settings: Settings, arguments: Sequence[str], *, quiet: bool = False) -> None:
    """Serve until told to stop."""
    define_options()
    apply_env_options()
    apply_options(sys.argv[0], arguments)
    extract_settings()
    setup_logging()
    served = Dashboard(app, options, settings, Store.of(settings), **flowers)
    atexit.register(served.stop)
    signal.signal(signal.SIGTERM, sigterm_handler)
    port = served.start_http_server()
    if not quiet:
        print_banner(app, "ssl_options" in flowers, port)
    try:
        served.start()
    except (KeyboardInterrupt, SystemExit):
        served.stop()
