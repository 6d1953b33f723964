"""The hypervisors and storage units of a machine: those in its settings, loaded from their entry points.

A missing, broken or misconfigured backend is kept with the reason, which its callers receive; it harms
no other. One whose probe has failed is probed again: the cause may be gone.
"""

import threading
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import suppress
from functools import partial
from pathlib import Path
from typing import Any, Final, Generic, TypeVar

from pydantic import BaseModel

from cache.node_state.requests import ABSENT, ERROR, TIMEOUT
from hooks.loading.entries import installed_entries, load_entries
from hooks.loading.entry import Entry
from hooks.values.nearest import Nearest
from orchestrator.config.logger import get_logger
from orchestrator.nodes.rpc.registry import HYPERVISORS, STORAGE
from orchestrator.plugins.loading import refuse_stranger
from workers.agent.hypervisors.hypervisor import CommandLimits, Hypervisor
from workers.agent.options import read_options
from workers.agent.patience import Patience, PendingCall, Unanswered
from workers.agent.storage.storage import Storage

#: The pause before an unusable backend is probed again.
_PROBE_AGAIN_SECONDS: Final = 10.0

B = TypeVar("B", bound=Hypervisor | Storage)
T = TypeVar("T")

log = get_logger()


class Unusable(Exception):
    """A backend cannot be used; the message names the reason."""

    def __init__(self, status: str, sentence: str) -> None:
        super().__init__(sentence)
        #: error, timeout or absent: the status of its section.
        self.status = status


class Backend(Generic[B]):
    """One hypervisor or storage unit, usable or not; made on first use. Thread-safe."""

    def __init__(
        self,
        who: str,
        kind: str,
        *,
        make: Callable[[], B],
        seconds: float,
        options: Mapping[str, Any],
        begin: Callable[[B], None] = lambda _: None,
    ) -> None:
        #: Its name in messages, and the name of its entry point.
        self.who, self.kind = who, kind
        #: Its settings.
        self.options = options
        self.patience = Patience(who, seconds)
        self._make, self._begin = make, begin
        self._lock = threading.Lock()
        self._made: B | None = None
        #: Why it cannot be used, and when that was found.
        self._fault: tuple[Unusable, float] | None = None
        self._proven = False

    def get(self) -> B:
        """Return the backend.

        Raises:
            Unusable: it is missing, broken, badly configured, or cannot be used on this machine.
        """
        made = self._made
        if made is not None and self._proven:
            return made
        with self._lock:
            return self._prove()

    def close(self) -> None:
        """Close it."""
        if isinstance(self._made, Hypervisor):
            self._made.close()

    def _prove(self) -> B:
        if self._made is not None and self._proven:
            return self._made
        if self._fault is not None and time.monotonic() - self._fault[1] < _PROBE_AGAIN_SECONDS:
            raise self._fault[0]
        try:
            made = self._made = self._make() if self._made is None else self._made
            reason = self.patience.ask(made.probe).answer()
            if reason:
                raise Unusable(ERROR, f"{self.who} cannot be used: {reason}")
        except Unusable as fault:
            raise self._remember(fault) from fault.__cause__
        except Unanswered as error:
            raise self._remember(Unusable(TIMEOUT, str(error))) from error
        except Exception as error:  # a plugin's own, of any kind: the others go on
            raise self._remember(Unusable(ERROR, f"{self.who} is broken: {error}")) from error
        self._proven = True
        with suppress(Unanswered):
            self.patience.ask(lambda: self._begin(made))
        return made

    def _remember(self, fault: Unusable) -> Unusable:
        self._fault = (fault, time.monotonic())
        return fault


def _call(backend: Backend[B], call: Callable[[B], T]) -> T:
    return call(backend.get())


class Backends(Mapping[str, Backend[B]]):
    """All hypervisors, or all storage units, of a machine, by name."""

    def __init__(self, what: str, backends: Mapping[str, Backend[B]]) -> None:
        #: hypervisor or storage unit.
        self.what = what
        self._backends = dict(backends)

    def __getitem__(self, name: str) -> Backend[B]:
        return self._backends[name]

    def __iter__(self) -> Iterator[str]:
        return iter(self._backends)

    def __len__(self) -> int:
        return len(self._backends)

    def usable(self, name: str) -> B:
        """Return one by its name.

        Raises:
            Unusable: it does not exist, or cannot be used.
        """
        if name not in self._backends:
            hint = Nearest().hint(name, self._backends, f"it has {', '.join(self._backends) or 'none'}")
            raise Unusable(ABSENT, f"the node has no {self.what} {name!r}: {hint}")
        return self._backends[name].get()

    def faults(self) -> Iterator[tuple[str, str]]:
        """Yield a description of each backend that cannot be used now, and the reason."""
        for backend in self._backends.values():
            try:
                backend.get()
            except Unusable as fault:
                yield backend.who, str(fault)

    def all_usable(self) -> dict[str, B]:
        """Return the usable ones, by name."""
        return self.ask_all(lambda backend: backend)

    def ask_all(self, call: Callable[[B], T]) -> dict[str, T]:
        """Return the answers of those that can, by name; queried concurrently, so that none holds up the others."""
        pending: dict[str, PendingCall[T]] = {}
        for name, backend in self._backends.items():
            with suppress(Unanswered):
                pending[name] = backend.patience.ask(partial(_call, backend, call))
        found = {}
        for name, each in pending.items():
            try:
                found[name] = each.answer()
            except Exception as error:  # noqa: BLE001  # a plugin's own, of any kind: the others answer
                log.debug("a backend is left out", backend=self._backends[name].who, reason=str(error))
        return found

    def close(self) -> None:
        """Close all."""
        for backend in self._backends.values():
            backend.close()


def hypervisors_of(
    configured: Mapping[str, Mapping[str, Any]],
    directory: Path,
    seconds: float,
    begin: Callable[[Hypervisor], None],
    *,
    scope: str = "",
    limits: CommandLimits | None = None,
) -> Backends[Hypervisor]:
    """Return the configured hypervisors, each with a directory of its own under ``directory``.

    ``begin`` is called with each as soon as it can be used; ``scope`` is that of its marks, ``limits`` are
    those on its commands.
    """
    entries = _Entries(HYPERVISORS, configured)

    def make(name: str) -> Hypervisor:
        cls = entries.backend_class(name, Hypervisor, "hypervisor")  # type: ignore[type-abstract]
        made = cls(_options(cls.Options, configured[name], f"agent.hypervisors.{name}"), directory / name)
        made.scope, made.limits = scope, limits
        return made

    def backend(name: str) -> Backend[Hypervisor]:
        who, options = f"hypervisor {name!r}", configured[name]
        return Backend(who, name, make=partial(make, name), seconds=seconds, options=options, begin=begin)

    return Backends("hypervisor", {name: backend(name) for name in sorted(configured)})


def storage_of(
    configured: Mapping[str, Mapping[str, Any]], directory: Path, seconds: float
) -> Backends[Storage]:
    """Return the configured storage units, each with a directory of its own under ``directory``."""
    kinds = {name: str(options.get("type", "")) for name, options in configured.items()}
    entries = _Entries(STORAGE, set(kinds.values()))

    def make(name: str) -> Storage:
        cls = entries.backend_class(kinds[name], Storage, "storage")  # type: ignore[type-abstract]
        rest = {option: value for option, value in configured[name].items() if option != "type"}
        return cls(name, _options(cls.Options, rest, f"agent.storage.{name}"), directory / name)

    def backend(name: str) -> Backend[Storage]:
        who, options = f"storage unit {name!r}", configured[name]
        return Backend(who, kinds[name], make=partial(make, name), seconds=seconds, options=options)

    return Backends("storage unit", {name: backend(name) for name in sorted(configured)})


class _Entries:
    """The entry points of some names in one group, loaded together when the first is needed."""

    def __init__(self, namespace: str, names: Any) -> None:
        self._namespace, self._names = namespace, sorted(names)
        self._lock = threading.Lock()
        self._found: dict[str, tuple[Entry, Any]] | None = None
        self._failed: dict[str, BaseException] = {}

    def backend_class(self, name: str, kind: type[B], what: str) -> type[B]:
        """Return the class of an entry point.

        Raises:
            Unusable: the entry point does not exist, or cannot be loaded.
            PluginMistake: it is something else.
        """
        with self._lock:
            if self._found is None:
                self._found = self._load()
        if name in self._failed:
            error = self._failed[name]
            raise Unusable(ERROR, f"{what} {name!r} cannot be loaded: {error}") from error
        if name not in self._found:
            known = sorted(installed_entries(self._namespace))
            hint = Nearest().hint(name, known, f"there are: {', '.join(known)}")
            raise Unusable(ERROR, f"no package brings the {what} {name!r}: {hint}")
        entry, found = self._found[name]
        refuse_stranger(entry, found, kind, what)
        cls: type[B] = found
        return cls

    def _load(self) -> dict[str, tuple[Entry, Any]]:
        # Missing ones are reported when they are used.
        installed = installed_entries(self._namespace)
        loaded: dict[str, tuple[Entry, Any]] = {}
        for entry, plugin, error in load_entries(e for name in self._names for e in installed.get(name, ())):
            if error is not None:
                self._failed[entry.name] = error
            else:
                loaded[entry.name] = (entry, plugin)
        return loaded


def _options(model: type[BaseModel], given: Mapping[str, Any], where: str) -> Any:
    """Return a backend's settings as ``model``."""
    try:
        return read_options(model, given, fault=ValueError)
    except ValueError as error:
        raise Unusable(ERROR, f"the setting {where} is wrong: {error}") from error
