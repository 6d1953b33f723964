"""Start of the dashboard: ``isotherm dashboard``, and ``celery -A orchestrator.queue:app dashboard``."""

import atexit
import logging
import os
import signal
import sys
from collections.abc import Sequence
from types import FrameType

import click
from celery import Celery
from celery.bin.base import CeleryCommand
from flower.command import extract_settings, setup_logging
from flower.urls import settings as flowers
from tornado.options import options

from orchestrator.access.authenticators import by_tokens
from orchestrator.cli.errors import exit_code, report
from orchestrator.cli.logs import configure_logs
from orchestrator.config.garbage import settle
from orchestrator.config.settings import Settings, load_settings
from orchestrator.config.shared_database import require_shared_database
from orchestrator.dashboard.app import Dashboard
from orchestrator.dashboard.leaving import leave_in_time
from orchestrator.dashboard.options import read_options
from orchestrator.errors import InvalidInput, IsothermError, Problem
from orchestrator.processes.embedded import prepare_database
from orchestrator.queue.broker_login import require_broker_login
from orchestrator.queue.celery_app import make_app
from orchestrator.queue.unacked import keep_apart
from orchestrator.store.on_demand import import_parts
from orchestrator.store.store import Store

#: The broker that Flower is given in embedded mode: it never carries a message.
_NO_BROKER = "memory://localhost//"


@click.command(cls=CeleryCommand, context_settings={"ignore_unknown_options": True})
@click.argument("tornado_argv", nargs=-1, type=click.UNPROCESSED)
@click.pass_context
def dashboard(context: click.Context, tornado_argv: tuple[str, ...]) -> None:
    """Flower, with pages about stacks."""
    try:
        settings = load_settings()
        configure_logs(settings)
        app = None if settings.embedded else context.obj.app
        serve(settings, tornado_argv, app=app, quiet=context.obj.quiet)
    except IsothermError as error:
        report(error, "table")
        context.exit(exit_code(error))


def serve(
    settings: Settings, arguments: Sequence[str], *, app: Celery | None = None, quiet: bool = False
) -> None:
    """Serve the dashboard until SIGTERM, SIGHUP or Ctrl-C.

    Without ``app``, the Celery app is made from the settings; if ``quiet``, the address is not written on stderr.

    Raises:
        InvalidInput: the options cannot be used, the address is taken, or there is a broker and no database is set.
        Unavailable: the database has another schema than this version needs, or cannot be created; or the broker
            refuses the login.
    """
    require_shared_database(settings)
    # Flower's state (--persistent) has the arguments of tasks, and its log names of users: neither is given a mode.
    os.umask(0o077)
    read_options(sys.argv[0], arguments, embedded=settings.embedded, tokens=by_tokens(settings))
    extract_settings()
    setup_logging()
    app = app or make_app(_with_broker(settings))
    keep_apart(app, "dashboard")
    store = Store.of(settings)
    if settings.embedded:
        # Otherwise each migration of a new database would log a line.
        logging.getLogger("alembic").setLevel(logging.WARNING)
        # It warns each time its page of workers is opened, and embedded mode has no workers.
        logging.getLogger("flower.inspector").setLevel(logging.ERROR)
    else:
        require_broker_login(settings)
    prepare_database(settings, store)
    served = Dashboard(app, options, settings, store, **flowers)
    atexit.register(served.stop)
    _end_by_signals(served)
    port = _listen(served)
    if not quiet:
        click.echo(where(port, settings, is_secure="ssl_options" in flowers), err=True)
    # Its pages read with most of the store; the first one shall not wait for imports.
    import_parts(Store)
    settle()
    try:
        served.start()
    finally:
        served.stop()
        leave_in_time()


def _end_by_signals(served: Dashboard) -> None:
    """Let SIGTERM, SIGINT and SIGHUP end the loop, also before it begins; a signal that is ignored stays so."""

    def end(number: int, _frame: FrameType | None) -> None:
        # An exception raised here could be swallowed by whatever runs at this moment, such as a finalizer.
        served.io_loop.add_callback_from_signal(served.io_loop.stop)
        if number == signal.SIGINT:
            signal.signal(signal.SIGINT, signal.default_int_handler)

    for each in (signal.SIGTERM, signal.SIGINT, signal.SIGHUP):
        if signal.getsignal(each) is not signal.SIG_IGN:
            signal.signal(each, end)


def where(port: int | None, settings: Settings, *, is_secure: bool) -> str:
    """Return a sentence with the dashboard's address and database; ``port`` is None for a Unix socket."""
    if port is None:
        place = f"at the socket {options.unix_socket}"
    else:
        prefix = f"/{options.url_prefix.strip('/')}" if options.url_prefix else ""
        host = options.address or "127.0.0.1"
        named = f"[{host}]" if ":" in host else host
        place = f"at http{'s' if is_secure else ''}://{named}:{port}{prefix}/stacks"
    shown = f"those of {settings.state_directory}, without a broker" if settings.embedded else "with a broker"
    return f"Stacks are shown {place} ({shown}); Ctrl-C ends it"


def _with_broker(settings: Settings) -> Settings:
    return settings.with_values(broker_url=_NO_BROKER) if settings.embedded else settings


def _listen(served: Dashboard) -> int | None:
    """Listen on the address, and return the port; None for a Unix socket."""
    try:
        port: int | None = served.start_http_server()
    except OSError as error:
        served.stop()
        place = options.unix_socket or f"{options.address or '*'}:{options.port}"
        why = (error.strerror or str(error)).lower()
        problem = Problem(
            path="--unix_socket" if options.unix_socket else "--address, --port",
            message=f"cannot listen on {place}: {why}",
            hint="another dashboard may be there already; --port=0 takes any port that is free",
        )
        raise InvalidInput([problem]) from error
    return port
