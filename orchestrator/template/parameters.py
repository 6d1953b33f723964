"""Parameters of a template: their declarations, and their values for one stack."""

from collections.abc import Collection, Iterable, Mapping
from dataclasses import field, replace
from functools import partial
from typing import Any, Final

from hooks.values.dataclass import dataclass
from hooks.values.nearest import Nearest
from orchestrator.definition import UNKNOWN, is_unknown
from orchestrator.errors import NotVerified, Problem
from orchestrator.plugins.asking import NamedClients
from orchestrator.plugins.constraints import Constraint
from orchestrator.sandbox.budget import check_time
from orchestrator.template.document import Path, Positions, dotted
from orchestrator.template.environment import Environment
from orchestrator.template.given import Given
from orchestrator.template.hiding import HIDDEN
from orchestrator.template.parameter_types import ParameterType, convert
from orchestrator.template.versions import TemplateVersion

#: The parameters that every stack has without declaring them, by their names in HOT and in CFN.
PSEUDO_PARAMETERS: Final = ("OS::stack_name", "OS::stack_id", "OS::project_id")
CFN_PSEUDO_PARAMETERS: Final = ("AWS::StackName", "AWS::StackId", "AWS::Region")


@dataclass(frozen=True, kw_only=True)
class ParameterSchema:
    """One entry of the section ``parameters``."""

    name: str
    type: ParameterType
    #: The path of the declaration in the template.
    path: Path
    label: str = ""
    description: str = ""
    #: As written; None where a value must be given.
    default: Any = None
    #: Whether values are shown as ``******``.
    hidden: bool = False
    #: Whether an update may not change the value.
    immutable: bool = False
    tags: tuple[str, ...] = ()
    #: The key of the default in the template's format.
    default_key: str = "default"
    constraints: tuple[Constraint, ...] = field(default=())

    @property
    def required(self) -> bool:
        """Whether a value must be given."""
        return self.default is None

    def value_of(self, raw: object, *, offline: bool = False, clients: NamedClients | None = None) -> object:
        """Return ``raw`` converted to this parameter's type, after checking its constraints.

        If ``offline``, constraints whose plugin is not installed are skipped; without ``clients``, those that query
        other systems.

        Raises:
            NotVerified: a constraint could not query its system.
            ValueError: it has a wrong type or violates a constraint; the message shows no hidden value.
            InvalidInput: the time limit is exceeded; see :mod:`orchestrator.sandbox.budget`.
        """
        value = convert(self.type, raw)
        for constraint in self.constraints:
            check_time(self._place)
            if offline and not constraint.is_available:
                continue
            fault = constraint.check(value, secret=self.hidden, clients=clients)
            if fault:
                raise ValueError(fault)
        return value

    def _place(self, message: str, hint: str) -> Problem:
        return Problem(message=message, path=dotted(self.path), hint=hint)


@dataclass(frozen=True, slots=True, kw_only=True)
class ParameterGroup:
    """Parameters that are shown together; one entry of the section ``parameter_groups``."""

    label: str = ""
    description: str = ""
    parameters: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class Parameters:
    """The values of one stack's parameters, pseudo parameters among them."""

    #: Typed by their declarations.
    values: Mapping[str, Any]
    hidden: frozenset[str] = frozenset()
    pseudo: frozenset[str] = frozenset()

    def shown(self) -> dict[str, object]:
        """Return the values of the declared parameters, hidden ones as ``******``."""
        return {
            name: HIDDEN if name in self.hidden else value
            for name, value in self.values.items()
            if name not in self.pseudo
        }


@dataclass(frozen=True, slots=True, kw_only=True)
class Settled:
    """The values of parameters, and the problems found with them."""

    #: A missing or wrong value is ``UNKNOWN``.
    parameters: Parameters
    #: For values of undeclared parameters, of a wrong type, or that violate constraints.
    problems: tuple[Problem, ...]
    #: One for each parameter without a value.
    missing: tuple[Problem, ...]


def pseudo_parameters(version: TemplateVersion) -> tuple[str, ...]:
    """Return the names of the parameters that a template of this version need not declare."""
    return PSEUDO_PARAMETERS if version.is_hot else CFN_PSEUDO_PARAMETERS


def settle(
    schemas: Mapping[str, ParameterSchema],
    environment: Environment,
    *,
    pseudo: Mapping[str, object],
    positions: Positions,
    declared: Collection[str] = (),
    offline: bool = False,
    clients: NamedClients | None = None,
) -> Settled:
    """Return the value of every parameter: the one given, else the environment's default, else the template's.

    A given null counts as not given; a given ``UNKNOWN`` stays so. ``declared`` are the names of all parameters,
    including those whose declaration is invalid and therefore has no schema. If ``offline``, or without ``clients``,
    some constraints are skipped: see :meth:`ParameterSchema.value_of`.

    Raises:
        NotVerified: a constraint could not query its system, and there is no other problem.
    """
    environment, problems = environment.merged({name: schema.type for name, schema in schemas.items()})
    problems.extend(_unknown(schemas, declared, environment))
    missing: list[Problem] = []
    secret = {schema.name for schema in schemas.values() if schema.hidden} | environment.encrypted_names
    values: dict[str, Any] = dict.fromkeys(declared, UNKNOWN)
    not_verified: NotVerified | None = None
    for schema in schemas.values():
        check_time(partial(positions.problem, schema.path))
        values[schema.name] = UNKNOWN
        given = _given(schema, environment, positions)
        if given is None:
            hint = "give it on the command line or in an environment file, or declare a default"
            message = f"the parameter {schema.name!r} has no value and no default"
            missing.append(positions.problem(schema.path, message, hint))
            continue
        if given.is_secret:
            secret.add(schema.name)
        if is_unknown(given.value):
            continue
        effective = replace(schema, hidden=True) if schema.name in secret else schema
        try:
            values[schema.name] = effective.value_of(given.value, offline=offline, clients=clients)
        except NotVerified as error:
            # No further queries: each could run into the same system's timeout.
            not_verified, clients = not_verified or NotVerified(given.problem(str(error), "")), None
        except ValueError as error:
            problems.append(
                given.problem(str(error), f"parameter {schema.name!r} has the type {schema.type}")
            )
    if not_verified is not None and not problems and not missing:
        raise not_verified
    parameters = Parameters(
        values={**values, **pseudo},
        hidden=frozenset(secret),
        pseudo=frozenset(pseudo),
    )
    return Settled(parameters=parameters, problems=tuple(problems), missing=tuple(missing))


def _unknown(
    schemas: Mapping[str, ParameterSchema], declared: Collection[str], environment: Environment
) -> Iterable[Problem]:
    nearest = Nearest()
    for name, given in environment.parameters.items():
        if name in schemas or name in declared:
            continue
        if name in PSEUDO_PARAMETERS or name in CFN_PSEUDO_PARAMETERS:
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
    path = (*schema.path, schema.default_key)
    return Given(schema.default, dotted(path), positions.at(path))
