"""What objects give up for each other: before a replacement is made, and before what it replaced is taken back."""

from orchestrator.planning.rows import stack_as_made
from orchestrator.plugins.resource import Resource
from orchestrator.plugins.steps import Busy, ResourceState, Wait
from orchestrator.plugins.validating import typed_properties
from orchestrator.store.stacks.stacks import ResourceRow
from orchestrator.template.template_resource import kind_of_type
from workers.check.rebuilding import Attempt


def prepare_for_replace(attempt: Attempt) -> None:
    """Have the object of a claim give up what its replacement needs.

    Raises:
        Busy: it has not done so yet.
        Exception: the plugin's.
    """
    resource = attempt.resource
    if resource is None or not resource.implements("prepare_for_replace"):
        return
    if resource.state.physical_id is None:
        resource.state.physical_id = resource.find()
    if resource.state.physical_id is not None:
        attempt.acts = True
        _await(resource, "it has not given up yet what its replacement needs")


def take_from_others(attempt: Attempt) -> None:
    """Have the objects that replaced that of a claim give up what it needs, now that it is taken back.

    What they are afterwards is on record before it is: their own deletion then takes nothing from it.

    Raises:
        Busy: one has not done so yet, or is worked at.
        Exception: the plugin's.
    """
    for row in attempt.check.rows(attempt.claim.fragment.get("others", ())):
        kind = kind_of_type(attempt.check.types, row.type)
        if (
            kind is None
            or not kind.implements("prepare_for_replace")
            or (row.action, row.status) == ("DELETE", "COMPLETE")
        ):
            continue
        other = _rebuilt(attempt, row, kind)
        if other.state.physical_id is None:
            other.state.physical_id = other.find()
        if other.state.physical_id is not None:
            other_id = other.state.physical_id
            # What it would store first is not needed: it is deleted.
            if other.prepare_for_replace() is not True:
                _await(other, f"its replacement {other_id} has not given up yet what it needs")
            if not attempt.check.given_up(row, other.state.physical_id, other.state.data):
                raise Busy(f"its replacement {other_id} is worked at")


def _await(resource: Resource, words: str) -> None:
    answer = resource.prepare_for_replace()
    if isinstance(answer, Wait):
        raise Busy(words, answer.seconds)
    if not answer:
        raise Busy(words)


def _rebuilt(attempt: Attempt, row: ResourceRow, kind: type[Resource]) -> Resource:
    """Return the resource of another row as it is on record."""
    claim = attempt.claim
    clients = attempt.clients
    resource = kind(
        name=row.made_as,
        type_name=row.type,
        state=ResourceState(
            uuid=row.id,
            physical_id=row.physical_id,
            data=dict(row.data),
            metadata=dict(row.metadata),
            action=row.action,
            status=row.status,
            started_at=claim.started_at,
        ),
        properties=typed_properties(kind, row.properties or {}, clients=clients),
        stack=stack_as_made(attempt.stack, row.made_in),
        settings=attempt.check.settings,
        now=claim.now,
    )
    resource.clients = clients
    return resource
