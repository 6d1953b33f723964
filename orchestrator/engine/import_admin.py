"""Imports for faces: what one would do, and the template text of objects that are to be imported."""

from collections.abc import Callable, Mapping
from contextlib import closing
from dataclasses import replace
from typing import Any

from orchestrator.config.limits import Limits
from orchestrator.config.settings import Settings
from orchestrator.engine.import_plan import import_plan
from orchestrator.engine.stack_actions import refuse_deleted, refuse_nested
from orchestrator.model.messages import ImportJob, StackJob
from orchestrator.sandbox.budget import shared_time
from orchestrator.store.stacks.stacks import StackRow
from orchestrator.store.store import Store
from orchestrator.views.stacks import UpdatePlan


class ImportAdmin:
    """Imports into the stacks of the settings' project; a stack that does not exist raises NotFound."""

    def __init__(self, settings: Settings, store: Store, *, find: Callable[[str], StackRow]) -> None:
        """Keep the arguments; ``find`` returns a stack by name or id."""
        self._settings, self._store, self._find = settings, store, find

    def plan(self, job: ImportJob) -> UpdatePlan:
        """Return what an import would do; nothing is changed, and no other system is called.

        Raises:
            InvalidInput: an object has an owner, or the definition would change something else.
            Conflict: the stack is not complete, the project would have more than a limit allows, or a lifecycle plugin
                would refuse.
        """
        return import_plan(self._store, self._find(job.name), job, self._settings)

    def written_sections(
        self, job: StackJob, objects: Mapping[str, str], types: Mapping[str, str]
    ) -> dict[str, dict[str, Any]]:
        """Return the sections of a template that describe objects, which are read by their types in this process.

        ``job`` is the definition of the stack, which may list the resources already; ``objects`` are the ids of the
        objects, and ``types`` the types that the definition does not have, by the resources' names
        (:func:`orchestrator.engine.written_template.written_sections`).

        Raises:
            InvalidInput: the definition has problems, a resource has no type, or an object cannot be read.
            Conflict: the stack is deleted, or nested in another one.
        """
        from orchestrator.engine.written_template import DescriptionContext, written_sections
        from orchestrator.planning.preparation import prepare
        from orchestrator.plugins.clients import Clients
        from orchestrator.plugins.registry import ResourceTypes

        stack, known = self._find(job.name), ResourceTypes.on_demand()
        refuse_deleted(stack)
        refuse_nested(stack)
        context = self._store.traversals.context(stack.traversal_id)
        with shared_time(Limits.of(self._settings)), closing(Clients(self._settings)) as clients:
            named = replace(job, name=stack.name)
            within = DescriptionContext(
                prepared=prepare(named, known, self._settings, stack_id=stack.id),
                context=context,
                types=known,
                settings=self._settings,
                clients=clients.of(stack.project, context.get("credential", "")),
                store=self._store,
                now=self._store.database.time(),
            )
            return written_sections(objects, types, within)
