"""Engine plugins: lifecycle plugins with access to the engine, called only for operations that concern them.

An operator's plugins are called for every operation, and see only frozen stacks. Engine plugins are skipped for stacks
without resources of their types, and are called for nested stacks whatever ``lifecycle_nested_stacks`` is.
"""

from abc import abstractmethod
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Any, Protocol

from hooks.lifecycle import LifecyclePlugin
from hooks.values.dataclass import dataclass

if TYPE_CHECKING:
    from cache.node_state.errors import NodeError
    from cache.node_state.lease import Lease
    from cache.node_state.requests import MachineState
    from orchestrator.config.settings import Settings
    from orchestrator.plugins.resource import Resource
    from orchestrator.store.store import Store


class Nodes(Protocol):
    """The part of :class:`orchestrator.nodes.rpc.client.NodeClient` that engine plugins use."""

    def leases(self) -> Mapping[str, "Lease"]:
        """Return the leases of the agents that run now, by machine."""

    def machine_states(
        self, nodes: Iterable[str], request: Any, **how: Any
    ) -> Mapping[str, "MachineState | NodeError"]:
        """Return for each machine its state, or why it cannot be read."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Engine:
    """The settings, store, types and machine client of a process; each but the settings is made at its first use."""

    settings: "Settings"
    store: Callable[[], "Store"]
    types: Callable[[], Mapping[str, type["Resource"]]]
    nodes: Callable[[], Nodes]


class EnginePlugin(LifecyclePlugin):
    """Base class of engine plugins."""

    _engine: Engine | None = None

    def join(self, engine: Engine) -> None:
        """Set the engine; called once, before any other method."""
        self._engine = engine

    @property
    def engine(self) -> Engine:
        """The engine of this process.

        Raises:
            RuntimeError: :meth:`join` was not called.
        """
        if self._engine is None:
            raise RuntimeError(f"lifecycle plugin {self.name!r} was not joined to the engine")
        return self._engine

    @abstractmethod
    def concerns(self, action: str, types: Collection[str]) -> bool:
        """Return whether an operation concerns this plugin; fast, and without I/O.

        Args:
            action: As of :meth:`hooks.lifecycle.LifecyclePlugin.do_pre_op`.
            types: The types of the stack's present and desired resources.
        """


def joined(plugins: Sequence[LifecyclePlugin], engine: Engine) -> tuple[LifecyclePlugin, ...]:
    """Return the same plugins, after joining the engine plugins to the engine."""
    for plugin in plugins:
        if isinstance(plugin, EnginePlugin):
            plugin.join(engine)
    return tuple(plugins)


def concerned(
    plugins: Iterable[LifecyclePlugin], action: str, types: Collection[str], *, others: bool = True
) -> tuple[LifecyclePlugin, ...]:
    """Return the plugins that an operation concerns: engine plugins that say so, and with ``others`` all others.

    ``types`` are the types of the stack's present and desired resources.
    """
    return tuple(
        plugin
        for plugin in plugins
        if (plugin.concerns(action, types) if isinstance(plugin, EnginePlugin) else others)
    )
