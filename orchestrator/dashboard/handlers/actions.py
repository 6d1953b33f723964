"""Handlers of operators' actions on stacks, and of the data that a page needs to offer them."""

from functools import partial
from http import HTTPStatus
from typing import Any, Final

from tornado.web import url

from orchestrator.dashboard.access import ACTIONS
from orchestrator.dashboard.fitness import Situation, unfit
from orchestrator.dashboard.handlers.base import DataHandler, http_error
from orchestrator.dashboard.handlers.ordering import OrderHandler
from orchestrator.dashboard.orders import carry_out, check_order, read_order
from orchestrator.errors import IsothermError
from orchestrator.model.breakpoints import UNSET_HOOK
from orchestrator.queries.breakpoints import hook_view
from orchestrator.views.times import iso


async def look_at(handler: DataHandler, name: str) -> Situation:
    """Return a stack, its resources that are held at hooks, and its snapshots."""
    store, project = handler.application.store, handler.observer.settings.project

    def look() -> Situation:
        # A deleted stack is found too: its actions are refused with that reason.
        stack = store.past.stack(name, project=project)
        return Situation(
            stack=stack,
            hooks=[hook_view(each) for each in store.breakpoints.standing(stack.id)],
            snapshots=store.snapshots.all(stack.id),
        )

    return await handler.fetch(look)


class Offers(DataHandler):
    """The actions that a stack's state and the visitor's role allow."""

    async def get(self, name: str) -> None:
        """Send for each action why it is refused and why it is pointless, if so; hooks and snapshots too."""
        situation = await look_at(self, name)
        stack = situation.stack
        self.answer(
            {
                **self.powers(stack.name),
                "possible": self.application.mode.actions or self.application.mode.embedded,
                "unfit": {action: unfit(action, situation) for action in ACTIONS},
                "stack": stack.name,
                "stack_id": stack.id,
                "traversal_id": stack.traversal_id,
                "state": f"{stack.action}_{stack.status}",
                "hooks": [each.to_dict() for each in situation.hooks],
                # Newest first: it is the one that is wanted most.
                "snapshots": [
                    {"id": each.id, "name": each.name, "created_at": iso(each.created_at)}
                    for each in reversed(situation.restorable)
                ],
            }
        )


class Act(OrderHandler):
    """An order: ``POST`` with a JSON object, as :func:`orchestrator.dashboard.orders.read_order` takes it."""

    async def post(self, name: str, action: str) -> None:
        """Carry the order out, and send its result."""
        result = await self._carry_out(name, action)
        self.audit_log().info("an operator acted on a stack", result=result["message"])
        self.set_status(HTTPStatus.ACCEPTED)
        self.answer(result)

    async def _carry_out(self, name: str, action: str) -> dict[str, object]:
        self.require(action, name)
        self.require_json()
        try:
            order = read_order(action, self.request.body)
            if UNSET_HOOK in (order.details or {}):
                self.require("clear_hook", name)
            # One at a time: the second of two concurrent orders is checked after the first.
            async with self.application.orders_on(order.stack_id):
                check_order(order, await look_at(self, name))
                result: dict[str, Any] = await self.application.act(
                    partial(carry_out, order), self.caller(order.comment)
                )
        except IsothermError as error:
            raise http_error(error) from error
        return result


ROUTES: Final[list[Any]] = [
    url(r"/stack/([^/]+)/actions\.json", Offers, name="stack_actions"),
    url(rf"/stack/([^/]+)/act/({'|'.join(ACTIONS)})", Act, name="stack_act"),
]
