"""The secrets of a resource: everything that no text about it may show, such as the reason of a failure."""

from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import field
from itertools import chain
from typing import Any

from hooks.values.dataclass import dataclass
from hooks.values.secret_texts import masked, texts_in
from orchestrator.config.logger import get_logger
from orchestrator.config.secrets import secrets_of_settings
from orchestrator.config.settings import Settings
from orchestrator.definition import NodeData, StackDefinition
from orchestrator.plugins.clients import ProjectClients
from orchestrator.plugins.resource import Resource
from orchestrator.plugins.sensitive import sensitive_values
from orchestrator.template.definitions import ResourceDefinition
from orchestrator.template.secret_parts import HiddenNames

log = get_logger()

#: A definition with the values that it gave, and the stack in which.
Given = tuple[ResourceDefinition, Mapping[str, Any] | None, StackDefinition]


@dataclass(frozen=True, slots=True, kw_only=True)
class ResourceSecrets:
    """What is known of a resource in one process, from which its secrets are found when a text is to be masked."""

    settings: Settings
    #: The context of a traversal of its stack.
    context: Mapping[str, Any]
    #: None: its type is not installed.
    kind: type[Resource] | None = None
    #: Its definitions: the present one, and that which was applied last.
    given: Iterable[Given] = ()
    #: All properties that it has had or gets, as its template names them.
    properties: Iterable[Mapping[str, Any] | None] = ()
    data: Mapping[str, Any] = field(default_factory=dict)
    inputs: Iterable[NodeData] = ()
    #: The node data of the resource itself, as far as there are any.
    own: Iterable[NodeData] = ()
    clients: ProjectClients | None = None

    def masked(self, text: str) -> str:
        """Return a text without the secrets; nothing is looked up for an empty one."""
        return masked(text, self.texts()) if text else text

    def texts(self) -> frozenset[str]:
        """Return the secrets as texts, of whatever length. Raises nothing: a source that fails is left out."""
        sources: tuple[Callable[[], Iterable[object]], ...] = (
            lambda: secrets_of_settings(self.settings),
            self._of_parameters,
            self._of_definitions,
            self._of_properties,
            self._of_data,
            lambda: chain.from_iterable(each.secret_values() for each in (*self.inputs, *self.own)),
            lambda: () if self.clients is None else self.clients.secrets(),
        )
        found: set[str] = set()
        for source in sources:
            try:
                found.update(text for value in source() for text in texts_in(value))
            except Exception as error:  # noqa: BLE001  # schemas and clients are other people's code
                log.warning("a source of secrets cannot be read", error=type(error).__name__)
        return frozenset(found)

    def _of_parameters(self) -> Iterator[object]:
        values = self.context.get("parameters", {})
        yield from (values[name] for name in self.context.get("hidden", ()) if name in values)

    def _of_definitions(self) -> Iterator[object]:
        hidden = HiddenNames(frozenset(self.context.get("hidden", ())), self.context.get("parameters", {}))
        for definition, values, stack in self.given:
            if values is None:
                continue
            for part in definition.properties_expression.secret_parts(values, stack, hidden):
                # A long text with a secret in it, such as a script, is none: its lines are common words.
                yield from (text for text in texts_in(part) if len(text.splitlines()) == 1)

    def _of_properties(self) -> Iterator[object]:
        if self.kind is not None:
            schema = self.kind.properties_schema
            yield from (value for each in self.properties if each for value in sensitive_values(schema, each))

    def _of_data(self) -> Iterator[object]:
        if self.kind is not None:
            names = (name for name, schema in self.kind.attributes_schema.items() if schema.sensitive)
            yield from (self.data[name] for name in names if name in self.data)
