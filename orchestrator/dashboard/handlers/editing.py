"""Handlers of the editor: a draft of a stack's definition is validated, previewed, and carried out."""

from functools import partial
from http import HTTPStatus
from typing import Any, Final

from tornado.web import url

from orchestrator.dashboard.access import refusal
from orchestrator.dashboard.drafts import (
    Draft,
    check_draft,
    creation,
    importing,
    judged,
    plan_of,
    problems_shown,
    read_draft,
    update,
)
from orchestrator.dashboard.handlers.actions import look_at
from orchestrator.dashboard.handlers.base import PageHandler, http_error
from orchestrator.dashboard.handlers.ordering import OrderHandler
from orchestrator.dashboard.handlers.stack import head_of
from orchestrator.dashboard.orders import came
from orchestrator.dashboard.plans import filed
from orchestrator.errors import InvalidInput, IsothermError
from orchestrator.model.messages import StackJob
from orchestrator.service import Service

#: The steps of an import.
_IMPORTS: Final = ("import_preview", "import")


def _carry_out(step: str, draft: Draft, service: Service) -> dict[str, Any]:
    """Return the result of a step with a draft: ``validate``, ``preview``, ``plan``, ``create``, ``update``...

    ``import_preview`` and ``import`` are about the draft's objects.
    """
    settings = service.settings
    if step in _IMPORTS:
        taking = importing(draft, service.definition(draft.stack_id), settings)
        if step == "import_preview":
            return plan_of(service.imports.plan(taking))
        return came(f"objects are taken into {draft.name}", service.import_objects(taking))
    job = (
        update(draft, service.definition(draft.stack_id), settings)
        if draft.stack_id
        else creation(draft, settings)
    )
    if step == "validate":
        return judged(job, settings)
    if step == "preview":
        return plan_of(service.plan_update(job) if draft.stack_id else service.preview(job))
    if step == "plan":
        plans = service.plans
        return filed(plans.of_update(job) if draft.stack_id else plans.of_create(job), service)
    return _begun(job, draft, service)


def _begun(job: StackJob, draft: Draft, service: Service) -> dict[str, Any]:
    if draft.stack_id:
        return came(f"{draft.name} is being updated", service.update(job))
    return came(f"{draft.name} is being created", service.create(job))


class Editing(OrderHandler):
    """A step with a draft, ``POST`` with a JSON object as :func:`orchestrator.dashboard.drafts.read_draft` takes it.

    Who may not create or update may not validate or preview here either: both take the engine's time.
    """

    #: The name in the draft, once it is read.
    named = ""

    async def _answer(self, step: str, name: str) -> None:
        action = ("import" if step in _IMPORTS else "update") if name else "create"
        self.require(action, name)
        self.require_json()
        draft = None
        try:
            draft = read_draft(self.request.body, updates=bool(name), imports=action == "import")
            self.named = draft.name
            result = await self._result(step, name, draft)
        except InvalidInput as error:
            # A validation that finds problems in a draft did what it should.
            if draft is None or step != "validate":
                self.set_status(HTTPStatus.BAD_REQUEST)
            if step == action:
                self.log_refusal(HTTPStatus.BAD_REQUEST, str(error))
            # Beside the sentence of every error, its problems with their places.
            self.answer({"error": str(error), "problems": problems_shown(error.problems)})
            return
        except IsothermError as error:
            raise http_error(error) from error
        if step == action:
            self.audit_log().info("an operator acted on a stack", result=result["message"])
            self.set_status(HTTPStatus.ACCEPTED)
        self.answer(result)

    async def _result(self, step: str, name: str, draft: Draft) -> dict[str, Any]:
        deed = partial(_carry_out, step, draft)
        if not name:
            result: dict[str, Any] = await self.application.act(deed, self.caller(draft.comment))
            return result
        # One at a time: the second of two concurrent orders is checked after the first.
        async with self.application.orders_on(draft.stack_id):
            check_draft(draft, (await look_at(self, name)).stack)
            changed: dict[str, Any] = await self.application.act(deed, self.caller(draft.comment))
        return changed


class Create(Editing):
    """A draft of a new stack."""

    def target(self) -> tuple[str, str]:
        """Return the name in the draft, empty until it is read, and the step."""
        return self.named, self.path_args[0]

    async def post(self, step: str) -> None:
        """Carry the step out, and send its result."""
        await self._answer(step, "")


class Update(Editing):
    """A draft of another definition of a stack."""

    async def post(self, name: str, step: str) -> None:
        """Carry the step out, and send its result."""
        await self._answer(step, name)


class NewPage(PageHandler):
    """The editor of a new stack."""

    async def get(self) -> None:
        """Show it, also to visitors who may not create one: with the reason."""
        refused = refusal(self.application.mode, self.visitor, "create")
        self.page("edit.html", head=None, present=None, refused=refused.sentence if refused else "")


class EditPage(PageHandler):
    """The editor of a stack's definition."""

    async def get(self, name: str) -> None:
        """Show it, also to visitors who may not update the stack: with the reason."""
        head = await head_of(self, name, "")
        refused = refusal(self.application.mode, self.visitor, "update", head.operation.stack)
        present = (await look_at(self, head.operation.stack_id)).stack
        self.page("edit.html", head=head, present=present, refused=refused.sentence if refused else "")


ROUTES: Final[list[Any]] = [
    url(r"/stacks/new", NewPage, name="new_stack"),
    url(r"/stack/([^/]+)/edit", EditPage, name="edit_stack"),
    url(r"/stacks/act/(validate|preview|plan|create)", Create, name="new_stack_act"),
    url(
        r"/stack/([^/]+)/act/(validate|preview|plan|update|import_preview|import)",
        Update,
        name="edit_stack_act",
    ),
]
