"""Entry points of installed packages, found and loaded: the one registry of hooks and of all other plugins.

Those of other packages are loaded by stevedore. Those that ship with Isotherm are imported without it: most commands
need no others, and stevedore takes as long to import as some of them.
"""

from collections.abc import Iterable, Iterator, Sequence
from typing import Any, Final, NamedTuple

from hooks.loading.entry import Entry
from hooks.loading.index import entry_points
from hooks.loading.origin import origin_of

#: The packages that ship with Isotherm.
_SHIPPED: Final = frozenset({"cache", "hooks", "isotherm", "orchestrator", "workers"})


class Loaded(NamedTuple):
    """An entry point and its object, or the error that kept it from being loaded."""

    entry: Entry
    plugin: Any = None
    error: BaseException | None = None


def installed_entries(namespace: str) -> dict[str, list[Entry]]:
    """Return the entry points of a group by name, in alphabetical order; nothing is imported."""
    found: dict[str, list[Entry]] = {}
    for entry in sorted(entry_points(group=namespace), key=lambda each: each.name):
        found.setdefault(entry.name, []).append(entry)
    return found


def load_entries(entries: Iterable[Entry]) -> Iterator[Loaded]:
    """Yield each entry point with its object, or with its error; the errors of one hide no other."""
    for entry in entries:
        yield _shipped(entry) if _is_shipped(entry) else _of_others(entry)


def import_shipped(namespace: str) -> None:
    """Import the modules of a group's entry points that ship with Isotherm, as far as they can be imported."""
    for entry in entry_points(group=namespace):
        if _is_shipped(entry):
            _shipped(entry)


def _is_shipped(entry: Entry) -> bool:
    return entry.module.partition(".")[0] in _SHIPPED


def _shipped(entry: Entry) -> Loaded:
    try:
        return Loaded(entry, entry.load())
    except (Exception, SystemExit) as error:  # noqa: BLE001  # whatever an import raises
        return Loaded(entry, error=error)


def _of_others(entry: Entry) -> Loaded:
    from hooks.loading.manager import Manager

    manager = Manager(entry)
    return Loaded(entry, *((None, manager.error) if manager.error else (manager.extensions[0].plugin, None)))


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


def rivalry(what: str, entries: Sequence[Entry]) -> str:
    """Return the sentence that several packages bring a plugin of one name; ``what`` names such a plugin."""
    origins = " and ".join(sorted(f"({origin_of(each)})" for each in entries))
    return f"{what} {entries[0].name!r} is brought by two packages, {origins}: remove one"
