"""Constraint caches of one process, built from the settings: one for each client plugin."""

import threading

from cache.constraints.cache import ConstraintCache
from cache.stores.regions import CacheMisconfigured
from orchestrator.config.settings import Settings
from orchestrator.errors import InvalidInput, Problem


class ConstraintCaches:
    """Caches by client plugin, each built when first needed; safe for threads."""

    def __init__(self, settings: Settings) -> None:
        self._settings = settings
        self._made: dict[str, ConstraintCache | None] = {}
        self._lock = threading.Lock()

    def of(self, client: str) -> ConstraintCache | None:
        """Return the cache of a client; None if the settings disable it.

        Raises:
            InvalidInput: a setting is wrong; the problem names it.
        """
        with self._lock:
            if client not in self._made:
                self._made[client] = make_constraint_cache(self._settings, client)
            return self._made[client]

    def made(self) -> list[ConstraintCache]:
        """Return the caches built so far, sorted by name."""
        with self._lock:
            return [cache for _, cache in sorted(self._made.items()) if cache is not None]


def make_constraint_cache(settings: Settings, client: str) -> ConstraintCache | None:
    """Return a new cache for a client; None if the settings disable it.

    Raises:
        InvalidInput: a setting is wrong; the problem names it.
    """
    common = settings.constraint_cache
    # Settings that are not given for the client are those for all.
    given = common.clients[client].to_dict() if client in common.clients else {}
    own = {name: value for name, value in given.items() if value is not None}
    if not own.get("enabled", common.enabled):
        return None
    place = settings.cache_place
    backend = own.get("backend", place.backend)
    same = backend == place.backend
    try:
        return ConstraintCache(
            client,
            backend=backend,
            # The address of another kind of backend does not apply.
            url=own.get("url", place.url if same else ""),
            arguments=own.get("arguments", common.arguments if same else {}),
            expiration_seconds=own.get("expiration_seconds", common.expiration_seconds),
            max_entries=own.get("max_entries", common.max_entries),
            lock_seconds=common.lock_seconds,
        )
    except CacheMisconfigured as error:
        # A client with a backend of its own needs the other settings of it, too.
        of_client = error.argument in own or not same
        raise InvalidInput([_problem(settings, client if of_client else "", error)]) from error


def _problem(settings: Settings, client: str, error: CacheMisconfigured) -> Problem:
    common = {
        "backend": "cache_backend" if settings.cache_backend else "cache_url",
        "url": settings.cache_place.setting,
        "arguments": "constraint_cache.arguments",
    }
    place = f"constraint_cache.clients.{client}.{error.argument}" if client else common[error.argument]
    return Problem(message=str(error), path=f"settings.{place}")
