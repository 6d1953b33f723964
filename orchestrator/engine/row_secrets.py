"""The secrets of a resource outside of a check, where its type runs in a coordinator or a command."""

from collections.abc import Iterator, Mapping

from hooks.values.dataclass import dataclass
from orchestrator.config.limits import Limits
from orchestrator.config.settings import Settings
from orchestrator.definition import NodeData, ResourceProxy, StackDefinition
from orchestrator.planning.rows import node_data_of
from orchestrator.planning.secrets import Given, ResourceSecrets
from orchestrator.plugins.clients import ProjectClients
from orchestrator.plugins.resource import Resource
from orchestrator.store.stacks.stacks import ResourceRow, StackRow
from orchestrator.store.store import Store
from orchestrator.template.definitions import ResourceDefinition
from orchestrator.template.template_resource import kind_of_type


@dataclass(frozen=True, slots=True, kw_only=True)
class RowSecrets:
    """The secrets of a row; the store is read only when there is a text to be masked."""

    store: Store
    types: Mapping[str, type[Resource]]
    settings: Settings
    stack: StackRow
    row: ResourceRow | None
    clients: ProjectClients | None = None

    def masked(self, text: str) -> str:
        """Return a text without the secrets of the resource, and of its stack.

        Raises:
            Unavailable: the database does not answer.
        """
        if not text:
            return text
        row, context = self.row, self.store.traversals.context(self.stack.traversal_id)
        if row is None:
            return ResourceSecrets(settings=self.settings, context=context, clients=self.clients).masked(text)
        required = [
            self._with_marks(each)
            for each in self.store.stacks.resources(self.stack.id)
            if each.id in row.requires
        ]
        secrets = ResourceSecrets(
            settings=self.settings,
            context=context,
            kind=kind_of_type(self.types, row.type),
            given=self._given(row, context, required),
            properties=(row.properties,),
            data=row.data,
            inputs=required,
            own=(self._with_marks(row),),
            clients=self.clients,
        )
        return secrets.masked(text)

    def _given(
        self, row: ResourceRow, context: Mapping[str, object], required: list[NodeData]
    ) -> Iterator[Given]:
        fragment = self.store.histories.applied(row.id)
        if fragment is not None:
            limits = Limits.of(self.settings)
            definition = ResourceDefinition.from_fragment(row.name, fragment["definition"], limits)
            proxies = {each.name: ResourceProxy(name=each.name, data=each) for each in required}
            yield definition, row.properties, StackDefinition.of_context(context, resources=proxies)

    def _with_marks(self, row: ResourceRow) -> NodeData:
        return node_data_of(row, kind_of_type(self.types, row.type))
