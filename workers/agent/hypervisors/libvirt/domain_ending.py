"""The end and the resizing of domains: the guest is requested, and then checked."""

import time
from contextlib import suppress
from typing import Any, Final

from workers.agent.hypervisors.hypervisor import CannotDo, HypervisorBusy, InstanceState
from workers.agent.hypervisors.libvirt.connection import libvirt
from workers.agent.hypervisors.libvirt.domain_view import KIB_PER_MIB, domain_state, memory_mib_of

_LOOK_SECONDS: Final = 0.05
_ASK_SELDOM_SECONDS: Final = 5.0
_END_SECONDS: Final = 30.0
#: The longest time for a guest to return memory; one without a balloon driver never does.
_BALLOON_SECONDS: Final = 10.0


def stop_domain(domain: Any, grace_seconds: float) -> None:
    """Request the guest to shut down, and end it after the grace; one at rest stays so."""
    if domain.isActive() and grace_seconds > 0:
        if domain_state(domain) is InstanceState.PAUSED:
            domain.resume()
        _shut_down(domain, grace_seconds)
    end_domain(domain)


def end_domain(domain: Any) -> None:
    """End the domain at once.

    Raises:
        HypervisorBusy: it does not end.
    """
    deadline = time.monotonic() + _END_SECONDS
    while domain.isActive():
        try:
            domain.destroy()
        except libvirt().libvirtError:
            # It may have ended at the same moment.
            if domain.isActive() and time.monotonic() >= deadline:
                raise HypervisorBusy(
                    f"domain {domain.name()!r} does not end though it was destroyed"
                ) from None
            time.sleep(_LOOK_SECONDS)


def wait_for_memory(domain: Any, memory_mib: int) -> None:
    """Return when a running domain has the ordered memory.

    Raises:
        CannotDo: its guest keeps what it has; the order applies from its next start.
    """
    deadline = time.monotonic() + _BALLOON_SECONDS
    while domain.isActive() and (found := memory_mib_of(domain.info())) != memory_mib:
        if time.monotonic() >= deadline:
            library = libvirt()
            domain.setMemoryFlags(found * KIB_PER_MIB, library.VIR_DOMAIN_AFFECT_LIVE)
            raise CannotDo(
                f"the guest keeps {found} MiB: has it a driver for its balloon? It will have {memory_mib} MiB when it "
                "starts anew"
            )
        time.sleep(_LOOK_SECONDS)


def _shut_down(domain: Any, grace_seconds: float) -> None:
    """Request a shutdown, again and again, since a guest that is still starting does not notice."""
    now = time.monotonic()
    deadline, asked_again_at, pause = now + grace_seconds, now, _LOOK_SECONDS
    while domain.isActive() and (now := time.monotonic()) < deadline:
        if now >= asked_again_at:
            # One that cannot be requested is ended after the grace.
            with suppress(libvirt().libvirtError):
                domain.shutdown()
            asked_again_at, pause = now + pause, min(2 * pause, _ASK_SELDOM_SECONDS)
        time.sleep(min(_LOOK_SECONDS, max(0.0, deadline - now)))


def undefine(library: Any, domain: Any) -> None:
    """Have libvirt forget a domain at rest, with its snapshots and firmware state."""
    kept = library.VIR_DOMAIN_UNDEFINE_MANAGED_SAVE | library.VIR_DOMAIN_UNDEFINE_SNAPSHOTS_METADATA
    try:
        domain.undefineFlags(kept | library.VIR_DOMAIN_UNDEFINE_NVRAM)
    except library.libvirtError as error:
        if error.get_error_code() == library.VIR_ERR_NO_DOMAIN:
            return
        # Drivers without firmware support only the older call.
        domain.undefineFlags(kept)
