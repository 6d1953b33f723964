"""Templates: parameters, resources and outputs parsed from a text, or all problems found in it.

Parsing has two steps. A :class:`Draft` has the parts that do not depend on the values of parameters. The others, which
conditions may decide, are read once the values are known: :meth:`Draft.under` returns the :class:`Template`.
"""

from collections.abc import Collection, Iterable, Iterator, Mapping
from copy import copy
from dataclasses import replace
from functools import partial
from typing import Any

from hooks.values.nearest import Nearest
from orchestrator.config.limits import Limits
from orchestrator.definition import UNKNOWN, StackDefinition
from orchestrator.errors import InvalidInput, Problem, cut
from orchestrator.plugins.asking import NamedClients
from orchestrator.sandbox.budget import check_time, evaluation
from orchestrator.template.cfn_declarations import declarations_of
from orchestrator.template.conditions import Conditions
from orchestrator.template.definitions import OutputDefinition, ResourceDefinition
from orchestrator.template.document import Document, Path, read_document
from orchestrator.template.environment import Environment
from orchestrator.template.expressions import ExpressionParser
from orchestrator.template.functions.base import KnownNames, Scope
from orchestrator.template.outputs import OutputReader
from orchestrator.template.parameters import ParameterSchema, Settled, pseudo_parameters, settle
from orchestrator.template.resources import ResourceReader
from orchestrator.template.sections import SectionReader
from orchestrator.template.version_reader import read_version
from orchestrator.template.versions import TemplateVersion


class Template:
    """One template with given values of its parameters; immutable."""

    def __init__(
        self,
        draft: "Draft",
        *,
        resources: Mapping[str, ResourceDefinition],
        outputs: Mapping[str, OutputDefinition],
        disabled: Collection[str],
        broken: Collection[str],
        conditions: Conditions,
        problems: Iterable[Problem],
    ) -> None:
        """Keep the parts that :meth:`Draft.under` has read."""
        self.draft = draft
        #: The version's date, also where the template names it by its code name.
        self.version = draft.version.date
        self.description = draft.description
        self.file, self.source = draft.file, draft.source
        #: The files that ``get_file`` reads, by key.
        self.files = draft.files
        #: In the template's order. Resources whose condition does not hold are left out.
        self.parameters, self.resources, self.outputs = draft.parameters, resources, outputs
        #: The names of the resources whose condition does not hold, and of those with a problem.
        self.disabled, self.broken = frozenset(disabled), frozenset(broken)
        self._conditions = conditions
        #: The problems found while reading.
        self.problems = tuple(problems)

    @classmethod
    def parse(
        cls,
        source: str,
        *,
        file: str,
        files: Mapping[str, str],
        limits: Limits,
        values: Mapping[str, object] | None = None,
        hidden: Collection[str] = (),
    ) -> "Template":
        """Parse a template; ``file`` is its name in problems.

        Without ``values``, all parameters are ``UNKNOWN``; values of those in ``hidden`` are never inserted into the
        template. :meth:`check_references` finds references to names that do not exist.

        Raises:
            InvalidInput: with every problem found.
        """
        with evaluation(limits):
            draft = Draft.read(source, file=file, files=files, limits=limits)
            return draft.valid_under(draft.unknown_values() if values is None else values, hidden)

    def with_implied(self, implied: Mapping[str, frozenset[str]]) -> "Template":
        """Return the template with the requirements that types of resources add, by the resource's name."""
        if not implied:
            return self
        other = copy(self)
        added = {name: replace(self.resources[name], implied=names) for name, names in implied.items()}
        other.resources = {**self.resources, **added}
        return other

    def problem(self, path: Path, message: str, hint: str = "") -> Problem:
        """Return a problem at ``path``."""
        return self.draft.document.positions.problem(path, message, hint)

    def verdicts(self) -> dict[str, bool | None]:
        """Return the value of each condition; None where it is not known."""
        return self._conditions.verdicts()

    def holds(self, condition: object, path: Path) -> bool | None:
        """Return whether the condition at ``path`` holds; None where that is not known."""
        verdict = self._conditions.holds(condition, path)
        return None if verdict is UNKNOWN else verdict

    def warnings(self) -> Iterator[Problem]:
        """Yield a warning for each part that is accepted, though perhaps not meant."""
        yield from self.draft.document.warnings
        yield from self._conditions.warnings()
        for resource in self.resources.values():
            yield from resource.properties_expression.warnings()
            yield from resource.metadata_expression.warnings()
        for output in self.outputs.values():
            yield from output.expression.warnings()

    def check_references(self) -> list[Problem]:
        """Return a problem for each reference to a resource, parameter or file that does not exist."""
        names = self.draft.known_names(self.disabled)
        nearest = Nearest()
        problems: list[Problem] = []
        for resource in self.resources.values():
            check_time(partial(self.problem, resource.path))
            problems += self._missing_dependencies(resource, names, nearest)
            problems += resource.properties_expression.missing(names, nearest)
            problems += resource.metadata_expression.missing(names, nearest)
        for output in self.outputs.values():
            check_time(partial(self.problem, output.path))
            problems += output.expression.missing(names, nearest)
        return problems

    def _missing_dependencies(
        self, resource: ResourceDefinition, names: KnownNames, nearest: Nearest
    ) -> Iterator[Problem]:
        path = (*resource.path, resource.dialect.depends_on)
        missing = [name for name in resource.depends_on if name not in names.resources]
        written = self.draft.section(path) if missing else None
        places: dict[str, Path] = {}
        for index, name in enumerate(written if isinstance(written, list) else ()):
            places.setdefault(name, (*path, index))
        for name in missing:
            hint = nearest.hint(name, names.resources)
            yield self.problem(places.get(name, path), f"there is no resource {cut(name)!r}", hint)


class Draft:
    """The parts of a template that do not depend on the values of its parameters."""

    def __init__(
        self,
        document: Document,
        version: TemplateVersion,
        reader: SectionReader,
        files: Mapping[str, str],
        limits: Limits,
    ) -> None:
        """Read the sections that do not depend on values; :meth:`read` finds the version."""
        self.document, self.version, self.files = document, version, files
        self.file, self.source = document.file, document.source
        self.dialect = reader.dialect
        self._reader, self.limits = reader, limits
        words, data = self.dialect, document.data
        self._check_sections()
        self.description = reader.as_text(data.get(words.description), (words.description,))
        declarations = declarations_of(reader, limits)
        #: The valid declarations, in the template's order.
        self.parameters: Mapping[str, ParameterSchema] = declarations.parameters(data.get(words.parameters))
        self.parameter_groups = declarations.groups(data.get(words.parameter_groups), self._declared)
        self._problems = tuple(reader.problems)

    @classmethod
    def read(cls, source: str, *, file: str, files: Mapping[str, str], limits: Limits) -> "Draft":
        """Parse a template's text; ``file`` is its name in problems.

        Raises:
            InvalidInput: the text is no template at all; other problems are kept for the :class:`Template`.
        """
        document, problems = read_document(source, file=file, limits=limits)
        version = read_version(document, problems)
        if version is None:
            raise InvalidInput(in_order(problems))
        reader = SectionReader(version, document.positions, problems)
        return cls(document, version, reader, files, limits)

    def unknown_values(self) -> dict[str, object]:
        """Return ``UNKNOWN`` for every parameter."""
        return dict.fromkeys((*self._declared, *pseudo_parameters(self.version)), UNKNOWN)

    def settle(
        self,
        environment: Environment,
        *,
        pseudo: Mapping[str, object],
        offline: bool = False,
        clients: NamedClients | None = None,
    ) -> Settled:
        """Return the value of every parameter, ``UNKNOWN`` for one without a value, and the problems found.

        If ``offline``, constraints whose plugin is not installed are skipped; without ``clients``, those that query
        other systems.

        Raises:
            NotVerified: a constraint could not query its system.
        """
        return settle(
            self.parameters,
            environment,
            pseudo=pseudo,
            positions=self.document.positions,
            declared=self._declared,
            offline=offline,
            clients=clients,
        )

    def section(self, path: Path) -> Any:
        """Return the data at ``path``, which must not be changed."""
        data = self.document.data
        for step in path:
            data = data[step]
        return data

    def known_names(self, disabled: Collection[str] = ()) -> KnownNames:
        """Return the names that calls in this template may refer to."""
        return KnownNames(
            parameters=self.unknown_values().keys(),
            resources=self._names(self.dialect.resources),
            files=self.files,
            disabled=disabled,
        )

    @property
    def resource_names(self) -> Collection[str]:
        """The names of all resources, including invalid and disabled ones."""
        return self._names(self.dialect.resources).keys()

    @property
    def output_names(self) -> Collection[str]:
        """The names of all outputs."""
        return self._names(self.dialect.outputs).keys()

    def under(self, values: Mapping[str, object], hidden: Collection[str] = ()) -> Template:
        """Return the template for these values of its parameters; some may be ``UNKNOWN``.

        Values of the parameters in ``hidden`` are never inserted into it.
        """
        words, data = self.dialect, self.document.data
        problems = list(self._problems)
        reader = SectionReader(self.version, self.document.positions, problems)
        conditions = Conditions(
            self._names(words.conditions) if words.has_conditions(self.version) else {},
            (words.conditions,),
            reader,
            StackDefinition(name="", id="", parameters=values),
        )
        scope = Scope(
            version=self.version,
            positions=self.document.positions,
            limits=self.limits,
            resources=self._names(words.resources),
            mappings=self._mappings(),
            conditions=conditions,
        )
        expressions = ExpressionParser(scope, problems, values, hidden)
        conditions.read(ExpressionParser(scope, problems, values), self.known_names())
        resources = ResourceReader(reader, expressions, conditions, frozenset(self.files))
        definitions = resources.resources(
            data.get(words.resources), self._declared, self.limits.max_resources
        )
        return Template(
            self,
            resources=definitions,
            outputs=OutputReader(reader, expressions, conditions).outputs(data.get(words.outputs)),
            disabled=resources.disabled,
            broken=resources.broken,
            conditions=conditions,
            problems=problems,
        )

    def valid_under(self, values: Mapping[str, object], hidden: Collection[str] = ()) -> Template:
        """Return the template as :meth:`under` does, if it is valid.

        Raises:
            InvalidInput: with every problem found.
        """
        with evaluation(self.limits):
            template = self.under(values, hidden)
        if template.problems:
            raise InvalidInput(in_order(template.problems))
        return template

    @property
    def _declared(self) -> Mapping[str, object]:
        """All declared parameters, including invalid ones."""
        return self._names(self.dialect.parameters)

    def _names(self, word: str) -> Mapping[str, object]:
        section = self.document.data.get(word) if word else None
        return section if isinstance(section, dict) else {}

    def _mappings(self) -> Mapping[str, object]:
        return self._names(self.dialect.mappings)

    def _check_sections(self) -> None:
        words, version = self.dialect, self.version
        later = words.later(version)
        sections = [name for name in words.sections() if name not in later]
        if not words.has_conditions(version) and words.conditions in sections:
            sections.remove(words.conditions)
        self._reader.check_keys(self.document.data, (), known=(version.key, *sections), later=later)
        for word in (words.conditions, words.mappings):
            if word in sections:
                self._reader.as_map(self.document.data.get(word), (word,), f"{word.lower()} by name")


def in_order(problems: Iterable[Problem]) -> list[Problem]:
    """Return problems in the order of their positions, each once."""
    return sorted(dict.fromkeys(problems), key=_by_position)


def _by_position(problem: Problem) -> tuple[str, int, int]:
    position = problem.position
    return (position.file, position.line, position.column) if position else ("", 0, 0)
