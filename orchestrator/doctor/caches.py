"""Doctor checks of the constraint caches of configured clients."""

from collections.abc import Collection, Iterator
from concurrent.futures import ThreadPoolExecutor

from hooks.values.nearest import Nearest
from orchestrator.config.settings import Settings
from orchestrator.doctor.check import Check
from orchestrator.errors import InvalidInput, PluginMistake
from orchestrator.plugins.clients import ClientPlugins
from orchestrator.plugins.constraint_caches import make_constraint_cache


def check_constraint_caches(settings: Settings, installed: Collection[str] | None = None) -> Iterator[Check]:
    """Check that the cache of each configured client can be created, and answers; all are checked concurrently."""
    if installed is None:
        try:
            installed = ClientPlugins.load()
        except PluginMistake:
            # Reported by the check of clients.
            return
    own = settings.constraint_cache.clients
    nearest = Nearest()
    for name in sorted(set(own) - set(installed)):
        hint = nearest.hint(name, installed, f"there are {', '.join(sorted(installed))}")
        yield Check(
            name=f"constraint cache of {name}",
            ok=False,
            detail=f"there is no client plugin {name!r}",
            hint=f"correct the name in settings.constraint_cache.clients: {hint}",
        )
    names = sorted({*own, *settings.clients} & set(installed))
    with ThreadPoolExecutor() as pool:
        yield from pool.map(lambda name: _check(settings, name), names)


def _check(settings: Settings, client: str) -> Check:
    name = f"constraint cache of {client}"
    try:
        cache = make_constraint_cache(settings, client)
    except InvalidInput as error:
        return Check(name=name, ok=False, detail=str(error), hint="correct the setting")
    if cache is None:
        return Check(name=name, ok=True, detail="disabled: every look-up queries the system")
    found = cache.describe()
    place = f"{found.backend} at {found.url}" if found.url else found.backend
    if not found.reachable:
        hint = "start the cache server, or correct its URL; until then every look-up queries the system"
        return Check(name=name, ok=False, detail=f"{place} does not answer", hint=hint, is_service=True)
    return Check(name=name, ok=True, detail=f"{place}; answers are kept for {found.expiration_seconds:g} s")
