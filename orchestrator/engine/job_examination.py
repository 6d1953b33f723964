"""Examination of a job where it is submitted: problems are reported at once, without a job in the queue."""

from collections.abc import Iterator
from contextlib import closing, contextmanager
from dataclasses import replace
from functools import partial

from orchestrator.config.settings import Settings
from orchestrator.engine.delegation import delegated
from orchestrator.model.messages import AdoptJob, ImportJob, StackJob, UpdateJob
from orchestrator.planning.preparation import Prepared, prepare, prepare_update
from orchestrator.plugins.registry import ResourceTypes
from orchestrator.store.store import Store


@contextmanager
def examined(job: StackJob, token: str, settings: Settings, store: Store) -> Iterator[tuple[StackJob, str]]:
    """Examine the job of a create, an adopt, an update or an import; return what to submit, and the stack's name.

    With the ``token`` of a caller in another system, the job is given a credential, which is revoked if the block
    fails (:func:`orchestrator.engine.delegation.delegated`).

    Raises:
        InvalidInput: the job has problems, or nothing can be delegated with the token.
        NotFound: there is no stack to be updated.
        Conflict: the state of the stack does not allow an import.
    """
    types = ResourceTypes.on_demand()
    prepared = _prepared(job, settings, store, types)
    if not token:
        yield job, prepared.name
        return
    from orchestrator.plugins.clients import Clients

    with (
        closing(Clients(settings)) as clients,
        delegated(job, token, prepared, types=types, clients=clients, store=store) as ready,
    ):
        yield ready, prepared.name


def _prepared(job: StackJob, settings: Settings, store: Store, types: ResourceTypes) -> Prepared:
    find = partial(store.stacks.find, project=settings.project)
    if isinstance(job, ImportJob):
        from orchestrator.engine.import_plan import examine_import

        compared, _ = examine_import(store, find(job.name), job, settings)
        return compared.prepared
    if isinstance(job, UpdateJob):
        stack = find(job.name)
        before = store.traversals.context(stack.traversal_id)["parameters"]
        named = replace(job, name=stack.name)
        return prepare_update(named, types, settings, stack_id=stack.id, before=before)[0]
    prepared = prepare(job, types, settings)
    if isinstance(job, AdoptJob):
        from orchestrator.planning.adoption import adopted_rows
        from orchestrator.planning.preparation import desired_of

        adopted_rows(prepared, desired_of(prepared), job.resources, types)
    return prepared
