"""What plugins that are part of the engine are handed, made when it is first asked for: most processes never do."""

from collections.abc import Callable, Iterator, Mapping
from contextlib import ExitStack, contextmanager
from functools import cache

from hooks.lifecycle import LifecyclePlugin
from orchestrator.config.hooks import lifecycle_plugins
from orchestrator.config.settings import Settings
from orchestrator.errors import Unavailable
from orchestrator.lifecycle.engine_plugin import Engine, Nodes, joined
from orchestrator.plugins.registry import ResourceTypes
from orchestrator.plugins.resource import Resource
from orchestrator.store.database import ping
from orchestrator.store.store import Store


def engine_of(
    settings: Settings, *, store: Callable[[], Store], types: Callable[[], Mapping[str, type[Resource]]]
) -> Engine:
    """Return what a process of these settings has."""

    def nodes() -> Nodes:
        # How nodes are asked is slow to import, and of no use where nothing is on one.
        from orchestrator.nodes.rpc.client import NodeClient

        return NodeClient.of(settings)

    return Engine(settings=settings, store=store, types=types, nodes=nodes)


@contextmanager
def previewing_plugins(settings: Settings) -> Iterator[tuple[LifecyclePlugin, ...]]:
    """Return the lifecycle plugins at work, for a process that has nothing but settings: they are only to look.

    Nothing is connected to unless one of them wants to know.

    Raises:
        HooksNotLoaded: some cannot be used; with what is wrong with each.
    """
    with ExitStack() as opened:

        @cache
        def store() -> Store:
            made = _looked_into(settings)
            opened.callback(made.close)
            return made

        engine = engine_of(settings, store=store, types=ResourceTypes.load)
        yield joined(lifecycle_plugins(settings), engine)


def _looked_into(settings: Settings) -> Store:
    """Return the store that there is, or would be: none is made, and nobody waits for one that is away.

    Raises:
        Unavailable: the database does not answer.
    """
    try:
        ping(settings.effective_database_url)
    except Unavailable:
        if settings.embedded:
            return Store.empty()
        raise
    return Store.of(settings)
