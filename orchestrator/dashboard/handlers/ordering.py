"""Base of the handlers that change stacks: the role they need, the type of their body, and what is logged."""

from http import HTTPStatus
from typing import Any

from tornado.web import HTTPError

from orchestrator.config.logger import get_logger
from orchestrator.dashboard.access import OPERATIONS, refusal
from orchestrator.dashboard.handlers.base import DataHandler
from orchestrator.model.identity import Caller

log = get_logger()


class OrderHandler(DataHandler):
    """An order of an operator, sent by ``POST`` as JSON."""

    def target(self) -> tuple[str, str]:
        """Return the stack's name, as the address has it, and the action."""
        name, action = self.path_args
        return name, action

    def log_exception(self, kind: Any, error: BaseException | None, trace: Any) -> None:
        """Log a refusal, also one before the order was read: of an unknown user, or without a token."""
        if isinstance(error, HTTPError):
            self.log_refusal(error.status_code, self.sentence_of(error.status_code, error))
        else:
            super().log_exception(kind, error, trace)

    def log_refusal(self, code: int, why: str) -> None:
        """Log that an order was refused."""
        self.audit_log().warning("an action on a stack was refused", code=int(code), why=why)

    def audit_log(self) -> Any:
        """Return a log that says who orders what."""
        name, action = self.target()
        try:
            who = self.visitor.name or None
        except HTTPError:
            who = None
        return log.bind(action=action, stack=name, who=who, address=self.request.remote_ip)

    def caller(self, comment: str = "") -> Caller:
        """Return who orders it, and why."""
        identity = self.visitor.identity(self.application.mode)
        return Caller(identity=identity, origin=f"dashboard, {self.request.remote_ip}", comment=comment)

    def require(self, action: str, name: str) -> None:
        """Require that the visitor may do it.

        Raises:
            HTTPError: they may not.
        """
        refused = refusal(self.application.mode, self.visitor, action, name)
        if refused:
            self.application.record(self.caller().identity, OPERATIONS[action], self.request, refused)
            raise HTTPError(refused.status, "%s", refused.sentence)

    def require_json(self) -> None:
        """Require that the body is sent as JSON, which a form of another site cannot do.

        Raises:
            HTTPError: it is sent as something else.
        """
        # Protects browsers that send no Origin.
        if self.request.headers.get("Content-Type", "").partition(";")[0].strip() != "application/json":
            message = "an order is sent as application/json"
            raise HTTPError(HTTPStatus.UNSUPPORTED_MEDIA_TYPE, "%s", message)
