"""Load one hook: its class, its options from the settings, and its faults."""

import inspect
import json
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import suppress
from typing import Any, Generic, TypeVar

from pydantic import BaseModel, ValidationError

from hooks.errors import Fault
from hooks.hook import AnyHook, Hook
from hooks.loading.entries import load_entries, rivalry
from hooks.loading.entry import Entry
from hooks.loading.installed import InstalledHook
from hooks.loading.origin import line_of, origin_of
from hooks.loading.overrides import override_mistakes
from hooks.options import MOST_SECONDS, HookOptions, HookSettings
from hooks.values.masking import sentence_of, without_secrets
from hooks.values.nearest import nearest

AnyModel = TypeVar("AnyModel", bound=BaseModel)


class _Unusable(Exception):
    """Ends the loading of a hook; its reasons are in ``faults``."""

    def __init__(self, *faults: Fault) -> None:
        super().__init__(*faults)
        self.faults = faults


class Finding(Generic[AnyHook]):
    """What is installed under the name of one hook, and what the settings say of it."""

    def __init__(self, base: type[AnyHook], entries: Sequence[Entry], path: str, configured: object) -> None:
        self._base = base
        self._entries, self._entry, self._path, self._configured = entries, entries[0], path, configured
        self._kind: Any = None
        self._enabled: bool | None = None

    def installed(self, check: Callable[[AnyHook], Sequence[str]]) -> InstalledHook[AnyHook]:
        """Return the hook, instantiated if it is enabled, or its faults; ``check`` returns further ones."""
        hook: AnyHook | None = None
        faults: tuple[Fault, ...] = ()
        try:
            hook = self._hook(check)
        except _Unusable as error:
            faults = error.faults
        return InstalledHook(
            name=self._entry.name,
            entry_point=self._entry,
            kind=self._kind,
            enabled=self._enabled,
            hook=hook,
            faults=faults,
        )

    def _hook(self, check: Callable[[AnyHook], Sequence[str]]) -> AnyHook | None:
        try:
            settings = self._settings()
        except _Unusable as error:
            raise _Unusable(*error.faults, *self._faults_beside()) from None
        self._enabled = settings.enabled
        self._kind = self._loaded()
        if self._enabled is None:
            self._enabled = self._kind.enabled_by_default
        own = settings.model_extra or {}
        if not self._enabled:
            self._refuse_options_of_disabled(own, is_explicit=settings.enabled is not None)
            return None
        options = self._validated(self._kind.Options, own)
        hook: AnyHook = self._made(options, settings)
        wrong = [*_time_faults(hook), *check(hook)]
        if wrong:
            raise _Unusable(*map(self._fault, wrong))
        return hook

    def _settings(self) -> HookSettings:
        if not isinstance(self._configured, Mapping):
            raise _Unusable(Fault(path=self._path, message="expected a table", hooks=(self._entry.name,)))
        return self._validated(HookSettings, self._configured)

    def _faults_beside(self) -> tuple[Fault, ...]:
        """Return the faults of its own options where its common settings are wrong."""
        configured = self._configured if isinstance(self._configured, Mapping) else {}
        own = {name: value for name, value in configured.items() if name not in HookSettings.model_fields}
        if not own:
            return ()
        try:
            self._kind = self._loaded()
            self._validated(self._kind.Options, own)
        except _Unusable as error:
            return error.faults
        return ()

    def _loaded(self) -> type[AnyHook]:
        found: dict[int, Any] = {}
        for entry, plugin, error in load_entries(self._entries):
            if error is not None:
                message = f"cannot be loaded: {error!r}{line_of(entry, error)}"
                raise _Unusable(self._fault(message, entry)) from error
            found[id(plugin)] = plugin
        (plugin, *others) = found.values()
        if others:
            message = rivalry(self._base.noun, self._entries)
            raise _Unusable(Fault(message=message, hooks=(self._entry.name,)))
        if not (isinstance(plugin, type) and issubclass(plugin, self._base)):
            raise _Unusable(self._fault(f"is {plugin!r}, not a class derived from {self._base.__name__}"))
        if mistakes := list(override_mistakes(plugin, self._base)):
            raise _Unusable(*map(self._fault, mistakes))
        options: object = plugin.Options
        if not (isinstance(options, type) and issubclass(options, HookOptions)):
            raise _Unusable(self._fault(f"has Options that are {options!r}, not derived from HookOptions"))
        taken = sorted(options.model_fields.keys() & HookSettings.model_fields.keys())
        if taken:
            raise _Unusable(
                self._fault(f"has an option {taken[0]!r}, which the settings may say of every hook")
            )
        return plugin

    def _refuse_options_of_disabled(self, own: Mapping[str, Any], *, is_explicit: bool) -> None:
        """Refuse options of a disabled hook, which would be ignored in silence."""
        if not own:
            return
        try:
            self._validated(self._kind.Options, own)
        except _Unusable as error:
            if not is_explicit:
                self._enabled = None
            raise error from None
        if not is_explicit:
            self._enabled = None
            message, hint = (
                "options are given, but it is not enabled",
                "say enabled = true, or enabled = false",
            )
            raise _Unusable(Fault(path=self._path, message=message, hint=hint, hooks=(self._entry.name,)))

    def _made(self, options: HookOptions, settings: HookSettings) -> Any:
        kind = self._kind
        try:
            inspect.signature(kind).bind(options)
        except (TypeError, ValueError):
            message = "cannot be made: its constructor must take the options: def __init__(self, options)"
            raise _Unusable(self._fault(message)) from None
        try:
            hook = kind(options)
            hook.name = self._entry.name
            if settings.time_limit_seconds is not None:
                hook.time_limit_seconds = settings.time_limit_seconds
        except ValueError as error:
            lines = without_secrets(str(error), options).splitlines() or ["its options are refused"]
            faults = (Fault(path=self._path, message=line, hooks=(self._entry.name,)) for line in lines)
            raise _Unusable(*faults) from error
        except (Exception, SystemExit) as error:
            message = without_secrets(f"cannot be made: {error!r}", options)
            raise _Unusable(self._fault(message)) from error
        return hook

    def _validated(self, model: type[AnyModel], configured: Mapping[str, Any]) -> AnyModel:
        """Return the settings, converted; messages show no values, which may be secret."""
        try:
            try:
                return model.model_validate(dict(configured))
            except ValidationError as error:
                decoded = _decoded(configured, error)
                if decoded == configured:
                    raise
                return model.model_validate(decoded)
        except ValidationError as error:
            raise _Unusable(*self._faults(error, model)) from None
        except Exception as error:  # noqa: BLE001  # whatever a package's validators raise; it may quote a secret
            raise _Unusable(self._fault(f"has Options that fail: {type(error).__name__}")) from None

    def _faults(self, error: ValidationError, model: type[BaseModel]) -> Iterator[Fault]:
        for fault in error.errors(include_url=False, include_context=False):
            message, hint = sentence_of(fault), ""
            if fault["type"] == "missing":
                message += f", for {self._base.noun} {self._entry.name!r} ({origin_of(self._entry)})"
            if fault["type"] == "extra_forbidden":
                message = "there is no such option"
                beside = HookSettings.model_fields if len(fault["loc"]) == 1 else {}
                hint = nearest(str(fault["loc"][-1]), (*beside, *_names_at(model, fault["loc"][:-1])))
            yield Fault(
                path=".".join((self._path, *map(str, fault["loc"]))),
                message=message,
                hint=hint,
                hooks=(self._entry.name,),
            )

    def _fault(self, message: str, entry: Entry | None = None) -> Fault:
        """Return a fault of the hook itself, with its package."""
        found = entry or self._entry
        sentence = f"{self._base.noun} {found.name!r} ({origin_of(found)}) {message}"
        return Fault(message=sentence, hooks=(self._entry.name,))


def _time_faults(hook: Hook) -> list[str]:
    """Return the faults of a hook's own time-out; that in the settings was checked before."""
    seconds: object = hook.time_limit_seconds
    is_number = isinstance(seconds, (int, float)) and not isinstance(seconds, bool)
    if is_number and 0 < hook.time_limit_seconds <= MOST_SECONDS:
        return []
    return [f"its time_limit_seconds must be a number of seconds from 0 to {MOST_SECONDS}, not {seconds!r}"]


def _decoded(configured: Mapping[str, Any], error: ValidationError) -> dict[str, Any]:
    """Return the settings with mistyped strings read as JSON: environment variables are all strings."""
    wrong = {fault["loc"][0] for fault in error.errors() if fault["loc"] and fault["type"].endswith("_type")}
    decoded = dict(configured)
    for name in wrong & {name for name, value in configured.items() if isinstance(value, str)}:
        with suppress(ValueError):
            decoded[str(name)] = json.loads(configured[str(name)])
    return decoded


def _names_at(model: type[BaseModel], place: Sequence[str | int]) -> list[str]:
    """Return the option names at a place; none if it is no table of a fixed form."""
    found: Any = model
    for step in place:
        field = getattr(found, "model_fields", {}).get(step)
        found = field.annotation if field else None
    return list(getattr(found, "model_fields", {}))
