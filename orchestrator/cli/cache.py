"""``isotherm cache``: entries, hit rates and flushes of the constraint caches."""

from typing import TYPE_CHECKING

import click

from orchestrator.cli.errors import BAD_INPUT, DONE, UNREACHABLE
from orchestrator.cli.formats import Table, moment, show
from orchestrator.cli.options import shell_command
from orchestrator.cli.shell import Shell

if TYPE_CHECKING:
    from orchestrator.views.caches import CacheView

_client = click.option(
    "--client", metavar="CLIENT", help="Only the cache of this client plugin; all caches if left out."
)
#: Exit codes by the state of a cache; the command ends with the highest.
_CODES = {"unreachable": UNREACHABLE, "wrong": BAD_INPUT}


@click.group()
def cache() -> None:
    """Show and flush the constraint caches."""


@shell_command(
    "isotherm cache stats",
    "isotherm cache stats --client http -f json",
    "isotherm cache stats --reset",
    group=cache,
)
@_client
@click.option("--reset", is_flag=True, help="Set the counters to zero after showing them.")
def stats(shell: Shell, *, client: str | None, reset: bool, form: str) -> None:
    """Show the constraint caches and their hit rates.

    Counters are sums over all processes, and lag about a second behind: look-ups answered from the cache (hits) and
    those that queried the system (misses); queries that found the value (generated), and queries that did not find it
    or failed (refused); failed calls of the cache server (errors), and entries that Isotherm did not write (garbage);
    and entries removed because the cache was full (evicted).
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


@shell_command("isotherm cache flush", "isotherm cache flush --client http", group=cache)
@_client
def flush(shell: Shell, *, client: str | None, form: str) -> None:
    """Empty the constraint caches.

    A cache server that processes share is emptied at once. A cache in the memory of each process (backend memory) is
    emptied by that process within seconds, when it reads the request from the database.

    Ends with 3 if a cache server does not answer.
    """
    with shell.service() as service:
        flushed = service.flush_caches(client)
    rows = [(view.client, view.state, view.detail) for view in flushed]
    show(form, [view.to_dict() for view in flushed], Table(columns=("client", "state", "detail"), rows=rows))
    raise click.exceptions.Exit(max((_CODES.get(view.state, DONE) for view in flushed), default=DONE))


_COUNTERS = ("hits", "misses", "generated", "refused", "errors", "garbage", "evicted")


def _where(view: "CacheView") -> str:
    return f"{view.url} ({view.detail})" if view.url and view.detail else view.url or view.detail
