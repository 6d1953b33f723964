"""Installed plugins: every entry point of packages for Isotherm, with its errors.

Each entry point is loaded by itself, so that a broken one does not hide others.
"""

from collections.abc import Callable, Collection, Iterable, Iterator, Mapping
from dataclasses import replace
from inspect import cleandoc
from typing import Any, Final

from pydantic import BaseModel

from hooks.events import NAMESPACE as EVENT_SINKS
from hooks.hook import Hook
from hooks.lifecycle import NAMESPACE as LIFECYCLE
from hooks.lifecycle import LifecyclePlugin, find_lifecycle_plugins
from hooks.loading.entries import load_entries
from hooks.loading.entry import Entry
from hooks.loading.index import entry_points, groups
from hooks.loading.installed import Installed, InstalledHook
from hooks.loading.origin import origin_of
from hooks.values.masking import MASK
from hooks.values.nearest import Nearest, nearest
from orchestrator.access.authenticators import NAMESPACE as AUTHENTICATORS
from orchestrator.access.authenticators import Authenticator
from orchestrator.config.hooks import find_sinks
from orchestrator.config.settings import Settings
from orchestrator.documentation.hook_options import OptionView, options_of
from orchestrator.documentation.plugin_views import PluginDetails, PluginView
from orchestrator.errors import InvalidInput, NotFound, Problem
from orchestrator.nodes.rpc.registry import HYPERVISORS, STORAGE
from orchestrator.nodes.rpc.registry import NAMESPACE as NODE_RPCS
from orchestrator.plugins.client_plugin import NAMESPACE as CLIENTS
from orchestrator.plugins.client_plugin import ClientPlugin
from orchestrator.plugins.clients import refuse_unfit
from orchestrator.plugins.custom import NAMESPACE as CONSTRAINTS
from orchestrator.plugins.custom import CustomConstraint, make_constraint
from orchestrator.plugins.loading import refuse_stranger
from orchestrator.plugins.registry import NAMESPACE as RESOURCES
from orchestrator.plugins.registry import refuse_unknown_clients
from orchestrator.plugins.resource import Resource
from orchestrator.template.functions.registry import NAMESPACE as FUNCTIONS
from orchestrator.template.functions.registry import as_functions

_PREFIX: Final = "isotherm."
WORKERS: Final = "isotherm.workers"


#: By namespace: the base class of its plugins, its name in messages, and the further check of a class.
_BASES: Final[Mapping[str, tuple[type, str, Callable[[str, Any], object]]]] = {
    RESOURCES: (Resource, "resource type", refuse_unknown_clients),
    CLIENTS: (ClientPlugin, "client plugin", refuse_unfit),
    CONSTRAINTS: (CustomConstraint, "custom constraint", make_constraint),
    AUTHENTICATORS: (Authenticator, "authenticator", lambda *_: None),
}
#: By namespace: the options in templates, and the attributes of the class with their models.
_ASKED_BY_TEMPLATES: Final[Mapping[str, Mapping[str, str]]] = {
    HYPERVISORS: {
        "options of an instance": "InstanceOptions",
        "networks of an instance": "InstanceNetwork",
    },
    STORAGE: {"options of a volume": "VolumeOptions"},
}
#: In the order in which they are listed.
NAMESPACES: Final = (
    RESOURCES,
    CLIENTS,
    CONSTRAINTS,
    FUNCTIONS,
    LIFECYCLE,
    EVENT_SINKS,
    HYPERVISORS,
    STORAGE,
    NODE_RPCS,
    AUTHENTICATORS,
    WORKERS,
)


def list_plugins(settings: Settings, namespace: str | None = None) -> list[PluginView]:
    """Return all plugins as the settings have them, or those of one namespace; it may lack its ``isotherm.``.

    Raises:
        NotFound: there is no such namespace; the message names the nearest.
    """
    wanted = _namespaces() if namespace is None else [_namespace(namespace)]
    return [view for each in wanted for view in _views(settings, each)]


def show_plugin(settings: Settings, name: str, namespace: str | None = None) -> PluginDetails:
    """Return one plugin.

    Raises:
        NotFound: there is no such plugin, or namespace; the message names the nearest.
        InvalidInput: there are several of that name.
    """
    views = list_plugins(settings, namespace)
    found = {view.namespace: view for view in views if view.name == name}
    if not found:
        near = Nearest().hint(name, sorted({view.name for view in views}), "isotherm plugin list shows all")
        raise NotFound(f"there is no plugin {name!r} here; {near}")
    if len(found) > 1:
        message = f"there are several plugins {name!r}: in {' and '.join(found)}"
        raise InvalidInput([Problem(message=message, hint="say which is meant with --namespace")])
    (view,) = found.values()
    return _details(settings, view)


def described_hooks(settings: Settings, namespace: str) -> list[PluginDetails]:
    """Return the lifecycle plugins or the event sinks, by name, with their options but without values of settings.

    Their classes are loaded, and no object is made. One that cannot be loaded has no description, and an error.
    """
    section = settings.lifecycle if namespace == LIFECYCLE else settings.event_sinks
    found = []
    for entry, kind, error in load_entries(sorted(entry_points(group=namespace), key=lambda each: each.name)):
        is_hook = isinstance(kind, type) and issubclass(kind, Hook)
        default = kind.enabled_by_default if is_hook else None
        enabled = section.get(entry.name, {}).get("enabled", default)
        errors = [] if is_hook else [str(error or "it is no class of hooks")]
        view = _view(entry, enabled=enabled, errors=errors)
        installed = InstalledHook(name=entry.name, entry_point=entry, kind=kind if is_hook else None)
        found.append(_hook_details(view, installed, {}))
    return found


def _namespaces() -> list[str]:
    others = groups() - set(NAMESPACES)
    return [*NAMESPACES, *sorted(others)]


def _namespace(given: str) -> str:
    known = _namespaces()
    name = given if given.startswith(_PREFIX) else f"{_PREFIX}{given}"
    if name not in known:
        # Compared without the common prefix, which would make all of them near.
        short = [each.removeprefix(_PREFIX) for each in known]
        raise NotFound(f"there is no namespace {given!r}; {nearest(name.removeprefix(_PREFIX), short)}")
    return name


def _hooks(settings: Settings, namespace: str) -> Installed[Any]:
    if namespace == LIFECYCLE:
        return find_lifecycle_plugins(settings.lifecycle)
    return find_sinks(settings)


def _views(settings: Settings, namespace: str) -> Iterator[PluginView]:
    if namespace in (LIFECYCLE, EVENT_SINKS):
        yield from _hook_views(namespace, _hooks(settings, namespace))
        return
    offered = _offered(settings, namespace)
    by_name: dict[str, dict[str, Entry]] = {}
    for entry in entry_points(group=namespace):
        by_name.setdefault(entry.name, {}).setdefault(entry.value, entry)
    for _, entries in sorted(by_name.items()):
        for entry in entries.values():
            rivals = [other for other in entries.values() if other is not entry]
            enabled = entry.name in offered if offered is not None else True
            yield _view(entry, enabled=enabled, errors=_errors(entry, rivals))


def _offered(settings: Settings, namespace: str) -> frozenset[str] | None:
    """Return the hypervisors or the storage types that an agent with these settings offers; None for other groups."""
    if namespace == HYPERVISORS:
        return frozenset(settings.agent.hypervisors)
    if namespace == STORAGE:
        return frozenset(str(unit.get("type", "")) for unit in settings.agent.storage.values())
    return None


def _details(settings: Settings, view: PluginView) -> PluginDetails:
    if view.namespace in (LIFECYCLE, EVENT_SINKS):
        found = {each.name: each for each in _hooks(settings, view.namespace).hooks}
        section = settings.lifecycle if view.namespace == LIFECYCLE else settings.event_sinks
        return _hook_details(view, found.get(view.name), section.get(view.name, {}))
    entry = Entry(view.name, view.target, view.namespace)
    ((_, plugin, error),) = load_entries([entry])
    if error is not None:
        # It is among the view's errors.
        return PluginDetails(plugin=view)
    options: tuple[OptionView, ...] = ()
    if isinstance(plugin, type) and issubclass(plugin, ClientPlugin):
        options = tuple(_client_options(plugin, settings.clients.get(plugin.section(), {})))
    asked: dict[str, tuple[OptionView, ...]] = {}
    if view.namespace in (HYPERVISORS, STORAGE):
        # A storage type may have several units, each with options of its own.
        configured = settings.agent.hypervisors.get(view.name, {}) if view.namespace == HYPERVISORS else {}
        options = _model_options(plugin, "Options", configured)
        asked = {
            title: _model_options(plugin, attribute, {})
            for title, attribute in _ASKED_BY_TEMPLATES[view.namespace].items()
        }
    return PluginDetails(plugin=view, description=_about(plugin), options=options, asked=asked)


def _model_options(
    plugin: object, attribute: str, configured: Mapping[str, object]
) -> tuple[OptionView, ...]:
    """Return the options of the model in this attribute of a class, which may be missing."""
    model = getattr(plugin, attribute, None)
    return (
        tuple(options_of(model, configured))
        if isinstance(model, type) and issubclass(model, BaseModel)
        else ()
    )


def _hook_views(namespace: str, installed: Installed[Any]) -> Iterator[PluginView]:
    ranks = {name: rank for rank, name in enumerate(installed.order, start=1)}
    strays = {name: str(fault) for fault in installed.strays for name in fault.hooks}
    for each in installed.hooks:
        errors = [*map(str, each.faults), *filter(None, [strays.pop(each.name, "")])]
        view = _view(each.entry_point, enabled=each.enabled, errors=errors)
        yield replace(view, order=ranks.get(each.name))
    for name, error in strays.items():
        yield PluginView(namespace=namespace, name=name, package="", version="", target="", errors=(error,))


def _view(entry: Entry, *, enabled: bool | None, errors: Iterable[str]) -> PluginView:
    return PluginView(
        namespace=entry.group,
        name=entry.name,
        package=entry.dist.name if entry.dist else "",
        version=entry.dist.version if entry.dist else "",
        target=entry.value,
        enabled=enabled,
        errors=tuple(errors),
    )


def _errors(entry: Entry, rivals: Iterable[Entry]) -> Iterator[str]:
    """Yield the errors of an entry point that is not a hook's."""
    for rival in rivals:
        yield f"another package brings one of the same name ({origin_of(rival)}): remove one"
    if entry.group not in NAMESPACES:
        yield f"nobody reads the namespace {entry.group!r}; {nearest(entry.group, NAMESPACES)}"
        return
    ((_, found, error),) = load_entries([entry])
    try:
        if error is not None:
            raise error
        if entry.group in _BASES:
            base, what, check = _BASES[entry.group]
            refuse_stranger(entry, found, base, what)
            check(entry.name, found)
        elif entry.group == FUNCTIONS:
            as_functions([(entry.name, found)])
    except (Exception, SystemExit) as fault:  # noqa: BLE001  # checks of the contract import more
        yield str(fault) if str(fault) else repr(fault)


def _hook_details(
    view: PluginView, found: InstalledHook[Any] | None, configured: Mapping[str, Any]
) -> PluginDetails:
    if found is None or found.kind is None:
        return PluginDetails(plugin=view)
    hook: Hook | type[Hook] = found.hook or found.kind
    traits: dict[str, Any] = {"time_limit_seconds": hook.time_limit_seconds}
    if issubclass(found.kind, LifecyclePlugin):
        shown: Any = hook
        # A value that is no collection of names is among the errors.
        places = {relation: getattr(shown, relation) for relation in ("before", "after")}
        traits |= {"ordinal": shown.ordinal} | {
            relation: sorted(map(str, names)) if isinstance(names, Collection) else []
            for relation, names in places.items()
        }
    else:
        traits["in_environments"] = found.kind.in_environments
    return PluginDetails(
        plugin=view,
        description=_about(found.kind),
        traits=traits,
        options=tuple(options_of(found.kind.Options, configured)),
    )


def _client_options(kind: type[ClientPlugin], configured: Mapping[str, object]) -> Iterator[OptionView]:
    for name, schema in kind.options_schema.items():
        yield OptionView(
            name=name,
            type=str(schema.type),
            required=schema.required,
            default=schema.default,
            description=schema.description,
            # Which options of clients are secrets is unknown.
            said=MASK if name in configured else None,
        )


def _about(found: object) -> str:
    """Return a plugin's description, else the first line of its docstring."""
    description = getattr(found, "description", "")
    return (
        description
        if isinstance(description, str) and description
        else cleandoc(found.__doc__ or "").partition("\n")[0]
    )
