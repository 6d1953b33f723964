"""Revocation of delegated credentials that no stack acts by any more, between a coordinator's other work."""

import time
from collections.abc import Callable
from typing import TYPE_CHECKING, Final

from orchestrator.config.logger import get_logger
from orchestrator.errors import typed_message
from orchestrator.plugins.clients import Clients
from orchestrator.store.store import Store

if TYPE_CHECKING:
    from orchestrator.store.installation.credentials import DelegatedCredential

log = get_logger()

#: A process looks no more often than this.
LOOK_SECONDS: Final = 5.0


class Revocation:
    """Revokes what is unused in the system that it is for, then removes it. Safe to repeat, by any coordinator."""

    def __init__(
        self, store: Store, clients: Clients, *, clock: Callable[[], float] = time.monotonic
    ) -> None:
        """``clock`` is monotonic, in seconds."""
        self._store, self._clients, self._clock = store, clients, clock
        # Not at once: most commands are over by then.
        self._look_at = clock() + LOOK_SECONDS

    def go_on(self) -> None:
        """Revoke what is unused, if it is time to look. Errors are logged; the next look tries again."""
        if self._clock() < self._look_at:
            return
        self._look_at = self._clock() + LOOK_SECONDS
        for credential in self._store.credentials.perhaps_unused():
            try:
                if not self._is_used(credential):
                    self._revoke(credential)
            except Exception as error:  # noqa: BLE001  # the boundary to plugins
                log.warning(
                    "a credential could not be revoked; it is tried again",
                    credential=credential.id,
                    project=credential.project,
                    reason=typed_message(error),
                )

    def _is_used(self, credential: "DelegatedCredential") -> bool:
        stack = self._store.stacks.by_id(credential.stack_id) if credential.stack_id else None
        if stack is None or stack.deleted_at is not None:
            return False
        if stack.status == "IN_PROGRESS":
            return True
        return self._store.traversals.context(stack.traversal_id).get("credential") == credential.id

    def _revoke(self, credential: "DelegatedCredential") -> None:
        client = self._clients.of(credential.project, credential.id).get(credential.client)
        client.revoke()
        self._store.credentials.remove(credential.id)
        self._clients.drop(credential.project, credential.id)
        log.info("a credential was revoked", credential=credential.id, stack_id=credential.stack_id)
