"""Engine objects for engine plugins, made at their first use, and the plugins of a preview."""

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
from orchestrator.store.store import Store


def engine_of(
    settings: Settings, *, store: Callable[[], Store], types: Callable[[], Mapping[str, type[Resource]]]
) -> Engine:
    """Return the engine of a process, which makes its machine client at the first use."""

    def nodes() -> Nodes:
        # The client is slow to import, and not needed without resources on machines.
        from orchestrator.nodes.rpc.client import NodeClient

        return NodeClient.of(settings)

    return Engine(settings=settings, store=store, types=types, nodes=nodes)


@contextmanager
def previewing_plugins(settings: Settings) -> Iterator[tuple[LifecyclePlugin, ...]]:
    """Yield the enabled lifecycle plugins, for a process without an engine that only previews.

    The database and the machines are connected to only if a plugin uses them.

    Raises:
        HooksNotLoaded: some cannot be loaded; with the faults of each.
    """
    with ExitStack() as opened:

        @cache
        def store() -> Store:
            from orchestrator.store.probing import ping

            try:
                ping(settings.effective_database_url)
            except Unavailable:
                # In embedded mode the first command that needs a database makes it.
                if not settings.embedded:
                    raise
                made = Store.empty()
            else:
                made = Store.of(settings)
            opened.callback(made.close)
            return made

        engine = engine_of(settings, store=store, types=ResourceTypes.load)
        yield joined(lifecycle_plugins(settings), engine)
