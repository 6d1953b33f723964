"""Entry points of installed packages, found and loaded: the one registry of hooks and of all other plugins.

They are loaded by stevedore. Its manager would find them in a cache, which loses the packages that bring them, and lets
an import end the process; both are corrected here.
"""

from collections.abc import Iterable, Iterator, Sequence
from importlib.metadata import EntryPoint
from typing import Any, NamedTuple

from stevedore.extension import ExtensionManager

from hooks.loading.index import entry_points
from hooks.loading.origin import origin_of


class Loaded(NamedTuple):
    """An entry point and its object, or the error that kept it from being loaded."""

    entry: EntryPoint
    plugin: Any = None
    error: BaseException | None = None


def installed_entries(namespace: str) -> dict[str, list[EntryPoint]]:
    """Return the entry points of a group by name, in alphabetical order; nothing is imported."""
    found: dict[str, list[EntryPoint]] = {}
    for entry in sorted(entry_points(group=namespace), key=lambda each: each.name):
        found.setdefault(entry.name, []).append(entry)
    return found


def load_entries(entries: Iterable[EntryPoint]) -> Iterator[Loaded]:
    """Yield each entry point with its object, or with its error; the errors of one hide no other."""
    for entry in entries:
        manager = _Manager(entry)
        yield Loaded(
            entry, *((None, manager.error) if manager.error else (manager.extensions[0].plugin, None))
        )


class NotInstalled(LookupError):
    """No package brings an entry point of a name."""


def load_named(namespace: str, name: str) -> Any:
    """Return the object of the entry point of a name in a group.

    Raises:
        NotInstalled: no package brings it.
        RuntimeError: several do.
        BaseException: whatever its import raises.
    """
    entries = installed_entries(namespace).get(name, [])
    if not entries:
        raise NotInstalled(f"no package brings {name!r} in the group {namespace}")
    if len(entries) > 1:
        raise RuntimeError(rivalry(namespace, entries))
    ((_, plugin, error),) = load_entries(entries)
    if error is not None:
        raise error
    return plugin


def rivalry(what: str, entries: Sequence[EntryPoint]) -> str:
    """Return the sentence that several packages bring a plugin of one name; ``what`` names such a plugin."""
    origins = " and ".join(sorted(f"({origin_of(each)})" for each in entries))
    return f"{what} {entries[0].name!r} is brought by two packages, {origins}: remove one"


class _Ended(Exception):
    """An import that would have ended the process, or an assertion, which stevedore does not catch."""


class _Guarded:
    """An entry point whose loading raises nothing but exceptions that stevedore catches."""

    def __init__(self, entry: EntryPoint) -> None:
        self._entry, self.name = entry, entry.name

    def load(self) -> object:
        try:
            return self._entry.load()
        except (SystemExit, AssertionError) as error:
            raise _Ended from error


class _Manager(ExtensionManager[Any]):
    """stevedore's manager of one entry point."""

    def __init__(self, entry: EntryPoint) -> None:
        self._entry = entry
        self.error: BaseException | None = None
        super().__init__(entry.group, on_load_failure_callback=self._keep)

    def list_entry_points(self) -> list[EntryPoint]:
        return [_Guarded(self._entry)]  # type: ignore[list-item]  # stevedore needs its name and ``load`` alone

    def _keep(self, _manager: object, _entry: object, error: BaseException) -> None:
        self.error = error.__cause__ if isinstance(error, _Ended) else error
