"""Report of the doctor: all checks of an installation, one after the other.

Each check is small, changes nothing, and gives up within seconds. A check that finds a fault names a remedy; it never
raises, so that one fault does not hide the next.
"""

import os
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from orchestrator.config.settings import Settings
from orchestrator.config.settings_file import settings_file
from orchestrator.config.shared_database import require_shared_database
from orchestrator.config.variables import unread_variables
from orchestrator.doctor.api import check_api, check_api_processes
from orchestrator.doctor.broker import check_broker
from orchestrator.doctor.caches import check_constraint_caches, processes_present, sharing
from orchestrator.doctor.check import PATIENCE_SECONDS, Check
from orchestrator.doctor.clients import check_clients
from orchestrator.doctor.dashboard import check_dashboard
from orchestrator.doctor.hooks import check_hooks
from orchestrator.doctor.nodes import check_nodes
from orchestrator.doctor.processes import check_agreement
from orchestrator.doctor.sinks import check_event_sinks
from orchestrator.doctor.tracing import check_tracing
from orchestrator.doctor.writing import (
    check_database_directory,
    check_session,
    check_writes,
    database_file,
    why_not_writable,
)
from orchestrator.errors import InvalidInput, IsothermError, Unavailable
from orchestrator.model.messages import CHECKS_QUEUE, STACKS_QUEUE
from orchestrator.views.operations import ProcessView


def checks(settings: Settings) -> Iterator[Check]:
    """Yield the checks of everything that the settings point at, in order."""
    yield check_settings(os.environ)
    yield check_state_directory(settings)
    yield check_encryption_keys(settings)
    yield check_resource_types()
    yield from check_hooks(settings)
    present: Sequence[ProcessView] = ()
    database = check_database(settings)
    yield database
    if database.ok:
        schema = check_schema(settings)
        yield schema
        if schema.ok and not _is_to_be_made(settings):
            present = processes_present(settings)
            yield check_writes(settings)
            if session := check_session(settings):
                yield session
            yield from check_event_sinks(settings)
    yield check_cache(settings, present)
    yield from check_clients(settings)
    yield from check_constraint_caches(settings, processes=present)
    yield from check_tracing(settings)
    yield from check_dashboard()
    yield from check_api(settings)
    yield from check_api_processes(present)
    broker = check_broker(settings)
    yield broker
    if broker.ok and not settings.embedded:
        yield from check_processes(settings)
        yield from check_agreement(settings, has_database=database.ok)
    if broker.ok:
        yield from check_nodes(settings)


def check_settings(variables: Mapping[str, str]) -> Check:
    """Check that every ``ISOTHERM_*`` variable is a setting; report where the settings were read from."""
    file = settings_file()
    unread = list(unread_variables(Settings, variables))
    if unread:
        detail = f"no setting is called {', '.join(name for name, _ in unread)}"
        return Check(
            name="settings",
            ok=False,
            detail=detail,
            hint=f"did you mean {', '.join(meant for _, meant in unread)}?",
        )
    detail = (
        f"read from {file} and variables" if file.is_file() else f"read from variables: there is no {file}"
    )
    return Check(name="settings", ok=True, detail=detail)


def check_state_directory(settings: Settings) -> Check:
    """Check that the state directory can be written, or created."""
    directory = settings.state_directory
    fault = why_not_writable(directory)
    return Check(
        name="state directory",
        ok=not fault,
        detail=fault or f"{directory} can be {'written' if directory.exists() else 'created'}",
        hint="make room or make it writable, or point ISOTHERM_STATE_DIRECTORY at another",
    )


def check_encryption_keys(settings: Settings) -> Check:
    """Check that every key is a Fernet key; keys are never shown."""
    from cryptography.fernet import Fernet

    wrong = []
    for number, key in enumerate(settings.encryption_keys, start=1):
        try:
            Fernet(key.get_secret_value())
        except ValueError:
            wrong.append(str(number))
    count = len(settings.encryption_keys)
    detail = f"{count} valid" if count else "none: hidden values are stored and sent as they are"
    return Check(
        name="encryption keys",
        ok=not wrong,
        detail=f"number {', '.join(wrong)} of {count} is no Fernet key" if wrong else detail,
        hint="make one with: python -c 'from cryptography.fernet import Fernet; print(Fernet.generate_key().decode())'",
    )


def check_resource_types() -> Check:
    """Check that every installed resource type can be loaded."""
    from orchestrator.plugins.registry import ResourceTypes

    hint = "install the package again (pip install isotherm), or remove the plugin that is named"
    try:
        count = len(ResourceTypes.load())
    except IsothermError as error:
        return Check(name="resource types", ok=False, detail=str(error), hint=hint)
    return Check(name="resource types", ok=count > 0, detail=f"{count} installed", hint=hint)


def check_database(settings: Settings) -> Check:
    """Check that the database answers; a SQLite file that the first command can create is fine."""
    from orchestrator.store.probing import ping

    try:
        require_shared_database(settings)
    except InvalidInput as error:
        (problem,) = error.problems
        return Check(name="database", ok=False, detail=problem.message, hint=problem.hint)
    if fault := check_database_directory(settings):
        return fault
    if _is_to_be_made(settings):
        return Check(name="database", ok=True, detail="will be made by the first command")
    hint = "start the database, or correct ISOTHERM_DATABASE_URL"
    try:
        ping(settings.effective_database_url)
    except (Unavailable, InvalidInput) as error:
        is_service = isinstance(error, Unavailable)
        hint = getattr(error, "hint", "") or hint
        return Check(name="database", ok=False, detail=str(error), hint=hint, is_service=is_service)
    return Check(name="database", ok=True, detail="answers")


def check_schema(settings: Settings) -> Check:
    """Check that the database has the schema that this version needs."""
    from orchestrator.store import migrations

    if _is_to_be_made(settings):
        return Check(name="schema", ok=True, detail="will be made by the first command")
    try:
        present = migrations.current(settings.effective_database_url)
    except Unavailable as error:
        return Check(name="schema", ok=False, detail=str(error), hint="try again", is_service=True)
    needed = migrations.head()
    detail = (
        f"revision {needed}" if present == needed else f"revision {present or 'none'}, needed is {needed}"
    )
    is_newer = present is not None and present > needed
    hint = "run the version of Isotherm that made it" if is_newer else "run: isotherm db upgrade"
    return Check(name="schema", ok=present == needed, detail=detail, hint=hint)


def _is_to_be_made(settings: Settings) -> bool:
    """Whether the database is a file that the first command in embedded mode will create."""
    file = database_file(settings.effective_database_url)
    return settings.embedded and file is not None and not file.exists()


def check_cache(settings: Settings, processes: Sequence[ProcessView] = ()) -> Check:
    """Check that the shared cache answers, and report which of the present ``processes`` share it.

    Without it no stack fails, but validation is slower.
    """
    from cache.stores.regions import CacheMisconfigured, make_region, masked

    name, hint = "cache", "start the cache server, or correct ISOTHERM_CACHE_BACKEND and ISOTHERM_CACHE_URL"
    place = settings.cache_place
    try:
        region = make_region(place.backend, place.url, name="doctor", expiration_seconds=60)
    except CacheMisconfigured as error:
        return Check(name=name, ok=False, detail=str(error), hint=hint)
    try:
        # The backend itself is called: a region hides that it is down.
        region.backend.get_serialized("isotherm:doctor:ping")
    except Exception as error:  # noqa: BLE001  # every store has errors of its own
        return Check(name=name, ok=False, detail=f"does not answer: {error}", hint=hint, is_service=True)
    if settings.cache_backend == "memory" and settings.cache_url:
        hint = "set cache_backend to the server's kind, such as redis, or remove cache_url"
        return Check(name=name, ok=False, detail="memory: cache_url is not used", hint=hint)
    where = f" at {masked(place.url)}" if place.url else ""
    detail = f"{place.backend}{where} answers; {sharing(place.backend, processes)}"
    return Check(name=name, ok=True, detail=detail)


def check_processes(settings: Settings) -> Iterator[Check]:
    """Check that a worker and a coordinator answer, and list those that do; the broker must be reachable."""
    from orchestrator.queue.celery_app import make_app

    serving: Mapping[str, list[Mapping[str, Any]]] = (
        make_app(settings).control.inspect(timeout=PATIENCE_SECONDS).active_queues() or {}
    )
    for name, queue in (("worker", CHECKS_QUEUE), ("coordinator", STACKS_QUEUE)):
        found = sorted(
            node for node, queues in serving.items() if any(each["name"] == queue for each in queues)
        )
        yield Check(
            name=f"{name}s",
            ok=bool(found),
            detail=", ".join(found) or f"none answered within {PATIENCE_SECONDS:g} s",
            hint=f"start one with: isotherm {name}",
            is_service=True,
        )
