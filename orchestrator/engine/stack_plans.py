"""Stack plans: make the plan of a create, an update or a delete, write it to a file's content, and read it again.

A plan is bound to the state of its stack (:mod:`orchestrator.model.plan_binding`). A coordinator verifies that when the
plan is applied (:mod:`orchestrator.engine.applied_plan`).
"""

import base64
import time
import uuid
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, Final

import msgpack

from orchestrator.config.caller import caller
from orchestrator.config.hooks import lifecycle_plugins
from orchestrator.config.settings import Settings
from orchestrator.engine.planned_deletions import PlannedDeletions
from orchestrator.engine.planned_resources import made, planned
from orchestrator.engine.stack_actions import refuse_busy, refuse_nested, refuse_partial
from orchestrator.engine.update_preview import DELETE
from orchestrator.errors import Conflict, InvalidInput, IsothermError, Problem
from orchestrator.keys.plan_seal import PlanKeys, parts_of, require_body
from orchestrator.lifecycle.engine_plugin import joined
from orchestrator.lifecycle.frozen_stacks import stack_shown
from orchestrator.lifecycle.previews import advice_of
from orchestrator.model.codec import Codec, Place
from orchestrator.model.graph import Graph
from orchestrator.model.messages import JOBS, DeleteJob, Job, StackJob, UpdateJob
from orchestrator.model.plan_binding import (
    VERSION,
    PlanBinding,
    UnreadablePlan,
    definition_digest,
    unpacked_map,
)
from orchestrator.placement.joining import engine_of
from orchestrator.planning.decision import Action
from orchestrator.store.stacks.output_readers import sentence_of
from orchestrator.store.stacks.stacks import StackRow
from orchestrator.store.store import Store
from orchestrator.views.plans import PlannedResource, PlanView, counts_of

if TYPE_CHECKING:
    from orchestrator.plugins.clients import Clients

#: The kinds of jobs that can be planned, by the planned action.
_JOBS: Final[Mapping[str, type[Job]]] = {"CREATE": StackJob, "UPDATE": UpdateJob, "DELETE": DeleteJob}


@dataclass(frozen=True, slots=True, kw_only=True)
class StackPlan:
    """A plan: what is shown of it, the job that carries it out, and what it is bound to."""

    view: PlanView
    job: Job
    binding: PlanBinding


class StackPlans:
    """Makes and reads the plans of the settings' project; nothing of a stack is changed."""

    def __init__(
        self,
        settings: Settings,
        store: Store,
        clients: "Callable[[], Clients | None]" = lambda: None,
    ) -> None:
        """Keep the arguments; ``clients`` query other systems for the plan of an update, where they do."""
        self._settings, self._store, self._clients = settings, store, clients

    # -- making ------------------------------------------------------------------------------------------------

    def of_create(self, job: StackJob) -> StackPlan:
        """Return the plan of a create.

        Raises:
            InvalidInput: the job has problems.
            Conflict: a lifecycle plugin would refuse, or the project would have more than a limit allows.
        """
        from orchestrator.engine.stack_preview import preview_job

        refuse_partial(job, "a create")
        preview = preview_job(job, self._settings)
        by_name = {each.name: each for each in preview.resources}
        order = Graph({each.name: frozenset(each.requires) for each in preview.resources}).in_order()
        view = self._view(
            replace(job, tags=job.tags or ()),
            "CREATE",
            resources=[each for name in order for each in made(by_name[name])],
            parameters=preview.parameters,
            tags=preview.tags,
            warnings=preview.warnings,
            annotations=preview.annotations,
        )
        actions = {name: (by_name[name].action,) for name in order}
        return self._bound(view, StackJob.of(job), actions=actions)

    def of_update(self, job: StackJob) -> StackPlan:
        """Return the plan of an update.

        Raises:
            InvalidInput: the job has problems.
            NotFound: there is no such stack.
            Conflict: the stack is busy, being deleted or suspended, or a lifecycle plugin would refuse.
        """
        from orchestrator.engine.update_plan import compared_plan

        stack = self._resting(job.name)
        refuse_busy(self._store, stack, "plan a change of")
        # Before all that is compared: what happens meanwhile makes the plan stale, not wrong.
        rows = self._store.row_marks.of(stack.root_id)
        named = replace(job, name=stack.id)
        plan, compared, inside = compared_plan(
            self._store, stack, named, self._settings, clients=self._clients(), state=_state(stack)
        )
        requires = {each.name: each.requires for each in compared.desired_resources}
        # What is removed, or would be if it were not protected, comes after the desired resources.
        count = len(compared.desired_resources)
        listed, removed = plan.resources[:count], plan.resources[count:]
        names = {row.id: row.name for row in compared.rows}
        dependents = _dependents(
            {row.name: [names.get(each, "") for each in row.requires] for row in compared.rows}
        )
        deletes = tuple(sorted({each.name for each in removed} - requires.keys()))
        # What is made for what is moved into it is there, empty, before its check.
        also = {
            name: (Action.UPDATE.value,)
            for name, match in compared.matches.items()
            if match.row is not None and match.row.id in compared.moved.made
        }
        view = self._view(
            job,
            "UPDATE",
            stack=stack,
            resources=[
                *(
                    part
                    for each in listed
                    for part in (
                        planned(each, after=sorted(requires[each.name])),
                        *inside.of(each),
                    )
                ),
                *(
                    part
                    for each in removed
                    for part in (
                        planned(
                            each, after=[name for name in dependents.get(each.name, ()) if name in deletes]
                        ),
                        *inside.of(each),
                    )
                ),
            ],
            has_changes=plan.has_changes,
            targets=plan.targets,
            replaces=plan.replaces,
            partial=plan.partial,
            parameters=plan.parameters,
            tags=plan.tags,
            warnings=plan.warnings,
            annotations=plan.annotations,
        )
        return self._bound(
            view,
            UpdateJob.of(named),
            rows=rows,
            # What depends on others has what may come of it besides.
            actions={
                each.name: tuple(
                    sorted({each.action, *each.may, *also.get(each.name, ())} - {Action.LATER.value})
                )
                for each in listed
            },
            deletes=deletes,
            moves=dict(compared.moved.paths),
        )

    def of_delete(self, name: str, *, unprotect: bool = False, lists_refused: bool = False) -> StackPlan:
        """Return the plan of a delete; with ``unprotect``, the stack and what is in it may be protected.

        With ``lists_refused``, what is protected is listed as refused in a plan that cannot be applied.

        Raises:
            NotFound: there is no such stack.
            Conflict: the stack is busy, deleted or protected, or a lifecycle plugin would refuse.
        """
        from orchestrator.engine.protection import change_of_delete

        stack = self._resting(name)
        if stack.action != "DELETE":
            refuse_busy(self._store, stack, "plan the deletion of")
        marks = self._store.row_marks.of(stack.root_id)
        rows = {row.id: row for row in self._store.stacks.resources(stack.id)}
        held = self._store.protections.held(stack, list(rows.values()))
        change_of_delete(stack, list(rows.values()), held, unprotect=unprotect or lists_refused)
        held = {} if unprotect else held
        plugins = joined(
            lifecycle_plugins(self._settings),
            engine_of(self._settings, store=lambda: self._store, types=_types),
        )
        shown = stack_shown(self._store, stack, self._settings)
        advice = advice_of(plugins, lambda: shown, shown, DELETE, {row.type for row in rows.values()})
        view = self._view(
            DeleteJob(name=stack.name, project=stack.project, unprotect=unprotect),
            DELETE,
            stack=stack,
            resources=[
                *PlannedDeletions(self._store, stack.root_id).of_rows(stack.id, list(rows.values()), held)
            ],
            tags=tuple(stack.tags),
            warnings=(
                *_protected(stack, unprotect=unprotect),
                *_of_readers(self._store, stack),
                *advice.warnings,
            ),
            annotations=advice.annotations,
        )
        job = DeleteJob(name=stack.id, project=stack.project, unprotect=unprotect)
        return self._bound(view, job, rows=marks, deletes=tuple(sorted({row.name for row in rows.values()})))

    def _resting(self, name: str) -> StackRow:
        stack = self._store.stacks.find(name, project=self._settings.project)
        refuse_nested(stack)
        if stack.deleted_at is not None or (stack.action, stack.status) == ("DELETE", "IN_PROGRESS"):
            raise Conflict(f"stack {stack.name!r} is {_state(stack)}: there is nothing to plan")
        return stack

    def _view(
        self,
        job: Job,
        action: str,
        *,
        resources: list[PlannedResource],
        stack: StackRow | None = None,
        has_changes: bool = True,
        **more: Any,
    ) -> PlanView:
        """Return a plan's document, still without its definition's digest."""
        return PlanView(
            version=VERSION,
            id=str(uuid.uuid4()),
            action=action,
            stack=stack.name if stack else job.name,
            stack_id=stack.id if stack else "",
            traversal_id=stack.traversal_id if stack else "",
            state=_state(stack) if stack else "",
            project=job.project,
            planned_at=time.time(),
            user=caller().identity.user,
            definition="",
            has_changes=has_changes,
            counts=counts_of(resources),
            resources=tuple(resources),
            **more,
        )

    @staticmethod
    def _bound(view: PlanView, job: Job, **more: Any) -> StackPlan:
        view = replace(view, definition=definition_digest(job))
        names = (
            "id",
            "action",
            "project",
            "stack",
            "stack_id",
            "traversal_id",
            "planned_at",
            "user",
            "definition",
        )
        binding = PlanBinding(**{name: getattr(view, name) for name in names}, **more)
        return StackPlan(view=view, job=job, binding=binding)

    # -- files -------------------------------------------------------------------------------------------------

    def packed(self, plan: StackPlan) -> bytes:
        """Return the content of a plan's file, which is signed, and encrypted whatever it holds.

        Raises:
            InvalidInput: there is no key to sign or to encrypt it with.
        """
        keys = PlanKeys(self._settings)
        body = {"document": plan.view.to_wire(), "task": plan.job.task, "job": plan.job.to_wire()}
        encrypted = self._codec(keys).encrypted(msgpack.packb(body), _place(plan.view.id))
        return keys.seal(plan.binding, encrypted, installation=self._installation())

    def read(self, content: bytes, *, file: str = "plan") -> StackPlan:
        """Return the plan in a file's content, with the job that applies it.

        The signature is verified if its key is here; whether it was is in the view.

        Raises:
            InvalidInput: it is no plan of this installation and project, it was changed, or it cannot be decrypted.
        """
        keys = PlanKeys(self._settings)
        seal, body = parts_of(content, file)
        binding, is_verified = keys.read(
            seal, project=self._settings.project, installation=self._installation(), file=file
        )
        require_body(binding, body, file)
        try:
            most_bytes = 4 * self._settings.max_message_bytes
            decrypted = self._codec(keys).decrypted(body, _place(binding.id))
            plain = unpacked_map(
                decrypted, most_bytes=most_bytes, deepest=self._settings.max_message_depth + 2
            )
            view = PlanView.from_wire(plain["document"])
            job = JOBS[plain["task"]].from_wire(plain["job"])
        except (UnreadablePlan, IsothermError, LookupError, TypeError, ValueError, AttributeError) as error:
            raise _refused(file, f"the plan cannot be read: {error}") from error
        if type(job) is not _JOBS[binding.action] or definition_digest(job) != binding.definition:
            raise _refused(file, "the plan was changed after it was made: its job is another one")
        sealed = base64.b64encode(seal).decode()
        # The plan is for one attempt each time it is applied, and the user is who applies it.
        job = replace(job, job_id=str(uuid.uuid4()), user="", plan=sealed)  # type: ignore[call-arg]  # these kinds have it
        view = replace(view, user=binding.user, is_verified=is_verified)
        return StackPlan(view=view, job=job, binding=binding)

    def require_applicable(self, plan: StackPlan) -> None:
        """Require that a plan can be applied to its stack as it is now; a coordinator verifies that once more, and all.

        Raises:
            Conflict: the stack has moved on since it was made, it was applied before, or lists what is refused.
            NotFound: the stack is purged.
        """
        from orchestrator.engine.applied_plan import require_applicable

        require_applicable(self._store, plan.binding)

    def _installation(self) -> str:
        return self._store.identity.read()

    def _codec(self, keys: PlanKeys) -> Codec:
        """Return the codec of the bodies of plans.

        Raises:
            InvalidInput: there is no key for it.
        """
        if self._settings.encryption_keys:
            return self._store.codec
        if own := keys.own_secrets():
            return Codec([base64.urlsafe_b64encode(secret).decode() for secret in own])
        problem = Problem(
            path="settings.encryption_keys",
            message="a plan's file holds the definition with its secrets, and there is no key to encrypt it with",
            hint="set encryption_keys as coordinators and workers have it, or plan without -o",
        )
        raise InvalidInput([problem])


def _protected(stack: StackRow, *, unprotect: bool) -> tuple[Problem, ...]:
    if not stack.protected or unprotect:
        return ()
    return (Problem(message=f"stack {stack.name!r} is protected: its deletion will be refused"),)


def _of_readers(store: Store, stack: StackRow) -> tuple[Problem, ...]:
    readers = store.output_readers.of_source(stack.id)
    if not readers:
        return ()
    read = sentence_of(readers, stack.project)
    return (Problem(message=f"the deletion will be refused without --force: {read}"),)


def _types() -> Any:
    from orchestrator.plugins.registry import ResourceTypes

    return ResourceTypes.on_demand()


def _place(plan_id: str) -> Place:
    return "plan", "body", plan_id


def _state(stack: StackRow) -> str:
    return f"{stack.action}_{stack.status}"


def _dependents(requires: Mapping[str, list[str]]) -> dict[str, list[str]]:
    found: dict[str, list[str]] = {}
    for name, others in sorted(requires.items()):
        for other in others:
            found.setdefault(other, []).append(name)
    return found


def _refused(file: str, message: str) -> InvalidInput:
    hint = "make a new plan with: isotherm stack plan"
    return InvalidInput([Problem(path=file, message=message, hint=hint)])
