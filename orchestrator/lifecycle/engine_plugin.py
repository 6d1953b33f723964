"""Lifecycle plugins that are part of the engine: handed what it has, and asked only where they have something to do.

An operator's plugins are asked about every operation, and see nothing but what they are shown. These are not even asked
about stacks that are none of their business, which cost nothing then; and they are asked about stacks in stacks
whatever the settings say of others.
"""

from abc import abstractmethod
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Protocol

from cache.node_state.errors import NodeError
from cache.node_state.lease import Lease
from cache.node_state.requests import Snapshot
from hooks.lifecycle import LifecyclePlugin
from orchestrator.config.settings import Settings
from orchestrator.plugins.resource import Resource
from orchestrator.store.store import Store


class Nodes(Protocol):
    """What is needed of :class:`orchestrator.nodes.rpc.client.NodeClient`."""

    def leases(self) -> Mapping[str, Lease]:
        """Return the nodes that have an agent at the moment."""

    def snapshot_many(
        self, nodes: Iterable[str], request: Any, **how: Any
    ) -> Mapping[str, Snapshot | NodeError]:
        """Return for each node what it said of itself, or why it cannot be told."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Engine:
    """What a process of the engine has, for plugins that are part of it; each is made when it is first asked for."""

    settings: Settings
    store: Callable[[], Store]
    types: Callable[[], Mapping[str, type[Resource]]]
    nodes: Callable[[], Nodes]


class EnginePlugin(LifecyclePlugin):
    """Base of plugins that are part of the engine."""

    _engine: Engine | None = None

    def join(self, engine: Engine) -> None:
        """Take what the engine has; called once, before anything else."""
        self._engine = engine

    @property
    def engine(self) -> Engine:
        """What the engine has."""
        if self._engine is None:
            raise RuntimeError(f"lifecycle plugin {self.name!r} was not joined to the engine")
        return self._engine

    @abstractmethod
    def concerns(self, action: str, types: Collection[str]) -> bool:
        """Tell whether an operation is its business; fast, and without asking anybody.

        Args:
            action: As of :meth:`hooks.lifecycle.LifecyclePlugin.do_pre_op`.
            types: The types of the resources that the stack has, and is to have.
        """


def joined(plugins: Sequence[LifecyclePlugin], engine: Engine) -> tuple[LifecyclePlugin, ...]:
    """Return the same plugins, those that are part of the engine joined to it."""
    for plugin in plugins:
        if isinstance(plugin, EnginePlugin):
            plugin.join(engine)
    return tuple(plugins)


def concerned(
    plugins: Iterable[LifecyclePlugin], action: str, types: Collection[str], *, others: bool = True
) -> tuple[LifecyclePlugin, ...]:
    """Return those that an operation concerns; of those that are no part of the engine all, or none without ``others``.

    ``types`` are those of the resources that the stack has, and is to have.
    """
    return tuple(
        plugin
        for plugin in plugins
        if (plugin.concerns(action, types) if isinstance(plugin, EnginePlugin) else others)
    )
