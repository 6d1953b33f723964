"""Handlers of operators' actions on stacks, and of the data that a page needs to offer them."""

from functools import partial
from http import HTTPStatus
from typing import Any, Final

import structlog
from tornado.web import HTTPError, url

from orchestrator.dashboard.access import ACTIONS, OPERATIONS, refusal
from orchestrator.dashboard.handlers.base import DataHandler, http_error
from orchestrator.dashboard.orders import carry_out, check_order, read_order, unfit
from orchestrator.errors import IsothermError
from orchestrator.model.breakpoints import UNSET_HOOK
from orchestrator.model.identity import Caller
from orchestrator.queries.breakpoints import hook_view
from orchestrator.store.stacks.stacks import StackRow
from orchestrator.views.stacks import HookView

log = structlog.get_logger()


async def _look(handler: DataHandler, name: str) -> tuple[StackRow, list[HookView]]:
    """Return a stack, and its resources that are held at hooks."""
    store, project = handler.application.store, handler.observer.settings.project

    def look() -> tuple[StackRow, list[HookView]]:
        # A deleted stack is found too: its actions are refused with that reason.
        stack = store.past.stack(name, project=project)
        return stack, [hook_view(each) for each in store.breakpoints.standing(stack.id)]

    return await handler.fetch(look)


class Offers(DataHandler):
    """The actions that a stack's state and the visitor's role allow."""

    async def get(self, name: str) -> None:
        """Send for each action why it is refused and why it is pointless, if so; and the hooks."""
        stack, hooks = await _look(self, name)
        self.answer(
            {
                **self.powers(stack.name),
                "possible": self.application.mode.actions or self.application.mode.embedded,
                "unfit": {action: unfit(action, stack, hooks) for action in ACTIONS},
                "stack": stack.name,
                "stack_id": stack.id,
                "traversal_id": stack.traversal_id,
                "state": f"{stack.action}_{stack.status}",
                "hooks": [each.to_dict() for each in hooks],
            }
        )


class Act(DataHandler):
    """An order: ``POST`` with a JSON object, as :func:`orchestrator.dashboard.orders.read_order` takes it."""

    async def post(self, name: str, action: str) -> None:
        """Carry the order out, and send its result."""
        result = await self._carry_out(name, action)
        self._audit_log().info("an operator acted on a stack", result=result["message"])
        self.set_status(HTTPStatus.ACCEPTED)
        self.answer(result)

    def log_exception(self, kind: Any, error: BaseException | None, trace: Any) -> None:
        """Log a refusal, also one before the order was read: of an unknown user, or without a token."""
        if isinstance(error, HTTPError):
            why = self.sentence_of(error.status_code, error)
            self._audit_log().warning(
                "an action on a stack was refused", code=int(error.status_code), why=why
            )
        else:
            super().log_exception(kind, error, trace)

    def _audit_log(self) -> Any:
        name, action = self.path_args
        try:
            who = self.visitor.name or None
        except HTTPError:
            who = None
        return log.bind(action=action, stack=name, who=who, address=self.request.remote_ip)

    def _caller(self) -> Caller:
        identity = self.visitor.identity(self.application.mode)
        return Caller(identity=identity, origin=f"dashboard, {self.request.remote_ip}")

    def _require(self, action: str, name: str) -> None:
        refused = refusal(self.application.mode, self.visitor, action, name)
        if refused:
            self.application.record(self._caller().identity, OPERATIONS[action], self.request, refused)
            raise HTTPError(refused.status, "%s", refused.sentence)

    async def _carry_out(self, name: str, action: str) -> dict[str, object]:
        self._require(action, name)
        if self.request.headers.get("Content-Type", "").partition(";")[0].strip() != "application/json":
            # A form of another site cannot send this type: protects browsers that send no Origin.
            message = "an order is sent as application/json"
            raise HTTPError(HTTPStatus.UNSUPPORTED_MEDIA_TYPE, "%s", message)
        try:
            order = read_order(action, self.request.body)
            if UNSET_HOOK in (order.details or {}):
                self._require("clear_hook", name)
            # One at a time: the second of two concurrent orders is checked after the first.
            async with self.application.orders_on(order.stack_id):
                stack, hooks = await _look(self, name)
                check_order(order, stack, hooks)
                result: dict[str, Any] = await self.application.act(partial(carry_out, order), self._caller())
        except IsothermError as error:
            raise http_error(error) from error
        return result


ROUTES: Final[list[Any]] = [
    url(r"/stack/([^/]+)/actions\.json", Offers, name="stack_actions"),
    url(rf"/stack/([^/]+)/act/({'|'.join(ACTIONS)})", Act, name="stack_act"),
]
