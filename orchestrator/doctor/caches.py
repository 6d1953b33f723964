"""Doctor checks of the constraint caches of configured clients."""

import socket
from collections.abc import Collection, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor

from hooks.values.nearest import Nearest
from orchestrator.caches.admin import PROCESS_STORES
from orchestrator.config.settings import Settings
from orchestrator.doctor.check import Check
from orchestrator.errors import InvalidInput, IsothermError, PluginMistake
from orchestrator.plugins.clients import ClientPlugins
from orchestrator.plugins.constraint_caches import make_constraint_cache
from orchestrator.store.installation.processes import API, PRESENT
from orchestrator.store.store import Store
from orchestrator.views.operations import ProcessView


def processes_present(settings: Settings) -> tuple[ProcessView, ...]:
    """Return the processes of the engine and of the API that reported lately; none if the database cannot be read."""
    store = Store.of(settings)
    try:
        found = store.processes.all(project=settings.project)
    except IsothermError:
        # Reported by the checks of the database and its schema.
        return ()
    finally:
        store.close()
    return tuple(each for each in found if each.state == PRESENT)


def sharing(backend: str, processes: Sequence[ProcessView]) -> str:
    """Return whether a cache is shared, and by how many of the present ``processes``."""
    processes = [each for each in processes if each.kind != API]
    if backend in PROCESS_STORES:
        return f"not shared: each of {len(processes)} processes has its own" if processes else "not shared"
    if not processes:
        return "shared by the processes of this machine" if backend == "file" else "shared by all processes"
    here = [each for each in processes if backend != "file" or each.host == socket.gethostname()]
    return f"shared by {len(here)} of {len(processes)} processes"


def check_constraint_caches(
    settings: Settings,
    installed: Collection[str] | None = None,
    *,
    processes: Sequence[ProcessView] = (),
) -> Iterator[Check]:
    """Check that the cache of each configured client can be created, and answers; all are checked concurrently.

    Each check reports which of the present ``processes`` share the cache.
    """
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
        yield from pool.map(lambda name: _check(settings, name, processes), names)


def _check(settings: Settings, client: str, processes: Sequence[ProcessView]) -> Check:
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
    shared = sharing(found.backend, processes)
    detail = f"{place}; {shared}; answers are kept for {found.expiration_seconds:g} s"
    return Check(name=name, ok=True, detail=detail)
