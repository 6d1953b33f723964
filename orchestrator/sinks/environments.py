"""Event sinks named in environments of stacks: which are allowed, and how they are validated and made."""

from collections.abc import Iterator, Mapping, Sequence
from typing import Any, Final

from pydantic import ValidationError

from hooks.events import TARGETS, EventSink, find_event_sinks
from hooks.http.targets import Targets
from hooks.options import HookOptions, HookSettings
from hooks.values.masking import sentence_of
from hooks.values.nearest import Nearest
from orchestrator.config.settings import Settings
from orchestrator.errors import Problem
from orchestrator.template.document import dotted
from orchestrator.template.given import Given

#: How many sinks one environment may name.
MOST_SINKS: Final = 16


class EnvironmentSinks:
    """The installed sinks, for environments."""

    def __init__(self, settings: Settings) -> None:
        self._settings = settings
        installed = find_event_sinks(settings.event_sinks).hooks
        #: The sink classes that environments may name, by name.
        self._kinds: Mapping[str, type[EventSink]] = {
            each.name: each.kind for each in installed if each.kind is not None and each.kind.in_environments
        }

    @property
    def enabled(self) -> tuple[str, ...]:
        """The types of sinks to which stacks' events are delivered here."""
        return tuple(name for name in self._settings.environment_event_sinks if name in self._kinds)

    def limit_seconds(self, kind: str) -> float:
        """Return how long a call of such a sink may take."""
        configured = HookSettings.model_validate(dict(self._settings.event_sinks.get(kind, {})))
        return configured.time_limit_seconds or self._kinds[kind].time_limit_seconds

    def make(self, kind: str, options: Mapping[str, Any]) -> EventSink:
        """Return a sink with these options.

        Raises:
            ValueError: the stored options are not valid any more.
        """
        try:
            made = self._kinds[kind](self._validated(kind, options, self._settings.targets))
        except ValidationError as error:
            faults = "; ".join(sentence_of(each) for each in error.errors(include_url=False))
            raise ValueError(f"its options are wrong by now: {faults}") from None
        made.name, made.time_limit_seconds = kind, self.limit_seconds(kind)
        return made

    def problems(self, given: Sequence[Given], *, is_allowed_here: bool = True) -> Iterator[Problem]:
        """Yield the problems of the sinks that an environment names.

        Args:
            given: The sinks, each a map with a ``type``.
            is_allowed_here: Whether the settings must allow their types, and where they send to.
        """
        if len(given) > MOST_SINKS:
            message = f"there are {len(given)} event sinks; at most {MOST_SINKS} are allowed"
            yield given[MOST_SINKS].problem(message)
            return
        for each in given:
            kind = each.value["type"]
            if kind not in self._kinds:
                known = f"those that can be: {', '.join(sorted(self._kinds)) or 'none is installed'}"
                hint = Nearest().hint(kind, self._kinds, known)
                yield each.problem(f"the event sink {kind!r} cannot be named in an environment", hint)
            elif is_allowed_here and kind not in self._settings.environment_event_sinks:
                hint = f"whoever runs Isotherm here allows it with environment_event_sinks = [{kind!r}]"
                yield each.problem(f"environments may not name the event sink {kind!r} here", hint)
            else:
                targets = self._settings.targets if is_allowed_here else None
                yield from self._option_problems(kind, each, targets)

    def _options(self, kind: str) -> type[HookOptions]:
        return self._kinds[kind].EnvironmentOptions or self._kinds[kind].Options

    def _validated(self, kind: str, options: Mapping[str, Any], targets: Targets | None) -> HookOptions:
        return self._options(kind).model_validate(dict(options), context={TARGETS: targets})

    def _option_problems(self, kind: str, given: Given, targets: Targets | None) -> Iterator[Problem]:
        model = self._options(kind)
        try:
            self._kinds[kind](self._validated(kind, options_of(given.value), targets))
        except ValidationError as error:
            for fault in error.errors(include_url=False, include_context=False):
                message, hint = sentence_of(fault), ""
                if fault["type"] == "extra_forbidden":
                    message = f"an event sink {kind!r} has no such option"
                    names = sorted(model.model_fields)
                    hint = Nearest().hint(str(fault["loc"][-1]), names, f"options: {', '.join(names)}")
                path = ".".join(filter(None, (given.path, dotted(fault["loc"]))))
                yield Problem(message=message, path=path, position=given.position, hint=hint)
        except Exception as error:  # noqa: BLE001  # plugin code; its message may quote a secret
            yield given.problem(f"an event sink {kind!r} cannot be made of this: {type(error).__name__}")


def options_of(entry: Mapping[str, Any]) -> dict[str, Any]:
    """Return the options of a sink's entry in an environment: all but its type."""
    return {name: value for name, value in entry.items() if name != "type"}


def sink_problems(given: Sequence[Given], settings: Settings, *, offline: bool) -> list[Problem]:
    """Return the problems of the sinks that an environment names; with ``offline``, whatever the settings allow."""
    return list(EnvironmentSinks(settings).problems(given, is_allowed_here=not offline))
