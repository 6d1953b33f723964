"""Event sinks that environments of stacks name: which may be, and how they are made."""

from collections.abc import Iterator, Mapping, Sequence
from typing import Any, Final

from pydantic import ValidationError

from hooks.events import EventSink, find_event_sinks
from hooks.hook import HookOptions, HookSettings
from hooks.values.masking import sentence_of
from hooks.values.nearest import Nearest
from orchestrator.config.settings import Settings
from orchestrator.errors import Problem
from orchestrator.template.document import dotted
from orchestrator.template.given import Given

#: Whoever names a sink in an environment names no more than so many.
MOST_SINKS: Final = 16


class EnvironmentSinks:
    """The installed sinks, for environments."""

    def __init__(self, settings: Settings) -> None:
        self._settings = settings
        installed = find_event_sinks(settings.event_sinks).hooks
        #: By name, those that can be told of single stacks.
        self._kinds: Mapping[str, type[EventSink]] = {
            each.name: each.kind for each in installed if each.kind is not None and each.kind.in_environments
        }

    @property
    def told(self) -> tuple[str, ...]:
        """The types that stacks are told to here."""
        return tuple(name for name in self._settings.environment_event_sinks if name in self._kinds)

    def limit_seconds(self, kind: str) -> float:
        """Return how long a call of such a sink may take."""
        said = HookSettings.model_validate(dict(self._settings.event_sinks.get(kind, {})))
        return said.time_limit_seconds or self._kinds[kind].time_limit_seconds

    def make(self, kind: str, options: Mapping[str, Any]) -> EventSink:
        """Return a sink with these options.

        Raises:
            ValueError: the options are wrong, as they were not when they were written down.
        """
        try:
            made = self._kinds[kind](self._options(kind).model_validate(dict(options)))
        except ValidationError as error:
            said = "; ".join(sentence_of(each) for each in error.errors(include_url=False))
            raise ValueError(f"its options are wrong by now: {said}") from None
        made.name, made.time_limit_seconds = kind, self.limit_seconds(kind)
        return made

    def problems(self, given: Sequence[Given], *, is_allowed_here: bool = True) -> Iterator[Problem]:
        """Yield what is wrong with the sinks that an environment names; each is a map with a type.

        Args:
            given: The sinks.
            is_allowed_here: Whether they must be allowed by the settings.
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
                yield from self._option_problems(kind, each)

    def _options(self, kind: str) -> type[HookOptions]:
        return self._kinds[kind].EnvironmentOptions or self._kinds[kind].Options

    def _option_problems(self, kind: str, given: Given) -> Iterator[Problem]:
        model = self._options(kind)
        try:
            self._kinds[kind](model.model_validate(options_of(given.value)))
        except ValidationError as error:
            for fault in error.errors(include_url=False, include_context=False):
                message, hint = sentence_of(fault), ""
                if fault["type"] == "extra_forbidden":
                    message = f"an event sink {kind!r} has no such option"
                    names = sorted(model.model_fields)
                    hint = Nearest().hint(str(fault["loc"][-1]), names, f"options: {', '.join(names)}")
                path = ".".join(filter(None, (given.path, dotted(fault["loc"]))))
                yield Problem(message=message, path=path, position=given.position, hint=hint)
        except Exception as error:  # noqa: BLE001  # whatever a package does; its words may quote a secret
            yield given.problem(f"an event sink {kind!r} cannot be made of this: {type(error).__name__}")


def options_of(entry: Mapping[str, Any]) -> dict[str, Any]:
    """Return what an environment says of a sink besides its type."""
    return {name: value for name, value in entry.items() if name != "type"}


def sink_problems(given: Sequence[Given], settings: Settings, *, offline: bool) -> list[Problem]:
    """Return what is wrong with the sinks that an environment names; ``offline``: wherever it is to be used."""
    if not given:
        return []
    return list(EnvironmentSinks(settings).problems(given, is_allowed_here=not offline))
