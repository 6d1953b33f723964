"""``isotherm cache``: what is remembered of other systems, how well that serves, and how to have it forgotten."""

import click

from orchestrator.cli.errors import BAD_INPUT, DONE, UNREACHABLE
from orchestrator.cli.formats import Table, moment, show
from orchestrator.cli.options import example, format_option
from orchestrator.cli.shell import Shell
from orchestrator.views.caches import CacheView

_client = click.option("--client", metavar="CLIENT", help="Only that of this client plugin; else of all.")
#: How a command ends when a cache is in a state; when several are, the highest counts.
_CODES = {"unreachable": UNREACHABLE, "wrong": BAD_INPUT}


@click.group()
def cache() -> None:
    """Look at the constraint cache, and flush it."""


@cache.command(
    epilog=example(
        "isotherm cache stats", "isotherm cache stats --client http -f json", "isotherm cache stats --reset"
    )
)
@_client
@click.option("--reset", is_flag=True, help="Begin to count again at zero, after showing what was counted.")
@format_option()
@click.pass_obj
def stats(shell: Shell, *, client: str | None, reset: bool, form: str) -> None:
    """Show what is remembered, and how well it serves.

    Counters are sums over all processes, and lag about a second behind: look-ups that needed no question (hits) and
    those that did (misses); questions answered with a yes (generated), and with a no or not at all (refused); calls of
    the store that failed (errors), and values in it that nobody here wrote (garbage); and answers that went for want
    of room (evicted).
    """
    with shell.service() as service:
        caches = service.cache_stats(client, reset=reset)
    described = [
        (
            view.client,
            view.state,
            view.backend,
            view.expiration_seconds,
            view.max_entries,
            view.entries,
            _where(view),
        )
        for view in caches
    ]
    counted = [
        (
            view.client,
            *(getattr(view.counters, name) for name in _COUNTERS),
            "" if view.hit_rate is None else f"{view.hit_rate:.1%}",
            "" if view.since is None else moment(view.since),
        )
        for view in caches
    ]
    show(
        form,
        [view.to_dict() for view in caches],
        Table(
            columns=("client", "state", "backend", "expires (s)", "max entries", "entries", "where"),
            rows=described,
        ),
        Table(columns=("client", *_COUNTERS, "hit rate", "since"), rows=counted),
    )


@cache.command(epilog=example("isotherm cache flush", "isotherm cache flush --client http"))
@_client
@format_option()
@click.pass_obj
def flush(shell: Shell, *, client: str | None, form: str) -> None:
    """Have what is remembered forgotten.

    A store that processes share is emptied at once. What each process keeps in its own memory (backend memory), it
    empties itself within seconds: word of it is left in the database.

    Ends with 3 if a store does not answer.
    """
    with shell.service() as service:
        flushed = service.flush_caches(client)
    rows = [(view.client, view.state, view.detail) for view in flushed]
    show(form, [view.to_dict() for view in flushed], Table(columns=("client", "state", "detail"), rows=rows))
    raise click.exceptions.Exit(max((_CODES.get(view.state, DONE) for view in flushed), default=DONE))


_COUNTERS = ("hits", "misses", "generated", "refused", "errors", "garbage", "evicted")


def _where(view: CacheView) -> str:
    return f"{view.url} ({view.detail})" if view.url and view.detail else view.url or view.detail
