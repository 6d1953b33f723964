"""What operators do to stacks, and what a page needs to offer it."""

from functools import partial
from http import HTTPStatus
from typing import Any, Final

import structlog
from tornado.web import HTTPError, url

from orchestrator.dashboard.access import ACTIONS, refusal
from orchestrator.dashboard.handlers.base import DataHandler, told
from orchestrator.dashboard.orders import carry_out, check_order, read_order, unfit
from orchestrator.errors import IsothermError
from orchestrator.queries.breakpoints import hook_view
from orchestrator.store.stacks.stacks import StackRow
from orchestrator.store.store import Store
from orchestrator.views.stacks import HookView

log = structlog.get_logger()


class ActionHandler(DataHandler):
    """Reads what is to be acted on."""

    async def look(self, name: str) -> tuple[StackRow, list[HookView]]:
        """Return a stack, and where its resources stand at hooks."""
        return await self.ask(partial(_look, self.application.store, name, self.observer.settings.project))


class Offers(ActionHandler):
    """What may be done to a stack now, and by this visitor."""

    async def get(self, name: str) -> None:
        """Send for each action why it may not be done, and why it would have no point; and the hooks."""
        stack, hooks = await self.look(name)
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


class Act(ActionHandler):
    """An order: ``POST`` with a JSON object, as :func:`orchestrator.dashboard.orders.read_order` takes it."""

    async def post(self, name: str, action: str) -> None:
        """Carry it out, and say what came of it."""
        came = await self._carry_out(name, action)
        self._noted().info("an operator acted on a stack", came=came["message"])
        self.set_status(HTTPStatus.ACCEPTED)
        self.answer(came)

    def log_exception(self, kind: Any, error: BaseException | None, trace: Any) -> None:
        """Note a refusal, also one from before anything was looked at: of nobody who is known, or without a token."""
        if isinstance(error, HTTPError):
            why = self.sentence_of(error.status_code, error)
            self._noted().warning("an action on a stack was refused", code=int(error.status_code), why=why)
        else:
            super().log_exception(kind, error, trace)

    def _noted(self) -> Any:
        name, action = self.path_args
        try:
            who = self.visitor.name or None
        except HTTPError:
            who = None
        return log.bind(action=action, stack=name, who=who, address=self.request.remote_ip)

    async def _carry_out(self, name: str, action: str) -> dict[str, Any]:
        refused = refusal(self.application.mode, self.visitor, action, name)
        if refused:
            raise HTTPError(refused.status, "%s", refused.sentence)
        if self.request.headers.get("Content-Type", "").partition(";")[0].strip() != "application/json":
            # No form of another site can send that, also not from a browser that tells of no other site.
            message = "an order is sent as application/json"
            raise HTTPError(HTTPStatus.UNSUPPORTED_MEDIA_TYPE, "%s", message)
        try:
            order = read_order(action, self.request.body)
            # One at a time: what is ordered twice at once is looked at again after the first.
            async with self.application.orders_on(order.stack_id):
                stack, hooks = await self.look(name)
                check_order(order, stack, hooks)
                came: dict[str, Any] = await self.application.act(partial(carry_out, order))
        except IsothermError as error:
            raise told(error) from error
        return came


def _look(store: Store, name: str, project: str) -> tuple[StackRow, list[HookView]]:
    # A deleted one, too: of that it is said that there is nothing more to do.
    stack = store.past.stack(name, project=project)
    return stack, [hook_view(each) for each in store.breakpoints.standing(stack.id)]


ROUTES: Final[list[Any]] = [
    url(r"/stack/([^/]+)/actions\.json", Offers, name="stack_actions"),
    url(rf"/stack/([^/]+)/act/({'|'.join(ACTIONS)})", Act, name="stack_act"),
]
