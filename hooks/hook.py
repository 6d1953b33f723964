"""What every kind of hook has in common: a name, how it is found, and what is left when it fails."""

from dataclasses import dataclass
from importlib.metadata import EntryPoint
from typing import Any, TypeVar

from stevedore.extension import ExtensionManager

from hooks.errors import HookNotLoaded
from hooks.origin import origin_of


class Hook:
    """Base of all hooks."""

    #: What logs and errors call it: the class's name, or the entry point's once it is loaded from one.
    name: str = ""

    def __init_subclass__(cls, **arguments: Any) -> None:
        super().__init_subclass__(**arguments)
        if "name" not in vars(cls):
            cls.name = cls.__name__


AnyHook = TypeVar("AnyHook", bound=Hook)


@dataclass(frozen=True, slots=True)
class HookFault:
    """An error that a hook raised where nothing can be refused any more; it has been logged."""

    hook: str
    error: Exception


def load_hooks(namespace: str, kind: type[AnyHook]) -> tuple[AnyHook, ...]:
    """Return one instance of every installed hook, ordered by name.

    Args:
        namespace: The entry point group.
        kind: The class that each must be derived from.

    Raises:
        HookNotLoaded: one cannot be imported or made, is of another kind, or shares its name with another.
    """
    hooks: dict[str, AnyHook] = {}
    for extension in ExtensionManager(namespace, on_load_failure_callback=_refuse):
        hook = _make(extension.entry_point, extension.plugin, kind)
        if hook.name in hooks:
            raise HookNotLoaded(f"{describe(extension.entry_point)} shares its name with another: remove one")
        hooks[hook.name] = hook
    return tuple(hook for _, hook in sorted(hooks.items()))


def describe(entry: EntryPoint) -> str:
    """Name an entry point so that its package can be found: name, target, group and package."""
    return f"hook {entry.name!r} ({origin_of(entry)})"


def _make(entry: EntryPoint, plugin: Any, kind: type[AnyHook]) -> AnyHook:
    if not (isinstance(plugin, type) and issubclass(plugin, kind)):
        raise HookNotLoaded(f"{describe(entry)} is {plugin!r}, not a class derived from {kind.__name__}")
    try:
        hook = plugin()
    except Exception as error:
        raise HookNotLoaded(f"{describe(entry)} cannot be made: {error!r}") from error
    hook.name = entry.name
    return hook


def _refuse(_manager: Any, entry: EntryPoint, error: BaseException) -> None:
    raise HookNotLoaded(f"{describe(entry)} cannot be loaded: {error!r}") from error
