"""What is said about a template from outside: values for its parameters, other names for its resource types."""

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Any, Self

from orchestrator.config.limits import Limits
from orchestrator.errors import InvalidInput, Problem
from orchestrator.template.document import Document, dotted, read_document
from orchestrator.template.environment_reader import EnvironmentReader
from orchestrator.template.given import Given
from orchestrator.template.merging import Latest, Layer, fold
from orchestrator.template.parameter_types import ParameterType
from orchestrator.template.resource_registry import Registry


@dataclass(frozen=True, slots=True, kw_only=True)
class Environment:
    """Values and aliases, gathered from any number of environment files; immutable."""

    #: What each source says of parameters, in order; one that says nothing is left out.
    layers: tuple[Layer, ...] = ()
    registry: Registry = field(default_factory=Registry)
    #: The value of each is a map with the type of an installed event sink, and its options.
    event_sinks: tuple[Given, ...] = ()
    #: The parameters whose values are to be kept secret, whatever their declarations say.
    encrypted_names: frozenset[str] = frozenset()

    @classmethod
    def of_parameters(cls, parameters: Mapping[str, Any]) -> Self:
        """Return an environment of values that came with the order itself: they replace what files say."""
        given = {name: Given(value, dotted(("parameters", name))) for name, value in parameters.items()}
        return cls(layers=(Layer(parameters=given, replaces=True),) if given else ())

    @classmethod
    def parse(cls, source: str, *, file: str, limits: Limits, base: str = "") -> Self:
        """Read an environment file; an empty one, or an empty section, says nothing.

        The names of files in it start at ``base``: see :func:`~.locations.base_between`.

        Raises:
            InvalidInput: with every problem found.
        """
        document, problems = read_document(source, file=file, limits=limits)
        environment = cls.of_document(document, problems, base=base)
        if problems:
            raise InvalidInput(problems)
        return environment

    @classmethod
    def of_document(cls, document: Document, problems: list[Problem], *, base: str = "") -> Self:
        """Return what an environment document says, as far as it is right; the rest is added to ``problems``."""
        said = EnvironmentReader(document, problems, base).read()
        return cls(
            layers=(said.layer,) if said.layer else (),
            registry=said.registry,
            event_sinks=said.event_sinks,
            encrypted_names=said.encrypted_names,
        )

    def merge(self, *others: "Environment") -> "Environment":
        """Return an environment with everything; of what comes twice, the last counts.

        How the values of one parameter are merged takes its type: see :meth:`merged`.
        """
        merged = self
        for other in others:
            merged = Environment(
                layers=(*merged.layers, *other.layers),
                registry=merged.registry.merge(other.registry),
                event_sinks=(*merged.event_sinks, *other.event_sinks),
                encrypted_names=merged.encrypted_names | other.encrypted_names,
            )
        return merged

    def merged(self, types: Mapping[str, ParameterType]) -> "tuple[Environment, list[Problem]]":
        """Return this with each parameter's values as one, and what is wrong with that.

        ``types`` are those of the declared parameters; of the others, the last value counts, and defaults are left out.
        """
        layer, problems = fold(self.layers, types)
        return replace(self, layers=(layer,) if layer else ()), problems

    def for_nested(self, resource_name: str, own_type: str, parameters: Mapping[str, Given]) -> "Environment":
        """Return what applies in the nested stack of a resource: ``parameters`` are what the resource gives it.

        The defaults of parameters are the same as here; the values are not handed down.
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
        """What is used where ``parameters`` has nothing; names that no template declares are no mistake."""
        return Latest(layer.parameter_defaults for layer in self.layers)
