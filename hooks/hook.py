"""What every kind of hook has in common: a name, options, and how it is found."""

from collections.abc import Mapping
from dataclasses import dataclass
from importlib.metadata import EntryPoint
from typing import Any, ClassVar, Generic, TypeVar

from pydantic import BaseModel, ConfigDict, Field, ValidationError
from stevedore.extension import ExtensionManager

from hooks.errors import HookNotLoaded
from hooks.nearest import did_you_mean
from hooks.origin import origin_of


class HookOptions(BaseModel):
    """Base of the options of hooks: a hook's own class of this kind says what its settings may say."""

    model_config = ConfigDict(extra="forbid", frozen=True)


class Hook:
    """Base of all hooks; an instance serves all threads of a process."""

    #: What logs and errors call it: the class's name, or the entry point's once it is loaded from one.
    name: str = ""
    #: One sentence for people.
    description: ClassVar[str] = ""
    #: Whether it is at work once it is installed; if not, the settings must say so.
    enabled_by_default: ClassVar[bool] = True
    #: What the settings may say of it, besides what they may say of every hook.
    Options: ClassVar[type[HookOptions]] = HookOptions
    options: Any = None
    #: No call of it takes longer: it is given up then, as if it had failed. The settings may say another limit.
    time_limit_seconds: float = 30.0

    def __init__(self, options: Any = None) -> None:
        """Keep the options, an instance of ``Options``; do not connect yet.

        Raises:
            ValueError: the options contradict each other; the sentence is for people and holds no secret.
        """
        self.options = self.Options() if options is None else options

    def __init_subclass__(cls, **arguments: Any) -> None:
        super().__init_subclass__(**arguments)
        if "name" not in vars(cls):
            cls.name = cls.__name__


AnyHook = TypeVar("AnyHook", bound=Hook)


class HookSettings(BaseModel):
    """What the settings may say of every hook; whatever else they say are the hook's own options."""

    model_config = ConfigDict(extra="allow", frozen=True)

    enabled: bool | None = Field(
        default=None, description="Whether it is at work; if nothing is said, as the hook itself says."
    )
    time_limit_seconds: float = Field(
        default=30.0,
        gt=0,
        description="No call of it takes longer: it is given up then, as if it had failed.",
    )


@dataclass(frozen=True, slots=True, kw_only=True)
class InstalledHook(Generic[AnyHook]):
    """An installed hook, and what the settings make of it."""

    name: str
    entry_point: EntryPoint
    enabled: bool
    #: None if it is not enabled.
    hook: AnyHook | None


def load_hooks(
    namespace: str,
    kind: type[AnyHook],
    said: Mapping[str, Mapping[str, Any]] | None = None,
    *,
    section: str = "",
) -> tuple[InstalledHook[AnyHook], ...]:
    """Return every installed hook, ordered by name; those that are enabled are made.

    Args:
        namespace: The entry point group.
        kind: The class that each must be derived from.
        said: What the settings say, by the hook's name.
        section: What the settings call ``said``, for sentences.

    Raises:
        HookNotLoaded: one cannot be imported or made, is of another kind, shares its name with another, or the
            settings say what cannot be.
    """
    said = said or {}
    found: dict[str, InstalledHook[AnyHook]] = {}
    for extension in ExtensionManager(namespace, on_load_failure_callback=_refuse):
        entry = extension.entry_point
        if entry.name in found:
            raise HookNotLoaded(f"{describe(entry)} shares its name with another: remove one")
        found[entry.name] = _installed(entry, extension.plugin, kind, said.get(entry.name, {}), section)
    for name in said:
        if name not in found:
            raise HookNotLoaded(
                f"settings.{section}.{name}: no such hook is installed{did_you_mean(name, found)}"
            )
    return tuple(each for _, each in sorted(found.items()))


def describe(entry: EntryPoint) -> str:
    """Name an entry point so that its package can be found: name, target, group and package."""
    return f"hook {entry.name!r} ({origin_of(entry)})"


def _installed(
    entry: EntryPoint, plugin: Any, kind: type[AnyHook], said: Mapping[str, Any], section: str
) -> InstalledHook[AnyHook]:
    if not (isinstance(plugin, type) and issubclass(plugin, kind)):
        raise HookNotLoaded(f"{describe(entry)} is {plugin!r}, not a class derived from {kind.__name__}")
    path = f"settings.{section}.{entry.name}"
    if not isinstance(said, Mapping):
        raise HookNotLoaded(f"{path}: expected a table")
    settings = _validated(HookSettings, said, path, entry)
    enabled = plugin.enabled_by_default if settings.enabled is None else settings.enabled
    hook = None
    if enabled:
        options = _validated(plugin.Options, settings.model_extra or {}, path, entry)
        try:
            hook = plugin(options)
        except ValueError as error:
            raise HookNotLoaded(f"{path}: {error}") from error
        except Exception as error:
            raise HookNotLoaded(f"{describe(entry)} cannot be made: {error!r}") from error
        hook.name, hook.time_limit_seconds = entry.name, settings.time_limit_seconds
    return InstalledHook(
        name=entry.name,
        entry_point=entry,
        enabled=enabled,
        hook=hook,
    )


AnyModel = TypeVar("AnyModel", bound=BaseModel)


def _validated(model: type[AnyModel], said: Mapping[str, Any], path: str, entry: EntryPoint) -> AnyModel:
    """Return what the settings say, converted; what was found is not told, for it may be a secret."""
    try:
        return model.model_validate(dict(said))
    except ValidationError as error:
        faults = []
        for fault in error.errors(include_url=False, include_context=False, include_input=False):
            place = ".".join((path, *map(str, fault["loc"])))
            if fault["type"] == "extra_forbidden":
                near = did_you_mean(str(fault["loc"][-1]), (*HookSettings.model_fields, *model.model_fields))
                faults.append(f"{place}: there is no such option{near}")
            else:
                faults.append(f"{place}: {fault['msg'][:1].lower()}{fault['msg'][1:]}")
        raise HookNotLoaded(f"{'; '.join(faults)} ({describe(entry)})") from None


def _refuse(_manager: Any, entry: EntryPoint, error: BaseException) -> None:
    raise HookNotLoaded(f"{describe(entry)} cannot be loaded: {error!r}") from error
