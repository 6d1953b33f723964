"""Where functions are found: entry points of installed packages, by name, for each version of the language."""

from collections.abc import Iterable, Mapping
from functools import cache
from importlib.metadata import EntryPoint
from typing import Any

from stevedore.extension import ExtensionManager

from hooks.origin import origin_of
from orchestrator.errors import PluginMistake
from orchestrator.template.functions.base import Function
from orchestrator.template.versions import HotVersion

#: The entry point group of functions.
NAMESPACE = "isotherm.functions"


@cache
def functions_of(version: HotVersion) -> Mapping[str, type[Function]]:
    """Return the functions that templates of ``version`` can call, by name.

    Raises:
        PluginMistake: an installed function cannot be loaded.
    """
    return {name: function for name, function in _load().items() if version in function.lifetime}


@cache
def _load() -> Mapping[str, type[Function]]:
    manager: ExtensionManager[Any] = ExtensionManager(NAMESPACE, on_load_failure_callback=_refuse)
    if not manager.extensions:
        raise PluginMistake(f"no functions are installed: the group {NAMESPACE} has no entry points")
    return as_functions((extension.name, extension.plugin) for extension in manager)


def as_functions(found: Iterable[tuple[str, Any]]) -> dict[str, type[Function]]:
    """Return what entry points gave, by name.

    Raises:
        PluginMistake: it is no function, its name is another, or the name is taken.
    """
    functions: dict[str, type[Function]] = {}
    for name, plugin in found:
        if not (isinstance(plugin, type) and issubclass(plugin, Function)):
            raise PluginMistake(f"{NAMESPACE}: {name!r} is no subclass of Function but {plugin!r}")
        if plugin.name != name:
            raise PluginMistake(
                f"{NAMESPACE}: the entry point {name!r} leads to a function called {plugin.name!r}"
            )
        if name in functions:
            raise PluginMistake(f"{NAMESPACE}: two packages provide {name!r}")
        functions[name] = plugin
    return functions


def _refuse(_manager: object, entry_point: EntryPoint, error: BaseException) -> None:
    origin = origin_of(entry_point)
    raise PluginMistake(f"function {entry_point.name!r} ({origin}) cannot be loaded: {error}") from error
