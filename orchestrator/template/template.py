"""A template, read whole: its parameters, resources and outputs, or everything that is wrong with it."""

from collections.abc import Iterator, Mapping
from typing import Any

from orchestrator.errors import InvalidInput, Position, Problem
from orchestrator.template.declarations import DeclarationReader
from orchestrator.template.definitions import OutputDefinition, ResourceDefinition
from orchestrator.template.document import Document, Limits, Path, read_document
from orchestrator.template.environment import Environment
from orchestrator.template.expressions import Expression, ExpressionParser
from orchestrator.template.functions.base import KnownNames, kind_of
from orchestrator.template.nearest import Nearest
from orchestrator.template.parameters import PSEUDO_PARAMETERS, Parameters, ParameterSchema, settle
from orchestrator.template.resources import ResourceReader
from orchestrator.template.sections import SectionReader
from orchestrator.template.versions import NEWTON, VERSIONS, HotVersion, find_version, nearest_version

_VERSION = "heat_template_version"
_OTHER_FORMATS = ("HeatTemplateFormatVersion", "AWSTemplateFormatVersion")
_SECTIONS = (_VERSION, "description", "parameter_groups", "parameters", "resources", "outputs")
_LATER_SECTIONS = {"conditions": NEWTON}
_OUTPUT_KEYS = ("value", "description")


class Template:
    """One template; immutable."""

    def __init__(
        self,
        document: Document,
        *,
        version: HotVersion,
        description: str,
        files: Mapping[str, str],
        parameters: Mapping[str, ParameterSchema],
        resources: Mapping[str, ResourceDefinition],
        outputs: Mapping[str, OutputDefinition],
    ) -> None:
        """Put the parts together; :meth:`parse` makes them."""
        self._document = document
        #: The version's date, also where the template says its code name.
        self.version = version.date
        self.description = description
        self.file, self.source = document.file, document.source
        #: What ``get_file`` reads, by key.
        self.files = files
        #: Each in the template's order.
        self.parameters, self.resources, self.outputs = parameters, resources, outputs

    @classmethod
    def parse(cls, source: str, *, file: str, files: Mapping[str, str], limits: Limits) -> "Template":
        """Read a template; ``file`` is what problems call it.

        Whether what it refers to exists is asked by :meth:`check_references`.

        Raises:
            InvalidInput: with every problem found.
        """
        document, problems = read_document(source, file=file, limits=limits)
        template = _TemplateReader(document, problems, files, limits).run()
        if template is None or problems:
            raise InvalidInput(sorted(problems, key=_by_position))
        return template

    def position(self, *path: str | int) -> Position:
        """Return where ``path`` stands in the text, or its nearest ancestor."""
        return self._document.positions.at(path)

    def problem(self, path: Path, message: str, hint: str = "") -> Problem:
        """Return a problem with what stands at ``path``."""
        return self._document.positions.problem(path, message, hint)

    def resolve_parameters(self, environment: Environment, *, pseudo: Mapping[str, Any]) -> Parameters:
        """Return the value of every parameter: the one given, else the environment's default, else the template's.

        Raises:
            InvalidInput: values are missing, unknown, of a wrong type, or break constraints; all such.
        """
        return settle(self.parameters, environment, pseudo=pseudo, positions=self._document.positions)

    def check_references(self) -> list[Problem]:
        """Return a problem for each reference to a resource, parameter or file that does not exist."""
        parameters = (*self.parameters, *PSEUDO_PARAMETERS)
        names = KnownNames(parameters=parameters, resources=self.resources, files=self.files)
        nearest = Nearest()
        problems: list[Problem] = []
        for resource in self.resources.values():
            problems += self._missing_dependencies(resource, nearest)
            problems += resource.properties_expression.missing(names, nearest)
            problems += resource.metadata_expression.missing(names, nearest)
        for output in self.outputs.values():
            problems += output.expression.missing(names, nearest)
        return problems

    def _missing_dependencies(self, resource: ResourceDefinition, nearest: Nearest) -> Iterator[Problem]:
        for name in resource.depends_on:
            if name not in self.resources:
                path = (*resource.path, "depends_on")
                written = self._document.data["resources"][resource.name]["depends_on"]
                place = (*path, written.index(name)) if isinstance(written, list) else path
                hint = nearest.hint(name, self.resources)
                yield self.problem(place, f"there is no resource {name!r}", hint)


class _TemplateReader:
    """Makes a template of a document, and gathers what is wrong with it."""

    def __init__(
        self, document: Document, problems: list[Problem], files: Mapping[str, str], limits: Limits
    ) -> None:
        self._document, self._problems = document, problems
        self._files, self._limits = files, limits

    def run(self) -> Template | None:
        """Return the template, or None if it is none at all; the problems say why."""
        data = self._document.data
        if not isinstance(data, dict):
            found = "nothing" if data is None else kind_of(data)
            self._fault((), f"expected a template, a map with {_VERSION!r}, found {found}")
            return None
        version = self._version(data)
        return self._template(data, version) if version else None

    def _version(self, data: dict[str, Any]) -> HotVersion | None:
        given = data.get(_VERSION)
        other = next((key for key in _OTHER_FORMATS if isinstance(data.get(key), str)), None)
        if other and isinstance(given, str):
            self._fault((other,), f"only one version can be given, but there is {_VERSION!r} as well")
        elif other:
            self._fault((other,), f"templates with {other!r} are not supported yet")
        elif _VERSION not in data:
            self._fault((), f"there is no {_VERSION!r}", f"the latest is {VERSIONS[-1].date}")
        elif not isinstance(given, str):
            self._fault((_VERSION,), f"expected a version as text, found {kind_of(given)}")
        elif (version := find_version(given)) is None:
            self._fault((_VERSION,), f"there is no version {given[:80]!r}", nearest_version(given[:80]))
        else:
            return version
        return None

    def _template(self, data: dict[str, Any], version: HotVersion) -> Template:
        positions = self._document.positions
        reader = SectionReader(version, positions, self._problems)
        expressions = ExpressionParser(version, positions, self._problems)
        reader.check_keys(data, (), known=_SECTIONS, later=_LATER_SECTIONS)
        declarations = DeclarationReader(reader)
        parameters = declarations.parameters(data.get("parameters"))
        declared = data.get("parameters")
        names = declared if isinstance(declared, dict) else {}
        declarations.check_groups(data.get("parameter_groups"), names)
        resources = ResourceReader(reader, expressions, frozenset(self._files))
        return Template(
            self._document,
            version=version,
            description=reader.as_text(data.get("description"), ("description",)),
            files=self._files,
            parameters=parameters,
            resources=resources.resources(data.get("resources"), names, self._limits.max_resources),
            outputs=self._outputs(reader, expressions, data.get("outputs")),
        )

    def _outputs(
        self, reader: SectionReader, expressions: ExpressionParser, raw: Any
    ) -> dict[str, OutputDefinition]:
        outputs = {}
        for name, output in reader.as_map(raw, ("outputs",), "outputs by name").items():
            path = ("outputs", name)
            if not isinstance(output, dict):
                reader.fault(path, f"expected an output, a map with a value, found {kind_of(output)}")
                continue
            reader.check_keys(output, path, known=_OUTPUT_KEYS, later={"condition": NEWTON})
            if "value" not in output:
                reader.fault(path, "this output has no value")
            outputs[name] = OutputDefinition(
                name=name,
                description=reader.as_text(output.get("description"), (*path, "description")),
                expression=expressions.parse(output["value"], (*path, "value"))
                if "value" in output
                else Expression(None),
            )
        return outputs

    def _fault(self, path: Path, message: str, hint: str = "") -> None:
        self._problems.append(self._document.positions.problem(path, message, hint))


def _by_position(problem: Problem) -> tuple[int, int]:
    position = problem.position
    return (position.line, position.column) if position else (0, 0)
