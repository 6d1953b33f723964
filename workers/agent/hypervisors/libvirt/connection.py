"""A connection to libvirt that is opened on demand, and reopened when it was lost.

The library is optional: it is imported with the first connection.
"""

import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from typing import Any, Final

from workers.agent.fence import check_fence
from workers.agent.hypervisors.hypervisor import HypervisorBusy, HypervisorFault

_KEEPALIVE_SECONDS: Final = 5
_KEEPALIVE_COUNT: Final = 3
#: The words of lifecycle events, by libvirt's numbers.
_EVENTS: Final = (
    "defined",
    "undefined",
    "started",
    "suspended",
    "resumed",
    "stopped",
    "shutdown",
    "suspended by itself",
    "crashed",
)

_loop_guard = threading.Lock()
_loops: list[threading.Thread] = []


def libvirt() -> Any:
    """Return the library, with its event loop running.

    Raises:
        HypervisorFault: it is not installed.
    """
    try:
        import libvirt as library
    except ImportError as error:
        raise HypervisorFault(
            "the library libvirt-python is not installed: the extra isotherm[libvirt] has it"
        ) from error
    with _loop_guard:
        if not _loops:
            # Otherwise the library prints each error besides raising it.
            library.registerErrorHandler(_print_nothing, None)
            library.virEventRegisterDefaultImpl()
            loop = threading.Thread(target=_run_events, args=(library,), name="libvirt-events", daemon=True)
            _loops.append(loop)
            loop.start()
    return library


def _print_nothing(_context: object, _error: object) -> None:
    """Ignore an error that is raised as well."""


def _run_events(library: Any) -> None:
    while True:
        with suppress(library.libvirtError):
            library.virEventRunDefaultImpl()


class LibvirtConnection:
    """One connection for all threads of an agent."""

    def __init__(self, uri: str) -> None:
        self.uri = uri
        self._guard = threading.Lock()
        self._open: Any = None
        self._watchers: list[Callable[[str], None]] = []

    @contextmanager
    def use(self) -> Iterator[Any]:
        """Yield the connection.

        Raises:
            HypervisorFault: it cannot be opened, or libvirt refuses the operation.
            HypervisorBusy: it was lost, or the domain is busy: a retry may help.
        """
        library = libvirt()
        check_fence()
        try:
            yield self._connected(library)
        except library.libvirtError as error:
            raise _fault(library, error) from error

    def watch(self, changed: Callable[[str], None]) -> Callable[[], None]:
        """Call ``changed`` with each lifecycle event of a domain, and when the connection is lost."""
        with self._guard:
            self._watchers.append(changed)
        with self.use():
            pass

        def end() -> None:
            with self._guard, suppress(ValueError):
                self._watchers.remove(changed)

        return end

    def close(self) -> None:
        """Close it; the next use opens a new one."""
        with self._guard:
            connection, self._open = self._open, None
            self._watchers.clear()
        if connection is not None:
            with suppress(libvirt().libvirtError):
                connection.close()

    def _connected(self, library: Any) -> Any:
        with self._guard:
            if self._open is None or not self._open.isAlive():
                self._open = library.open(self.uri)
                self._listen(library, self._open)
            return self._open

    def _listen(self, library: Any, connection: Any) -> None:
        # Some drivers support none of these, and do not need them.
        with suppress(library.libvirtError):
            connection.setKeepAlive(_KEEPALIVE_SECONDS, _KEEPALIVE_COUNT)
        with suppress(library.libvirtError):
            connection.registerCloseCallback(self._lost, None)
        with suppress(library.libvirtError):
            event = library.VIR_DOMAIN_EVENT_ID_LIFECYCLE
            connection.domainEventRegisterAny(None, event, self._lived, None)

    def _lived(self, _connection: Any, domain: Any, event: int, _detail: int, _context: Any) -> None:
        word = _EVENTS[event] if 0 <= event < len(_EVENTS) else "changed"
        self._notify(f"domain {domain.name()} {word}")

    def _lost(self, _connection: Any, _reason: int, _context: Any) -> None:
        self._notify("the connection to libvirt was lost")

    def _notify(self, why: str) -> None:
        with self._guard:
            watchers = list(self._watchers)
        for changed in watchers:
            changed(why)


def _fault(library: Any, error: Any) -> HypervisorFault:
    code = error.get_error_code()
    busy = (
        library.VIR_ERR_OPERATION_TIMEOUT,
        library.VIR_ERR_RPC,
        library.VIR_ERR_SYSTEM_ERROR,
        library.VIR_ERR_INVALID_CONN,
    )
    message = f"libvirt: {error.get_error_message() or 'it failed and did not say why'}"
    return HypervisorBusy(message) if code in busy else HypervisorFault(message)
