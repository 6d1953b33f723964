"""The keys of resources: what is signed with them, and with which of them a server polls its metadata."""

from collections.abc import Callable

from orchestrator.config.settings import Settings
from orchestrator.model.collectors import POLLED, Collector
from orchestrator.model.ec2_signatures import SignedRequest
from orchestrator.model.signed_signals import is_genuine
from orchestrator.store.stacks.stacks import StackRow
from orchestrator.store.store import Store
from orchestrator.views.stacks import StackView


class ResourceKeys:
    """The keys of the resources of the settings' project; ``find`` returns a stack by name or id.

    Stacks and resources that do not exist raise NotFound.
    """

    def __init__(self, settings: Settings, store: Store, find: Callable[[str], StackRow]) -> None:
        self._settings, self._store, self._find = settings, store, find

    def has_signed_address(self, name: str, resource: str, *, expires: str, signature: str) -> bool:
        """Return whether an address that signals a resource is signed with its key, and has not expired."""
        stack = self._find(name)
        row = self._store.stacks.addressed(stack.id, resource)
        now = self._store.database.time()
        return is_genuine(
            row.data,
            stack_id=row.made_stack_id or row.stack_id,
            resource=row.made_as,
            expires=expires,
            signature=signature,
            now=now,
        )

    def has_signed_request(self, name: str, resource: str, request: SignedRequest, *, timed: bool) -> bool:
        """Return whether a request is signed with the secret access key of a resource; ``timed`` as there."""
        stack = self._find(name)
        row = self._store.stacks.addressed(stack.id, resource)
        is_gone = stack.deleted_at is not None or row.action == "DELETE"
        return not is_gone and request.is_genuine(row.data, now=self._store.database.time(), timed=timed)

    def collector(self, stack: StackView, resource: str) -> Collector | None:
        """Return with what a server of a stack polls its metadata; None if the resource is none that does."""
        row = self._store.stacks.addressed(stack.id, resource)
        if not row.data.get(POLLED):
            return None
        return Collector.of(
            self._settings.api_url,
            row.data,
            project=self._settings.project,
            stack=stack.name,
            stack_id=stack.id,
            resource=resource,
        )
