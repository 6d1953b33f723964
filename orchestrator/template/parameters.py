"""The parameters of a template: what is declared, and the values they have for one stack."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any, Final

from orchestrator.errors import InvalidInput, Problem
from orchestrator.plugins.constraints import Constraint
from orchestrator.template.document import Positions
from orchestrator.template.environment import Environment, Given
from orchestrator.template.nearest import Nearest
from orchestrator.template.parameter_types import ParameterType, convert

#: The parameters that every stack has without declaring them.
PSEUDO_PARAMETERS: Final = ("OS::stack_name", "OS::stack_id", "OS::project_id")

#: What is shown instead of a hidden value.
HIDDEN: Final = "******"


@dataclass(frozen=True, kw_only=True)
class ParameterSchema:
    """One entry of the section ``parameters``."""

    name: str
    type: ParameterType
    label: str = ""
    description: str = ""
    #: As written; None where a value must be given.
    default: Any = None
    #: Whether values are shown as ``******``.
    hidden: bool = False
    #: Whether an update may not change the value.
    immutable: bool = False
    tags: tuple[str, ...] = ()
    constraints: tuple[Constraint, ...] = field(default=())

    @property
    def required(self) -> bool:
        """Whether a value must be given."""
        return self.default is None

    def value_of(self, raw: Any) -> Any:
        """Return ``raw`` as this parameter holds it.

        Raises:
            ValueError: it has a wrong type or breaks a constraint; the sentence shows no hidden value.
        """
        value = convert(self.type, raw)
        for constraint in self.constraints:
            fault = constraint.check(value)
            if fault:
                raise ValueError(constraint.describe() if self.hidden else fault)
        return value


@dataclass(frozen=True, slots=True, kw_only=True)
class Parameters:
    """The values of one stack's parameters, pseudo parameters among them."""

    #: Typed by their declarations.
    values: Mapping[str, Any]
    hidden: frozenset[str] = frozenset()
    pseudo: frozenset[str] = frozenset()

    def shown(self) -> dict[str, Any]:
        """Return the declared parameters' values for showing: hidden ones as ``******``."""
        return {
            name: HIDDEN if name in self.hidden else value
            for name, value in self.values.items()
            if name not in self.pseudo
        }


def settle(
    schemas: Mapping[str, ParameterSchema],
    environment: Environment,
    *,
    pseudo: Mapping[str, Any],
    positions: Positions,
) -> Parameters:
    """Return the value of every parameter: the one given, else the environment's default, else the template's.

    A given null counts as not given.

    Raises:
        InvalidInput: values are missing, unknown, of a wrong type, or break constraints; all such.
    """
    problems = list(_unknown(schemas, environment))
    values: dict[str, Any] = {}
    for schema in schemas.values():
        given = _given(schema, environment, positions)
        if given is None:
            path = ("parameters", schema.name)
            hint = "give it on the command line or in an environment file, or declare a default"
            problems.append(positions.problem(path, "this parameter has no value and no default", hint))
            continue
        try:
            values[schema.name] = schema.value_of(given.value)
        except ValueError as error:
            problems.append(
                given.problem(str(error), f"parameter {schema.name!r} has the type {schema.type}")
            )
    if problems:
        raise InvalidInput(problems)
    return Parameters(
        values={**values, **pseudo},
        hidden=frozenset(schema.name for schema in schemas.values() if schema.hidden),
        pseudo=frozenset(pseudo),
    )


def _unknown(schemas: Mapping[str, ParameterSchema], environment: Environment) -> Iterable[Problem]:
    nearest = Nearest()
    for name, given in environment.parameters.items():
        if name in schemas:
            continue
        if name in PSEUDO_PARAMETERS:
            yield given.problem(f"{name!r} is set by Isotherm itself and cannot be given")
        else:
            hint = nearest.hint(
                name, schemas, "parameter_defaults may hold names a template does not declare"
            )
            yield given.problem(f"the template declares no parameter {name!r}", hint)


def _given(schema: ParameterSchema, environment: Environment, positions: Positions) -> Given | None:
    for section in (environment.parameters, environment.parameter_defaults):
        given = section.get(schema.name)
        if given is not None and given.value is not None:
            return given
    if schema.default is None:
        return None
    path = ("parameters", schema.name, "default")
    return Given(schema.default, f"parameters.{schema.name}.default", positions.at(path))
