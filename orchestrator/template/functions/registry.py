"""Registry of functions: the entry points of installed packages, by name, for each version of the language."""

from collections.abc import Iterable, Mapping
from functools import cache

from hooks.loading.entries import Loaded, installed_entries, load_entries
from hooks.loading.origin import origin_of
from orchestrator.errors import PluginMistake
from orchestrator.template.functions.base import Function, Macro
from orchestrator.template.versions import TemplateVersion

#: The entry point group of functions.
NAMESPACE = "isotherm.functions"


#: The object of an entry point.
CallableClass = type[Function] | type[Macro]


@cache
def functions_of(version: TemplateVersion) -> Mapping[str, CallableClass]:
    """Return the functions that templates of ``version`` can call, by name.

    Raises:
        PluginMistake: an installed function cannot be loaded.
    """
    return {name: function for name, function in all_functions().items() if version in function.lifetime}


@cache
def condition_functions_of(version: TemplateVersion) -> Mapping[str, CallableClass]:
    """Return the functions that conditions in templates of ``version`` can call, by name.

    Raises:
        PluginMistake: an installed function cannot be loaded.
    """
    return {name: function for name, function in all_functions().items() if version in function.in_conditions}


@cache
def all_functions() -> Mapping[str, CallableClass]:
    """Return every installed function of any version, by name.

    Raises:
        PluginMistake: one cannot be loaded.
    """
    entries = [each for found in installed_entries(NAMESPACE).values() for each in found]
    if not entries:
        raise PluginMistake(f"no functions are installed: the group {NAMESPACE} has no entry points")
    return as_functions(map(_required, load_entries(entries)))


def as_functions(found: Iterable[tuple[str, object]]) -> dict[str, CallableClass]:
    """Return the loaded objects of entry points, by name.

    Raises:
        PluginMistake: one is no function, has another name than its entry point, or its name is taken.
    """
    functions: dict[str, CallableClass] = {}
    for name, plugin in found:
        if not (isinstance(plugin, type) and issubclass(plugin, (Function, Macro))):
            raise PluginMistake(f"{NAMESPACE}: {name!r} is no subclass of Function or Macro but {plugin!r}")
        if plugin.name != name:
            raise PluginMistake(
                f"{NAMESPACE}: the entry point {name!r} leads to a function called {plugin.name!r}"
            )
        if name in functions:
            raise PluginMistake(f"{NAMESPACE}: two packages provide {name!r}")
        functions[name] = plugin
    return functions


def _required(loaded: Loaded) -> tuple[str, object]:
    entry, error = loaded.entry, loaded.error
    if error is not None:
        raise PluginMistake(
            f"function {entry.name!r} ({origin_of(entry)}) cannot be loaded: {error}"
        ) from error
    return entry.name, loaded.plugin
