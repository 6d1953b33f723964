"""The state of domains in the project's units: libvirt counts memory in KiB and processor time in nanoseconds."""

from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import Any, Final

from workers.agent.hypervisors.hypervisor import InstanceData, InstanceState
from workers.agent.names import fault_of_name

KIB_PER_MIB: Final = 1024
_NANOSECONDS: Final = 1_000_000_000
#: States by libvirt's numbers. One without a state is a guest of Xen that waits for a processor.
_STATES: Final = (
    ("no state", InstanceState.RUNNING),
    ("running", InstanceState.RUNNING),
    ("blocked", InstanceState.RUNNING),
    ("paused", InstanceState.PAUSED),
    ("in shutdown", InstanceState.RUNNING),
    ("shut off", InstanceState.SHUTDOWN),
    ("crashed", InstanceState.CRASHED),
    ("suspended by itself", InstanceState.PAUSED),
)
_SHUT_OFF: Final = 5
#: The reasons why a domain is shut off unrequested: it has crashed, or did not start.
_CRASHES: Final = (3, 6)


def domain_data(domain: Any, stats: Mapping[str, Any], details: Mapping[str, Any]) -> InstanceData:
    """Return the data of a domain: from :func:`domain_stats`, or else by queries."""
    known = {"state.state", "balloon.current", "vcpu.current", "cpu.time"} <= stats.keys()
    info = None if known else domain.info()
    state, word = (
        _meaning(stats["state.state"], stats["state.reason"]) if known else _meaning(*domain.state())
    )
    number = domain.ID()
    rss = stats.get("balloon.rss")
    return InstanceData(
        name=domain.name(),
        id=str(number) if number >= 0 else "",
        memory_mib=stats["balloon.current"] // KIB_PER_MIB if info is None else memory_mib_of(info),
        vcpus=stats["vcpu.current"] if info is None else info[3],
        state=state,
        raw_state=word,
        cpu_seconds=(stats["cpu.time"] if info is None else info[4]) / _NANOSECONDS,
        memory_used_mib=rss // KIB_PER_MIB if rss is not None else None,
        details={"uuid": domain.UUIDString(), **details},
    )


def domain_state(domain: Any) -> InstanceState:
    """Return the state of a domain."""
    return _meaning(*domain.state())[0]


def _meaning(state: int, reason: int) -> tuple[InstanceState, str]:
    word, meaning = _STATES[state] if 0 <= state < len(_STATES) else ("unknown", InstanceState.UNKNOWN)
    return (InstanceState.CRASHED if state == _SHUT_OFF and reason in _CRASHES else meaning), word


def memory_mib_of(info: Sequence[int]) -> int:
    """Return the memory of a domain, which libvirt counts in KiB."""
    return info[2] // KIB_PER_MIB


def domain_stats(library: Any, connection: Any, domains: list[Any]) -> dict[str, Mapping[str, Any]]:
    """Return the statistics of domains in one call, without waiting for busy ones.

    Not every driver can: then the result is empty.
    """
    wanted = (
        library.VIR_DOMAIN_STATS_STATE
        | library.VIR_DOMAIN_STATS_CPU_TOTAL
        | library.VIR_DOMAIN_STATS_BALLOON
        | library.VIR_DOMAIN_STATS_VCPU
    )
    if not domains:
        return {}
    try:
        records = connection.domainListGetStats(
            domains, wanted, library.VIR_CONNECT_GET_ALL_DOMAINS_STATS_NOWAIT
        )
    except library.libvirtError:
        return {}
    return {domain.name(): stats for domain, stats in records}


def look_up(library: Any, connection: Any, name: str) -> Any:
    """Return the domain of this name; None: it does not exist.

    Raises:
        Exception: libvirt's own, of any other failure.
    """
    if fault_of_name(name):
        return None
    try:
        return connection.lookupByName(name)
    except library.libvirtError as error:
        if error.get_error_code() == library.VIR_ERR_NO_DOMAIN:
            return None
        raise


@contextmanager
def unless_gone(library: Any) -> Iterator[None]:
    """Ignore a domain that is removed while it is read.

    Raises:
        Exception: libvirt's own, of any other failure.
    """
    try:
        yield
    except library.libvirtError as error:
        if error.get_error_code() != library.VIR_ERR_NO_DOMAIN:
            raise
