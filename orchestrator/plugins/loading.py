"""Plugins by name, and the loading of their classes by entry points.

Nothing is registered as a side effect of an import. A plugin that cannot be loaded stops the process: otherwise its
users would fail later, in one process and not in another.
"""

from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any, ClassVar, TypeVar

from hooks.loading.entries import installed_entries, load_entries, rivalry
from hooks.loading.entry import Entry
from hooks.loading.origin import line_of, origin_of, package_of
from hooks.values.nearest import SOMEWHAT_ALIKE, Nearest
from orchestrator.errors import NotFound, PluginMistake, typed_message

Kind = TypeVar("Kind")
Plugin = TypeVar("Plugin")


class PluginsByName(Mapping[str, Plugin]):
    """Plugins of one kind by name; immutable."""

    #: The message that no plugin has a name, and how many similar names it gives.
    missing: ClassVar[str]
    suggestions: ClassVar[int] = 1

    def __init__(self, plugins: "Mapping[str, Plugin]") -> None:
        self._plugins = plugins if isinstance(plugins, PluginsOnDemand) else dict(plugins)

    def find(self, name: str) -> Plugin:
        """Return the plugin called ``name``.

        Raises:
            NotFound: there is none; the message names the nearest.
        """
        try:
            return self._plugins[name]
        except KeyError:
            near = Nearest(alike=SOMEWHAT_ALIKE).several(name, self._plugins, self.suggestions)
            hint = f"; did you mean {' or '.join(map(repr, near))}?" if near else ""
            raise NotFound(f"{self.missing.format(name)}{hint}") from None

    def __getitem__(self, name: str) -> Plugin:
        return self._plugins[name]

    def get(self, name: str, default: Any = None) -> Any:
        """Return the plugin called ``name``, or ``default``."""
        return self._plugins.get(name, default)

    def __iter__(self) -> Iterator[str]:
        return iter(self._plugins)

    def __contains__(self, name: object) -> bool:
        return name in self._plugins

    def __len__(self) -> int:
        return len(self._plugins)


class PluginsOnDemand(Mapping[str, Plugin]):
    """The plugins of the entry points in a group by name, each loaded when it is looked up.

    For commands, which use few; a process that goes on loads all at its start (:func:`load_classes`).
    """

    def __init__(
        self, namespace: str, kind: type[Any], what: str, made: Callable[[str, type[Any]], Plugin]
    ) -> None:
        """Look for entry points; ``made`` returns the plugin of a name and a subclass of ``kind``, or raises.

        Raises:
            PluginMistake: there are none (a source tree that is not installed).
        """
        self._entries = installed_entries(namespace)
        if not self._entries:
            raise _none_installed(namespace)
        self._kind, self._what, self._made = kind, what, made
        self._loaded: dict[str, Plugin] = {}

    def __getitem__(self, name: str) -> Plugin:
        """Return the plugin of a name.

        Raises:
            PluginMistake: it cannot be imported, is no such class, or its name is taken by another.
        """
        if name not in self._loaded:
            self._loaded[name] = self._made(
                name, _class_of(name, self._entries[name], self._kind, self._what)
            )
        return self._loaded[name]

    def get(self, name: str, default: Any = None) -> Any:
        """Return the plugin of a name, or ``default``; of a mapping, but quick: it is called for each resource.

        Raises:
            PluginMistake: as above.
        """
        if name in self._loaded:
            return self._loaded[name]
        return self[name] if name in self._entries else default

    def __contains__(self, name: object) -> bool:
        return name in self._entries

    def __iter__(self) -> Iterator[str]:
        return iter(self._entries)

    def __len__(self) -> int:
        return len(self._entries)


def load_classes(namespace: str, kind: type[Kind], what: str) -> dict[str, type[Kind]]:
    """Return the classes of the entry points in a group, by name, in alphabetical order.

    ``what`` names such a plugin in messages.

    Raises:
        PluginMistake: there are none (a source tree that is not installed), one cannot be imported, is no such
            class, or its name is taken by another.
    """
    found = {
        name: _class_of(name, entries, kind, what) for name, entries in installed_entries(namespace).items()
    }
    if not found:
        raise _none_installed(namespace)
    return found


def _none_installed(namespace: str) -> PluginMistake:
    return PluginMistake(f"no package brings entry points {namespace!r}: is isotherm itself installed?")


def _class_of(name: str, entries: Sequence[Entry], kind: type[Kind], what: str) -> type[Kind]:
    """Return the class of the entry points of one name."""
    found: dict[str, type[Kind]] = {}
    for entry, plugin, error in load_entries(entries):
        if error is not None:
            raise PluginMistake(f"{_described(entry, what)} {_why_not_loaded(entry, error)}") from error
        refuse_stranger(entry, plugin, kind, what)
        if found.setdefault(name, plugin) is not plugin:
            raise PluginMistake(rivalry(what, entries))
    return found[name]


def refuse_stranger(entry: Entry, plugin: object, kind: type, what: str) -> None:
    """Check that the object of an entry point is a subclass of ``kind``.

    Raises:
        PluginMistake: it is not.
    """
    if not (isinstance(plugin, type) and issubclass(plugin, kind)):
        raise PluginMistake(
            f"{_described(entry, what)} is {plugin!r}, which is no subclass of {kind.__name__}"
        )


def _why_not_loaded(entry: Entry, error: BaseException) -> str:
    """Return why an entry point cannot be loaded, at which line of its package, and what to do about it."""
    # What an error of another kind says is often no sentence: KeyError says a name.
    is_sentence = isinstance(error, (ImportError, SyntaxError, PluginMistake))
    words = str(error) if is_sentence else typed_message(error)
    remedy = f"correct the package {package_of(entry)}, or uninstall it"
    return f"cannot be loaded: {words}{line_of(entry, error)}; {remedy}"


def _described(entry: Entry, what: str) -> str:
    return f"{what} {entry.name!r} ({origin_of(entry)})"
