"""Registry of RPCs: the name, effect on the machine's state, and timeout of each.

A package adds RPCs by an entry point in the group ``isotherm.node_rpcs`` that names a module with objects made by
:func:`node_rpc`. The default effect is :attr:`Effect.MUTATE`.
"""

from collections.abc import Callable, Mapping
from enum import StrEnum
from functools import cache
from itertools import chain
from typing import Any, Final

from hooks.loading.entries import installed_entries, load_entries
from hooks.values.dataclass import dataclass
from orchestrator.errors import PluginMistake

#: The entry point group of modules with RPCs.
NAMESPACE: Final = "isotherm.node_rpcs"
#: The entry point groups of agents' backends: see :mod:`workers.agent.hypervisors` and :mod:`workers.agent.storage`.
HYPERVISORS: Final = "isotherm.hypervisors"
STORAGE: Final = "isotherm.storage"

#: Timeouts of calls in seconds.
URGENT: Final = 60.0
FAST: Final = 300.0
NORMAL: Final = 900.0
SLOW: Final = 3600.0


class Effect(StrEnum):
    """The effect of an RPC on cached machine states."""

    #: It changes its machine, or may.
    MUTATE = "mutate"
    #: It changes nothing; a test compares the node before and after.
    READ = "read"
    #: It changes the machine, but nothing that is cached; it must give the reason.
    NEUTRAL = "neutral"
    #: It changes machines that it does not name: all cached states are invalidated.
    FLUSH_ALL = "flush_all"


@dataclass(frozen=True, slots=True, kw_only=True)
class NodeRpc:
    """One RPC: the agent calls ``handler(agent, **arguments)``, ``agent`` being :class:`workers.agent.agent.Agent`."""

    name: str
    effect: Effect
    #: Returns the other machines that a call with these arguments changes.
    affects: Callable[[Mapping[str, Any]], frozenset[str]]
    timeout_seconds: float
    #: Why a neutral RPC changes nothing that is cached.
    reason: str
    #: Whether its effect comes after its reply: the machine stays dirty until the effect is seen or the lease ends.
    deferred: bool
    handler: Callable[..., Any]

    @property
    def is_read(self) -> bool:
        """Whether it is a read, which goes to the mailbox and not to the queue of mutations."""
        return self.effect is Effect.READ


def node_rpc(
    name: str,
    *,
    effect: Effect = Effect.MUTATE,
    affects: Callable[[Mapping[str, Any]], frozenset[str]] = lambda _: frozenset(),
    timeout_seconds: float = FAST,
    reason: str = "",
    deferred: bool = False,
) -> Callable[[Callable[..., Any]], NodeRpc]:
    """Make an RPC of a function; see :class:`NodeRpc` for the arguments.

    Raises:
        PluginMistake: a neutral RPC has no reason.
    """
    if effect is Effect.NEUTRAL and not reason:
        raise PluginMistake(
            f"node RPC {name!r} is neutral and must say why nothing that is remembered changes"
        )
    return lambda handler: NodeRpc(
        name=name,
        effect=effect,
        affects=affects,
        timeout_seconds=timeout_seconds,
        reason=reason,
        deferred=deferred,
        handler=handler,
    )


@cache
def load_rpcs(namespace: str = NAMESPACE) -> Mapping[str, NodeRpc]:
    """Return the RPCs of all installed packages, sorted by name.

    Raises:
        PluginMistake: a module cannot be imported, or two have an RPC of the same name.
    """
    found: dict[str, NodeRpc] = {}
    for entry, module, error in load_entries(chain.from_iterable(installed_entries(namespace).values())):
        if error is not None:
            raise PluginMistake(f"the node RPCs of {entry.value!r} cannot be loaded: {error}") from error
        for each in vars(module).values():
            if isinstance(each, NodeRpc) and found.setdefault(each.name, each) is not each:
                raise PluginMistake(f"node RPC {each.name!r} is brought twice")
    return {name: found[name] for name in sorted(found)}
