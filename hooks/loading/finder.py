"""Find the installed hooks of a kind: which there are, and which are not even imported."""

from collections.abc import Callable, Collection, Mapping, Sequence
from typing import Any, Final

from hooks.errors import Fault
from hooks.hook import AnyHook
from hooks.loading.entries import installed_entries, load_entries
from hooks.loading.entry import Entry
from hooks.loading.installed import Installed, InstalledHook
from hooks.values.nearest import nearest

#: The packages of the hooks that ship with Isotherm and are disabled by default.
_DISABLED: Final = "hooks.builtin."
#: That of the others, which are part of the engine.
_OF_ENGINE: Final = "orchestrator."


def find_hooks(
    namespace: str,
    kind: type[AnyHook],
    configured: Mapping[str, Mapping[str, Any]] | None = None,
    *,
    section: str = "",
    check: Callable[[AnyHook], Sequence[str]] = lambda _: (),
    passes_by: Collection[str] | None = None,
) -> Installed[AnyHook]:
    """Return every installed hook, ordered by name; the enabled ones are instantiated.

    Args:
        namespace: The entry point group.
        kind: The class that each must be derived from.
        configured: The settings, by the hook's name.
        section: The section of the settings, for messages.
        check: Returns further faults of an instantiated hook, as sentences.
        passes_by: If given, shipped hooks without settings are not even imported, except those of these names: they
            are off by default. Those of the engine are not examined.
    """
    configured = configured or {}
    by_name = installed_entries(namespace)
    as_shipped = set() if passes_by is None else by_name.keys() - configured.keys() - {*passes_by}
    hooks = tuple(
        (_as_shipped(entries) if name in as_shipped else None)
        or _found(kind, entries, f"settings.{section}.{name}", configured.get(name, {}), check)
        for name, entries in by_name.items()
    )
    strays = tuple(
        Fault(
            path=f"settings.{section}.{name}",
            message=f"no such {kind.noun} is installed",
            hint=nearest(name, by_name),
            hooks=(name,),
        )
        for name in configured
        if name not in by_name
    )
    return Installed(hooks=hooks, strays=strays)


def _as_shipped(entries: Sequence[Entry]) -> InstalledHook[Any] | None:
    """Return a shipped hook that has no settings; None for one that must be examined, as it is of others."""
    if all(entry.module.startswith(_DISABLED) for entry in entries):
        return InstalledHook(name=entries[0].name, entry_point=entries[0], enabled=False)
    if len(entries) > 1 or not entries[0].module.startswith(_OF_ENGINE):
        return None
    ((entry, kind, error),) = load_entries(entries)
    # Its error is reported with all that is known of it.
    return (
        None
        if error
        else InstalledHook(name=entry.name, entry_point=entry, kind=kind, enabled=True, hook=kind())
    )


def _found(
    kind: type[AnyHook],
    entries: Sequence[Entry],
    path: str,
    configured: object,
    check: Callable[[AnyHook], Sequence[str]],
) -> InstalledHook[AnyHook]:
    # It imports pydantic, which takes long, and most processes have no hook.
    from hooks.loading.finding import Finding

    return Finding(kind, entries, path, configured).installed(check)
