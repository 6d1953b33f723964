"""Shares of outputs with other projects: an act of the owner, on record in the audit log."""

from collections.abc import Callable, Sequence

from hooks.values.nearest import did_you_mean
from orchestrator.config.settings import Settings
from orchestrator.engine.stack_actions import refuse_deleted, refuse_nested
from orchestrator.engine.stack_outputs import present_outputs
from orchestrator.errors import InvalidInput, NotFound, Problem
from orchestrator.queries.dependencies import dependencies_of, dependents_of
from orchestrator.store.stacks.stacks import StackRow
from orchestrator.store.store import Store
from orchestrator.views.dependencies import DependenciesView, DependentView


class OutputSharing:
    """The outputs of the project's stacks that others read, or may; a stack that does not exist raises NotFound."""

    def __init__(
        self,
        settings: Settings,
        store: Store,
        *,
        find: Callable[[str], StackRow],
        record: Callable[[str, str], None],
    ) -> None:
        """Keep the arguments.

        ``find`` returns a stack by name or id; ``record`` notes an action in the audit log, with its target.
        """
        self._settings, self._store, self._find, self._record = settings, store, find, record

    def share(self, name: str, outputs: Sequence[str], project: str) -> DependenciesView:
        """Let the stacks of another project read outputs of a stack; return what is shared by now.

        A share is of this stack: a later stack of the same name shares nothing.

        Raises:
            NotFound: there is no such output; nothing was shared.
            InvalidInput: the project is the stack's own.
            Conflict: the stack is deleted, or a part of another stack.
        """
        stack = self._find(name)
        refuse_deleted(stack)
        refuse_nested(stack)
        if project == stack.project:
            message = f"the stacks of project {project!r} may read the outputs of its own stacks already"
            raise InvalidInput([Problem(path="--with", message=message)])
        known = present_outputs(self._store, stack, self._settings)
        for output in outputs:
            if output not in known:
                hint = did_you_mean(output, known, f"outputs: {', '.join(known) or 'none'}")
                raise NotFound(f"stack {stack.name!r} has no output {output!r}{hint}")
        self._note("stack.share", stack, outputs, project)
        self._store.output_shares.add(stack.id, outputs, project)
        return self.of(name)

    def unshare(self, name: str, outputs: Sequence[str], project: str) -> DependenciesView:
        """Share outputs of a stack with a project no more; return what is still shared.

        A value that was read stays with the reader; the next read is refused.

        Raises:
            NotFound: one is not shared with the project; nothing was changed.
        """
        stack = self._find(name)
        shared = {each.output for each in self._store.output_shares.of(stack.id) if each.project == project}
        for output in outputs:
            if output not in shared:
                hint = did_you_mean(output, shared)
                raise NotFound(
                    f"stack {stack.name!r} shares no output {output!r} with project {project!r}{hint}"
                )
        self._note("stack.unshare", stack, outputs, project)
        self._store.output_shares.remove(stack.id, outputs, project)
        return self.of(name)

    def _note(self, action: str, stack: StackRow, outputs: Sequence[str], project: str) -> None:
        for output in outputs:
            self._record(action, f"{stack.name}/{output} with {project}")

    def of(self, name: str) -> DependenciesView:
        """Return what a stack reads of others, who reads its outputs, and who may."""
        return dependencies_of(self._store, self._find(name))

    def dependents(self, name: str) -> tuple[tuple[DependentView, ...], int]:
        """Return the stacks of the project that read a stack, directly or through others, in the order of updates.

        The second value is the number of such stacks in other projects.
        """
        return dependents_of(self._store, self._find(name))
