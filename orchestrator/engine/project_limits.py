"""Limits of projects: what a job may add, and refusals before anything is touched."""

from collections.abc import Iterator, Mapping
from contextlib import ExitStack, contextmanager, suppress
from contextvars import ContextVar
from typing import Final

from orchestrator.config.limits import Limits
from orchestrator.config.settings import Settings
from orchestrator.errors import Unavailable
from orchestrator.model.messages import CancelJob, DeleteJob, DeleteSnapshotJob, Job, StackJob
from orchestrator.model.nested_stack import NestedJob
from orchestrator.model.project_limits import (
    EVALUATION,
    RESOURCES,
    STACKS,
    TEMPLATE,
    ProjectLimits,
    refuse_beyond,
)
from orchestrator.sandbox.budget import shared_time
from orchestrator.store.store import Store
from orchestrator.validation.examiner import Examined

#: The project of the job that is being begun, and its limits.
_of_job: Final[ContextVar[tuple[str, ProjectLimits] | None]] = ContextVar("limits_of_job", default=None)


def limits_of(store: Store | None, settings: Settings, project: str) -> ProjectLimits:
    """Return the limits of a project: those that were set for it, else those of the settings.

    While a job of the project is begun, they are as they were at its beginning.
    """
    known = _of_job.get()
    if known is not None and known[0] == project:
        return known[1]
    return {**settings.project_limits.to_dict(), **(store.project_limits.of(project) if store else {})}


def refuse_large(job: Job, limits: ProjectLimits) -> None:
    """Refuse a job whose texts are together larger than the project's limit.

    Raises:
        Conflict: they are.
    """
    if isinstance(job, StackJob) and limits.get(TEMPLATE) is not None:
        texts = [job.template, *job.files.values(), *(each.source for each in job.environments)]
        wanted = sum(len(text.encode(errors="surrogatepass")) for text in texts)
        refuse_beyond(limits, TEMPLATE, job.project, used=0, wanted=wanted)


@contextmanager
def evaluating(store: Store, settings: Settings, job: Job, limits: ProjectLimits) -> Iterator[None]:
    """Have all evaluations of a job share one time limit, counted for a project that has one, and the same limits.

    What ends a stack, its operation or a snapshot is never refused.

    Raises:
        Conflict: the project has no time left in this minute.
    """
    is_limited = limits.get(EVALUATION) is not None
    if is_limited and not isinstance(job, (DeleteJob, CancelJob, DeleteSnapshotJob)):
        used = store.project_limits.evaluated(job.project)
        # The least that an evaluation takes: it is known afterwards what it took.
        refuse_beyond(limits, EVALUATION, job.project, used=used, wanted=0.01)
    with shared_time(Limits.of(settings)) as time:
        before, token = time.left, _of_job.set((job.project, limits))
        try:
            yield
        finally:
            _of_job.reset(token)
            if is_limited:
                store.project_limits.add_evaluation(job.project, before - time.left)


def added_by(job: StackJob, made: Mapping[str, Examined | None], *, is_new: bool) -> Mapping[str, int]:
    """Return how many stacks and resources an operation adds, by the limit's name.

    ``made`` are its new resources, each with its nested template if it has one.
    """
    resources = len(made) + sum(_resources_in(nested) for nested in made.values() if nested)
    return {STACKS: int(is_new and not isinstance(job, NestedJob)), RESOURCES: resources}


def refuse_to_add(
    store: Store | None,
    settings: Settings,
    job: StackJob,
    made: Mapping[str, Examined | None],
    *,
    is_new: bool = False,
) -> None:
    """Refuse in advance what :func:`added_by` says that a job adds, and its size.

    Raises:
        Conflict: the project would exceed one of its limits.
    """
    limits = limits_of(store, settings, job.project)
    refuse_large(job, limits)
    added = added_by(job, made, is_new=is_new)
    if store is not None:
        store.project_limits.refuse(job.project, limits, added)
        return
    for name, count in added.items():
        refuse_beyond(limits, name, job.project, used=0, wanted=count)


@contextmanager
def present_store(settings: Settings) -> Iterator[Store | None]:
    """Yield the store, for a process that only previews; None if there is none, or it does not answer."""
    from orchestrator.store.probing import ping

    with ExitStack() as opened:
        store: Store | None = None
        with suppress(Unavailable):
            ping(settings.effective_database_url)
            made = Store.of(settings)
            opened.callback(made.close)
            # Its schema may be that of an earlier version.
            made.project_limits.of("")
            store = made
        yield store


def _resources_in(examined: Examined) -> int:
    return len(examined.template.resources) + sum(map(_resources_in, examined.nested.values()))
