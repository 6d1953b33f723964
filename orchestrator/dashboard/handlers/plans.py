"""Handlers of saved plans: a plan's file is shown, applied, or made of a deletion."""

from functools import partial
from http import HTTPStatus
from typing import Any, Final

from tornado.web import HTTPError, url

from orchestrator.dashboard.access import refusal
from orchestrator.dashboard.bodies import read_object, unknown
from orchestrator.dashboard.handlers.base import PageHandler, http_error
from orchestrator.dashboard.handlers.ordering import OrderHandler
from orchestrator.dashboard.handlers.stack import head_of
from orchestrator.dashboard.plans import ACTION_OF, PlanOrder, apply, deletion, read_plan_order, shown
from orchestrator.engine.stack_plans import StackPlan
from orchestrator.errors import InvalidInput, IsothermError
from orchestrator.service import Service

#: How much of a body is left for what comes beside a plan.
_REST_BYTES: Final = 8 * 1024


class PlanHandler(OrderHandler):
    """An order about a saved plan."""

    #: The stack of the plan, once it is read.
    named = ""

    def target(self) -> tuple[str, str]:
        """Return the stack of the plan, empty until it is read, and the action."""
        return self.named, "apply"

    def read(self, *, applies: bool) -> PlanOrder:
        """Return what was sent.

        Raises:
            InvalidInput: it is malformed.
        """
        most_bytes = self.application.options.max_body_bytes
        return read_plan_order(self.request.body, applies=applies, most_bytes=most_bytes)

    def refused(self, plan: StackPlan) -> str:
        """Return why the visitor may not apply a plan; empty if they may."""
        actions = [ACTION_OF[plan.view.action]]
        if "stack.unprotect" in plan.job.operations:
            actions.append("unprotect")
        found = (refusal(self.application.mode, self.visitor, action, plan.view.stack) for action in actions)
        return next((each.sentence for each in found if each), "")


class Show(PlanHandler):
    """A plan as it was made, why it cannot be applied now, and why the visitor may not, if so."""

    operation = "stack.preview"

    async def post(self) -> None:
        """Send it.

        Raises:
            HTTPError: it is no plan of this project, or the visitor is not known: a plan has values.
        """
        if not self.visitor.sees_values:
            why = "a plan has values of properties, which only visitors see who have logged in"
            raise HTTPError(HTTPStatus.FORBIDDEN, "%s", why)
        self.require_json()
        service: Service = self.application.service

        def look() -> dict[str, Any]:
            plan = service.plans.read(self.read(applies=False).content)
            return {**shown(plan, service), "refused": self.refused(plan)}

        self.answer(await self.fetch(look))


class Apply(PlanHandler):
    """An order to apply a plan: ``POST`` as :func:`orchestrator.dashboard.plans.read_plan_order` takes it."""

    async def post(self) -> None:
        """Carry it out, and send its result."""
        self._require_any()
        self.require_json()
        try:
            order = self.read(applies=True)
            service: Service = self.application.service
            plan = await self.fetch(lambda: service.plans.read(order.content))
            self.named = plan.view.stack
            self.require(ACTION_OF[plan.view.action], self.named)
            if "stack.unprotect" in plan.job.operations:
                self.require("unprotect", self.named)
            # One at a time: the second of two concurrent orders is checked after the first.
            async with self.application.orders_on(plan.view.stack_id or plan.view.id):
                result: dict[str, Any] = await self.application.act(
                    partial(apply, plan, order), self.caller(order.comment)
                )
        except IsothermError as error:
            raise http_error(error) from error
        self.audit_log().info("an operator acted on a stack", result=result["message"], plan=plan.view.id)
        self.set_status(HTTPStatus.ACCEPTED)
        self.answer(result)

    def _require_any(self) -> None:
        """Require that there is something that the visitor may do, before a plan is read for them.

        Raises:
            HTTPError: there is nothing.
        """
        actions = list(ACTION_OF.values())
        if all(refusal(self.application.mode, self.visitor, each) for each in actions):
            self.require("update", "")


class PlanDeletion(OrderHandler):
    """The file of the plan of a stack's deletion: ``POST`` with an empty JSON object."""

    def target(self) -> tuple[str, str]:
        """Return the stack's name, as the address has it, and the action."""
        return self.path_args[0], "plan_deletion"

    async def post(self, name: str) -> None:
        """Make the plan, and send its file."""
        self.require("delete", name)
        self.require_json()
        try:
            if problems := unknown(read_object(self.request.body), ()):
                raise InvalidInput(problems)
            result: dict[str, str] = await self.application.act(partial(deletion, name), self.caller())
        except IsothermError as error:
            raise http_error(error) from error
        self.answer(result)


class PlansPage(PageHandler):
    """Where a plan is looked at and applied; of a stack, where that of its deletion is made, too."""

    async def get(self, name: str = "") -> None:
        """Show it, also to visitors who may not apply one: with the reason, once they look at a plan."""
        head = await head_of(self, name, "") if name else None
        stack = head.operation.stack if head else ""
        refused = refusal(self.application.mode, self.visitor, "delete", stack) if head else None
        most = (self.application.options.max_body_bytes - _REST_BYTES) * 3 // 4
        self.page("plans.html", head=head, refused=refused.sentence if refused else "", most=most)


ROUTES: Final[list[Any]] = [
    url(r"/stacks/plans", PlansPage, name="stacks_plans"),
    url(r"/stack/([^/]+)/plans", PlansPage, name="stack_plans"),
    url(r"/stacks/act/plan/show", Show, name="show_plan"),
    url(r"/stacks/act/plan/apply", Apply, name="apply_plan"),
    url(r"/stack/([^/]+)/act/plan_deletion", PlanDeletion, name="plan_deletion"),
]
