"""Reader of environment documents, section by section; all problems are gathered."""

from typing import TYPE_CHECKING, Any, Final

from hooks.events import NAMESPACE
from hooks.loading.index import entry_points
from hooks.values.nearest import Nearest
from orchestrator.errors import InvalidInput, Problem, cut
from orchestrator.template.document import Document, Path, dotted
from orchestrator.template.environment import Environment
from orchestrator.template.functions.base import kind_of
from orchestrator.template.given import Given
from orchestrator.template.merging import Layer, Strategy
from orchestrator.template.registry_reader import RegistryReader
from orchestrator.template.resource_registry import Registry

if TYPE_CHECKING:
    from orchestrator.template.moves import Move

#: The names of the sections.
SECTIONS: Final = (
    "parameters",
    "parameter_defaults",
    "resource_registry",
    "event_sinks",
    "encrypted_param_names",
    "parameter_merge_strategies",
    "observation",
    "moved",
)
_OF_A_MOVE: Final = ("from", "to")
_STRATEGIES: Final = tuple(strategy.value for strategy in Strategy)


class EnvironmentReader:
    """Reads one environment document; an invalid part gives a problem and is left out."""

    def __init__(self, document: Document, problems: list[Problem], base: str = "") -> None:
        """Record problems in ``problems``; names of files in the document are relative to ``base``."""
        self._document, self._problems, self._base = document, problems, base
        self._nearest = Nearest()

    def read(self) -> Environment:
        """Return the environment of the valid parts; the document and each section may be empty."""
        data = {} if self._document.data is None else self._document.data
        if not isinstance(data, dict):
            message = f"expected an environment, a map, found {kind_of(data)}"
            self._fault((), message, f"sections: {', '.join(SECTIONS)}")
            return Environment()
        for key in data:
            if key not in SECTIONS:
                hint = self._nearest.hint(key, SECTIONS, f"sections: {', '.join(SECTIONS)}")
                self._fault((key,), f"there is no section {cut(key)!r} in an environment", hint)
        strategies = self._strategies(data)
        default = strategies.pop("default", None)
        registry = RegistryReader(self._document.positions, self._problems, self._nearest, self._base)
        layer = Layer(
            parameters=self._given(data, "parameters"),
            parameter_defaults=self._given(data, "parameter_defaults"),
            strategies=strategies,
            default_strategy=default.value if default else None,
        )
        return Environment(
            layers=(layer,) if layer else (),
            registry=Registry(entries=registry.read(self._map(data, "resource_registry"))),
            event_sinks=self._event_sinks(data),
            encrypted_names=self._encrypted_names(data),
            observation=self._observation(data),
            moves=self._moves(data),
            warnings=self._document.warnings,
        )

    def _map(self, data: dict[str, object], section: str) -> dict[str, object]:
        return self._section(data, section, dict, "a map") or {}

    def _list(self, data: dict[str, object], section: str, what: str) -> list[object]:
        return self._section(data, section, list, f"a list of {what}") or []

    def _section(self, data: dict[str, object], section: str, kind: type, words: str) -> Any:
        """Return a section; None if it is missing, and, after recording a problem, if it is of another kind."""
        value = data.get(section)
        if value is not None and not isinstance(value, kind):
            self._fault((section,), f"expected {words}, found {kind_of(value)}")
            return None
        return value

    def _given(self, data: dict[str, object], section: str) -> dict[str, Given]:
        return {name: self._at(value, (section, name)) for name, value in self._map(data, section).items()}

    def _strategies(self, data: dict[str, object]) -> dict[str, Given]:
        section, strategies = "parameter_merge_strategies", {}
        for name, value in self._map(data, section).items():
            if value in _STRATEGIES:
                strategies[name] = self._at(Strategy(value), (section, name))
            else:
                found = f"{value[:80]!r}" if isinstance(value, str) else kind_of(value)
                hint = self._nearest.hint(str(value), _STRATEGIES)
                message = f"expected one of {', '.join(_STRATEGIES)}, found {found}"
                self._fault((section, name), message, hint)
        return strategies

    def _event_sinks(self, data: dict[str, object]) -> tuple[Given, ...]:
        section, sinks = "event_sinks", []
        given = self._list(data, section, "event sinks, maps with a type")
        # Looked up only if needed: most environments have no sinks, and reading entry points takes milliseconds.
        installed = sorted({entry.name for entry in entry_points(group=NAMESPACE)}) if given else []
        known = f"installed: {', '.join(installed) or 'none'}"
        for index, sink in enumerate(given):
            kind = sink.get("type") if isinstance(sink, dict) else None
            if not isinstance(kind, str):
                found = (
                    "a map without one" if isinstance(sink, dict) and kind is None else kind_of(kind or sink)
                )
                self._fault((section, index), f"expected an event sink, a map with a type, found {found}")
                continue
            if kind in installed:
                sinks.append(self._at(sink, (section, index)))
                continue
            hint = self._nearest.hint(kind, installed, known)
            self._fault((section, index, "type"), f"there is no event sink {kind[:80]!r}", hint)
        return tuple(sinks)

    def _encrypted_names(self, data: dict[str, object]) -> frozenset[str]:
        section, names = "encrypted_param_names", set()
        for index, name in enumerate(self._list(data, section, "parameters' names")):
            if isinstance(name, str):
                names.add(name)
            else:
                self._fault((section, index), f"expected a parameter's name, found {kind_of(name)}")
        return frozenset(names)

    def _observation(self, data: dict[str, object]) -> dict[str, object]:
        section = "observation"
        given = self._map(data, section)
        if not given:
            return {}
        # Most environments have none.
        from orchestrator.model.observation_policy import ObservationPolicy

        try:
            ObservationPolicy.of(given)
        except InvalidInput as error:
            for problem in error.problems:
                self._fault((section, problem.path), problem.message, problem.hint)
            return {}
        return given

    def _moves(self, data: dict[str, object]) -> "tuple[Move, ...]":
        section = "moved"
        given = self._list(data, section, "moves, maps with from and to")
        read = (self._move(entry, (section, index)) for index, entry in enumerate(given))
        return tuple(move for move in read if move)

    def _move(self, entry: object, path: Path) -> "Move | None":
        """Return a move; None, after recording a problem, if it is none."""
        # Most environments have none.
        from orchestrator.template.moves import Move

        if not isinstance(entry, dict):
            self._fault(path, f"expected a move, a map with from and to, found {kind_of(entry)}")
            return None
        faults = len(self._problems)
        for key in entry:
            if key not in _OF_A_MOVE:
                hint = self._nearest.hint(key, _OF_A_MOVE, "a move has from and to")
                self._fault((*path, key), f"a move has no {cut(key)!r}", hint)
        for key in _OF_A_MOVE:
            value = entry.get(key)
            if not isinstance(value, str) or not value:
                found = "nothing" if value in (None, "") else kind_of(value)
                where = (*path, key) if key in entry else path
                self._fault(where, f"expected {key!r} to be a resource's name, found {found}")
        if len(self._problems) > faults:
            return None
        source, target = (self._at(entry[key], (*path, key)) for key in _OF_A_MOVE)
        return Move(source=source, target=target)

    def _at(self, value: object, path: Path) -> Given:
        return Given(value, dotted(path), self._document.positions.at(path))

    def _fault(self, path: Path, message: str, hint: str = "") -> None:
        self._problems.append(self._document.positions.problem(path, message, hint))
