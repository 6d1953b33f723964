"""The door: the service of each project, on one connection to the state of record."""

from collections.abc import Mapping
from typing import TYPE_CHECKING, Final, Self

import falcon

from orchestrator.api.addresses import Addresses
from orchestrator.api.recent_errors import RecentErrors
from orchestrator.config.access_policy import load_policy
from orchestrator.config.logger import get_logger
from orchestrator.config.settings import Settings
from orchestrator.errors import NotAllowed, NotFound, Unavailable, cut
from orchestrator.model.audit import AuditEntry
from orchestrator.model.ec2_signatures import SignedRequest, SignedResource
from orchestrator.model.identity import EVERY_PROJECT, Caller, Identity
from orchestrator.model.names import is_name
from orchestrator.model.policy import Policy
from orchestrator.model.signed_signals import QUERY_EXPIRES, QUERY_SIGNATURE
from orchestrator.processes.registration import Registration
from orchestrator.processes.runtime import process_name
from orchestrator.service import Service
from orchestrator.store.installation.processes import API
from orchestrator.store.retrying import impatient
from orchestrator.tracing.switch import tracing_of
from orchestrator.tracing.tracer import OFF, Tracing
from orchestrator.views.stacks import StackView

# Of what is only used where it is set.
if TYPE_CHECKING:
    from orchestrator.api.rate_limits import RequestLimit

log = get_logger()

#: How long an answer waits, while the database is away, for the record of its refusal.
RECORD_SECONDS: Final = 3.0


class Door:
    """Gives a request the service of its project, if the caller's role allows the operation."""

    def __init__(
        self,
        service: Service,
        policy: Policy,
        *,
        behind_proxy: bool = False,
        limit: "RequestLimit | None" = None,
    ) -> None:
        self._whole, self._policy, self._behind_proxy = service, policy, behind_proxy
        self._limit = limit
        #: The tracer of requests, once the door is started.
        self.tracing: Tracing = OFF
        #: The last errors of this process.
        self.errors = RecentErrors()
        self._attendance: Registration | None = None

    @classmethod
    def open(cls, settings: Settings, *, behind_proxy: bool = False) -> Self:
        """Connect as :meth:`orchestrator.service.Service.open` does.

        Raises:
            Unavailable: the database cannot be reached, or has another schema than this version needs.
            InvalidInput: a setting is wrong.
        """
        policy, limit = load_policy(settings), None
        if settings.api_requests_per_minute:
            from orchestrator.api.rate_limits import RequestLimit

            limit = RequestLimit.of(settings)
        return cls(Service.open(settings), policy, behind_proxy=behind_proxy, limit=limit)

    def start(self) -> None:
        """Begin as :meth:`orchestrator.service.Service.start` does.

        Raises:
            IsothermError: as there.
        """
        self._whole.start()
        self.tracing = tracing_of(self.settings, process_name(API))
        self._whole.trace_with(self.tracing)

    def attend(self, address: str) -> None:
        """Report from now on that this process serves the API at an address, with its last errors."""
        self._attendance = self._whole.registration(
            kind=API, name=process_name(API), address=address, errors=self.errors.lines
        )
        self._attendance.begin()

    def close(self) -> None:
        """Wait for the steps under way, report the end, export the last spans, and close the store."""
        if self._attendance is not None:
            self._attendance.end()
        self.tracing.close()
        self._whole.close()

    @property
    def settings(self) -> Settings:
        """The settings of the process."""
        return self._whole.settings

    def may_see_metrics(self, identity: Identity) -> bool:
        """Return whether a caller may see metrics: as in the dashboard, by the role in the settings' project."""
        return self._policy.allows(identity, "flower.read", self.settings.project)

    def reach(self) -> None:
        """Return if the database answers.

        Raises:
            Unavailable: it does not.
        """
        self._whole.observer.moment()

    def admit(self, project: str) -> None:
        """Count a request of a project, by a caller with a role in it or at a signed address.

        Raises:
            Refused: the project has sent too many.
        """
        if self._limit is not None:
            self._limit.require(project)

    def service(self, request: falcon.Request, operation: str, *, rule: str = "") -> Service:
        """Return the service of the request's project.

        Raises:
            NotAllowed: the caller's role does not allow the operation there.
        """
        self.require(request, operation, rule=rule)
        return self._whole.of_project(request.context.project)

    def require(self, request: falcon.Request, operation: str, *, rule: str = "") -> None:
        """Require that the caller may do an operation in the request's project; a refusal goes on record.

        By the caller's role; where rules of ``oslo.policy`` decide, by the rule of the request, or another ``rule``.

        Raises:
            NotAllowed: it does not.
        """
        try:
            self._require(request, operation, rule)
        except NotAllowed as error:
            self.record_refusal(request, request.context.caller, operation, str(error))
            raise

    def allows(self, request: falcon.Request, operation: str, *, rule: str) -> bool:
        """Return whether the caller may do an operation, as for :meth:`require`; nothing goes on record."""
        try:
            self._require(request, operation, rule)
        except NotAllowed:
            return False
        return True

    def _require(self, request: falcon.Request, operation: str, rule: str) -> None:
        context = request.context
        caller: Caller = context.caller
        if context.rules is None:
            self._policy.require(caller.identity, operation, context.project)
        elif not context.rules.allows(rule or context.rule, request.env, context.project):
            raise NotAllowed(f"the policy {rule or context.rule} does not allow this")

    def record_refusal(self, request: falcon.Request, who: Caller, action: str, why: str) -> None:
        """Record a refusal in the audit log; without a database, in the log."""
        project = getattr(request.context, "project", "")
        target = f"{request.method} {request.path}"
        entry = AuditEntry.of(who, action, project=project, target=target, refused=why)
        try:
            with impatient(RECORD_SECONDS):
                self._whole.record_refusal(entry)
        except Unavailable as error:
            log.error("not in the audit log", action=action, user=entry.user, error=str(error))

    def signed_service(self, request: falcon.Request, path: Mapping[str, str]) -> Service | None:
        """Return the service for a request whose address is signed for a signal; None if it is not.

        A stack that does not exist, or has no such resource, is told by nothing.

        Raises:
            Refused: the project has sent too many requests.
        """
        service = self._whole.of_project(request.context.project)
        given = {name: request.get_param(name) or "" for name in (QUERY_EXPIRES, QUERY_SIGNATURE)}
        try:
            is_signed = service.keys.has_signed_address(
                path["stack_id"],
                path["resource"],
                expires=given[QUERY_EXPIRES],
                signature=given[QUERY_SIGNATURE],
            )
        except NotFound:
            is_signed = False
        if not is_signed:
            why = "the signature of the address is wrong, or has expired"
            self.record_refusal(request, request.context.caller, "stack.signal", why)
            return None
        # Who guesses signatures does not use up what the project may send.
        self.admit(request.context.project)
        return service

    def signed_by_key(self, request: SignedRequest, *, timed: bool) -> tuple[Service, SignedResource] | None:
        """Return the service for a request that is signed with a resource's key, and the resource; None if it is not.

        A stack that does not exist, or has no such resource, is told by nothing.

        Raises:
            Refused: the project has sent too many requests.
        """
        named = SignedResource.of(request.access_key)
        if named is None or not is_name(named.project) or named.project == EVERY_PROJECT:
            return None
        service = self._whole.of_project(named.project)
        try:
            is_signed = service.keys.has_signed_request(named.stack_id, named.resource, request, timed=timed)
        except NotFound:
            return None
        if not is_signed:
            return None
        self.admit(named.project)
        return service, named

    def stack(
        self, request: falcon.Request, operation: str, path: Mapping[str, str], *, rule: str = ""
    ) -> tuple[Service, StackView]:
        """Return the service of the request's project, and the stack at a canonical address, without its definition.

        ``path`` has the parts of the address by name. The stack may be deleted.

        Raises:
            NotFound: there is no such stack, or it has another name.
            NotAllowed: as :meth:`service`.
        """
        service = self.service(request, operation, rule=rule)
        name, stack_id = path["name"], path["stack_id"]
        found = service.head(stack_id)
        if found.name != name or found.id != stack_id:
            raise NotFound(f"there is no stack {cut(name)!r} with the id {cut(stack_id)!r}")
        return service, found

    def living_stack(
        self, request: falcon.Request, operation: str, path: Mapping[str, str], *, rule: str = ""
    ) -> tuple[Service, StackView]:
        """Return the same of a stack that is not deleted.

        Raises:
            NotFound: it is deleted, or as :meth:`stack`.
            NotAllowed: as :meth:`service`.
        """
        service, found = self.stack(request, operation, path, rule=rule)
        if found.deleted_at is not None:
            raise NotFound(f"stack {found.name!r} with the id {found.id!r} is deleted")
        return service, found

    def addresses(self, request: falcon.Request) -> Addresses:
        """Return the addresses of the request's project, as the client reaches them."""
        prefix = request.forwarded_prefix if self._behind_proxy else request.prefix
        return Addresses(prefix, request.context.project)
