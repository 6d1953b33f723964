"""The page about one resource: its part in an operation, its row, and the attempts at its actions."""

from contextlib import suppress
from typing import TYPE_CHECKING, Final

from orchestrator.config.console_links import console_link
from orchestrator.errors import NotFound
from orchestrator.model.event_filter import EventFilter
from orchestrator.queries.attempts import attempts_of
from orchestrator.queries.drift import drift_view
from orchestrator.queries.step_logs import logs_of
from orchestrator.views.facts import Facts, NodeFact
from orchestrator.views.operations import ResourceDetails
from orchestrator.views.resource_page import DeploymentOutput, ResourcePage
from orchestrator.views.stacks import ResourceView
from orchestrator.views.states import phase_of
from orchestrator.views.wiring import is_counter

if TYPE_CHECKING:
    from orchestrator.queries.observer import Observer
    from orchestrator.store.stacks.stacks import StackRow
    from orchestrator.store.store import Store

#: The most events from which attempts are read.
EVENTS: Final = 500


def resource_page(
    observer: "Observer",
    store: "Store",
    stack: "StackRow",
    name: str,
    *,
    traversal_id: str | None,
    shows_values: bool,
) -> ResourcePage:
    """Return the page of one resource; with ``traversal_id``, of its part in that operation.

    Raises:
        NotFound: the stack has no such resource, and none of its events is about one; the nearest name is given.
    """
    facts = observer.facts(stack.id, traversal_id)
    wanted = EventFilter(resources=(name,), traversal_id=traversal_id)
    read = store.events.read(stack.id, newest_first=True, limit=EVENTS, wanted=wanted)
    # A name may have the marks of patterns in it.
    events = [event for event in reversed(read) if event.resource == name]
    node = named(facts, name)
    row = None
    try:
        row = store.stacks.resource(stack.id, name)
    except NotFound:
        if node is None and not events:
            raise
    details = None if node is None else observer.details(stack.id, node.no, traversal_id=traversal_id)
    operation = facts.operation
    ids = {operation.traversal_id, *(event.traversal_id for event in events)}
    operations = store.past.named(stack.id, ids)
    is_now = shows_values and operation.in_force
    began = operations.get(operation.traversal_id)
    kind = _type(node, row.type if row else "", events[-1].type if events else "")
    physical_id = (details.vertex.physical_id if details else None) or (row.physical_id if row else None)
    return ResourcePage.of(
        facts,
        user="" if began is None else began.user,
        name=name,
        type=kind,
        console=_console(observer, stack, kind, name, physical_id),
        details=details,
        since=None if details is None else since(details),
        resource=_shown(observer, stack.id, name) if is_now and row is not None else None,
        shows_values=shows_values,
        attempts=tuple(reversed(attempts_of(events, operations.get))),
        more=len(read) == EVENTS,
        deployment=_deployment(store, row.id, stack.project) if is_now and row is not None else None,
        drift=tuple(map(drift_view, store.drifts.of_resource(row.id))) if is_now and row is not None else (),
        logs=logs_of(store, observer.settings, stack.id, name, traversal_id) if shows_values else (),
    )


def named(facts: Facts, name: str) -> NodeFact | None:
    """Return the node of a resource; of several, the one that makes or changes it. None if there is none."""
    nodes = [node for node in facts.nodes if node.key == name and not is_counter(node)]
    return min(nodes, key=lambda node: (phase_of(node) == "cleanup", node.no), default=None)


def since(details: ResourceDetails) -> float | None:
    """Return since when a resource is in its state; None if unknown."""
    if not details.spans:
        return None
    last = details.spans[-1]
    return last.start if last.end is None else last.end


def _type(node: NodeFact | None, of_row: str, of_event: str) -> str:
    return (node.type if node else "") or of_row or of_event


def _console(observer: "Observer", stack: "StackRow", kind: str, name: str, physical_id: str | None) -> str:
    if not physical_id:
        return ""
    places = {
        "physical_id": physical_id,
        "resource": name,
        "stack": stack.name,
        "stack_id": stack.id,
        "project": stack.project,
    }
    return console_link(observer.settings.console_links, kind, places)


def _shown(observer: "Observer", stack_id: str, name: str) -> ResourceView | None:
    with suppress(NotFound):
        return observer.queries.resource(stack_id, name)
    return None


def _deployment(store: "Store", resource_id: str, project: str) -> DeploymentOutput | None:
    try:
        found = store.software.deployment(resource_id, project)
    except NotFound:
        return None
    return DeploymentOutput.of(found, outputs=tuple(sorted(found.output_values.items())))
