"""The RPCs of nodes: what each is called, what it does to its node, and how long it may take.

A package adds some by an entry point in the group ``isotherm.node_rpcs`` that names a module: whatever
:func:`node_rpc` has made in it is one. An RPC of which nothing is said changes its node.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from enum import StrEnum
from functools import cache
from typing import Any, Final

from stevedore.extension import ExtensionManager

from orchestrator.errors import PluginMistake

#: The entry point group of modules with RPCs.
NAMESPACE: Final = "isotherm.node_rpcs"
#: Those of what agents offer: see :mod:`workers.agent.hypervisors` and :mod:`workers.agent.storage`.
HYPERVISORS: Final = "isotherm.hypervisors"
STORAGE: Final = "isotherm.storage"

#: How long calls may take, in seconds, by kind.
URGENT: Final = 60.0
FAST: Final = 300.0
NORMAL: Final = 900.0
SLOW: Final = 3600.0


class Effect(StrEnum):
    """What an RPC does to what is remembered of nodes."""

    #: It changes its node, or nobody has proven that it does not.
    MUTATE = "mutate"
    #: It changes nothing; a test compares the node before and after.
    READ = "read"
    #: It changes the node, but nothing that is remembered; it says why.
    NEUTRAL = "neutral"
    #: It changes nodes that it does not name: whatever is remembered of any node is void.
    FLUSH_ALL = "flush_all"


@dataclass(frozen=True, slots=True, kw_only=True)
class NodeRpc:
    """One RPC: the agent calls ``handler(agent, **arguments)``, ``agent`` being :class:`workers.agent.agent.Agent`."""

    name: str
    effect: Effect
    #: Returns the names of the nodes, besides the called one, that a call with these arguments changes.
    affects: Callable[[Mapping[str, Any]], frozenset[str]]
    timeout_seconds: float
    #: Of a neutral one: why nothing that is remembered changes.
    reason: str
    #: Whether its effect comes after its reply: the node stays dirty until the effect was seen, or the lease ends.
    deferred: bool
    handler: Callable[..., Any]

    @property
    def is_read(self) -> bool:
        """Whether it travels by the mailbox, beside all mutations."""
        return self.effect is Effect.READ


def nobody_else(_arguments: Mapping[str, Any]) -> frozenset[str]:
    """Return that no other node changes."""
    return frozenset()


def node_rpc(
    name: str,
    *,
    effect: Effect = Effect.MUTATE,
    affects: Callable[[Mapping[str, Any]], frozenset[str]] = nobody_else,
    timeout_seconds: float = FAST,
    reason: str = "",
    deferred: bool = False,
) -> Callable[[Callable[..., Any]], NodeRpc]:
    """Make an RPC of a function; see :class:`NodeRpc` for what is said of it.

    Raises:
        PluginMistake: a neutral one gives no reason.
    """
    if effect is Effect.NEUTRAL and not reason:
        raise PluginMistake(
            f"node RPC {name!r} is neutral and must say why nothing that is remembered changes"
        )

    def made(handler: Callable[..., Any]) -> NodeRpc:
        return NodeRpc(
            name=name,
            effect=effect,
            affects=affects,
            timeout_seconds=timeout_seconds,
            reason=reason,
            deferred=deferred,
            handler=handler,
        )

    return made


@cache
def load_rpcs(namespace: str = NAMESPACE) -> Mapping[str, NodeRpc]:
    """Return the RPCs that the installed packages bring, by name, in alphabetical order.

    Raises:
        PluginMistake: a module cannot be imported, or two bring an RPC of the same name.
    """

    def refuse(_manager: Any, entry: Any, error: BaseException) -> None:
        raise PluginMistake(f"the node RPCs of {entry.value!r} cannot be loaded: {error}") from error

    found: dict[str, NodeRpc] = {}
    for extension in ExtensionManager(namespace, on_load_failure_callback=refuse):
        for each in vars(extension.plugin).values():
            if isinstance(each, NodeRpc) and found.setdefault(each.name, each) is not each:
                raise PluginMistake(f"node RPC {each.name!r} is brought twice")
    return {name: found[name] for name in sorted(found)}
