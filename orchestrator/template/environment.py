"""Environments: values of parameters, aliases of resource types, and event sinks for a template."""

from collections.abc import Mapping
from dataclasses import field, replace
from typing import TYPE_CHECKING, Self

from hooks.values.dataclass import dataclass
from orchestrator.errors import Problem
from orchestrator.template.document import dotted
from orchestrator.template.given import Given
from orchestrator.template.merging import Latest, Layer, fold
from orchestrator.template.parameter_types import ParameterType
from orchestrator.template.resource_registry import Registry

if TYPE_CHECKING:
    from orchestrator.template.moves import Move


@dataclass(frozen=True, slots=True, kw_only=True)
class Environment:
    """Values and aliases, merged from any number of environment files; immutable."""

    #: The parameters of each source, in order; sources without any are left out.
    layers: tuple[Layer, ...] = ()
    registry: Registry = field(default_factory=Registry)
    #: Each value is a map with the type of an installed event sink, and its options.
    event_sinks: tuple[Given, ...] = ()
    #: The parameters whose values are secrets, even where their declarations are not hidden.
    encrypted_names: frozenset[str] = frozenset()
    #: The parts of the stack's observation policy that it sets; not in the environments of nested stacks.
    observation: Mapping[str, object] = field(default_factory=dict)
    #: The resources that have another name from now on; not in the environments of nested stacks.
    moves: "tuple[Move, ...]" = ()
    #: About the files it was read from; not in the environments of nested stacks.
    warnings: tuple[Problem, ...] = ()

    @classmethod
    def of_parameters(cls, parameters: Mapping[str, object]) -> Self:
        """Return an environment of values that a job itself gives: they replace those of files."""
        given = {name: Given(value, dotted(("parameters", name))) for name, value in parameters.items()}
        return cls(layers=(Layer(parameters=given, replaces=True),) if given else ())

    def merge(self, *others: "Environment") -> "Environment":
        """Return the environments merged in order; of entries with the same name, the last counts.

        The values of one parameter are kept apart until its type is known: see :meth:`merged`.
        """
        merged = self
        for other in others:
            merged = Environment(
                layers=(*merged.layers, *other.layers),
                registry=merged.registry.merge(other.registry),
                event_sinks=(*merged.event_sinks, *other.event_sinks),
                encrypted_names=merged.encrypted_names | other.encrypted_names,
                observation={**merged.observation, **other.observation},
                moves=(*merged.moves, *other.moves),
                warnings=(*merged.warnings, *other.warnings),
            )
        return merged

    def merged(self, types: Mapping[str, ParameterType]) -> "tuple[Environment, list[Problem]]":
        """Return this environment with one merged value for each parameter, and the problems found.

        ``types`` are those of the declared parameters; of the others, the last value counts, and defaults are left out.
        """
        layer, problems = fold(self.layers, types)
        return replace(self, layers=(layer,) if layer else ()), problems

    def for_nested(self, resource_name: str, own_type: str, parameters: Mapping[str, Given]) -> "Environment":
        """Return the environment of a resource's nested stack, whose ``parameters`` come from the resource.

        Defaults of parameters apply there, too; the values of this environment do not.
        """
        layers = tuple(replace(layer, parameters={}) for layer in self.layers if layer.parameter_defaults)
        own = Layer(parameters=parameters, replaces=True)
        return Environment(
            layers=(*layers, own) if own else layers,
            registry=self.registry.for_nested(resource_name, own_type),
            event_sinks=self.event_sinks,
            encrypted_names=self.encrypted_names,
        )

    @property
    def parameters(self) -> Mapping[str, Given]:
        """The last value of each parameter."""
        return Latest(layer.parameters for layer in self.layers)

    @property
    def parameter_defaults(self) -> Mapping[str, Given]:
        """The values of parameters that ``parameters`` lacks; names that no template declares are allowed."""
        return Latest(layer.parameter_defaults for layer in self.layers)
