"""Resources of a plan: what is done to each, with the order and what is unknown until then."""

from collections.abc import Iterator, Mapping

from orchestrator.engine.plan_changes import KNOWN_LATER
from orchestrator.planning.decision import Action
from orchestrator.views.plans import PlannedResource
from orchestrator.views.stacks import PropertyChange, ResourcePlan, ResourcePreview


def made(preview: ResourcePreview, above: str = "") -> Iterator[PlannedResource]:
    """Yield the plan of a resource that a create makes, and of those of the template that is its type."""
    changes = tuple(
        PropertyChange(name=name, before=None, after=value, meaning=Action.CREATE.value, is_certain=True)
        for name, value in preview.properties.items()
    )
    resource = ResourcePlan(
        name=f"{above}{preview.name}", type=preview.actual_type, action=preview.action, changes=changes
    )
    yield planned(resource, after=[f"{above}{name}" for name in preview.requires])
    for each in preview.resources:
        yield from made(each, f"{above}{preview.name}/")


def planned(plan: ResourcePlan, *, after: list[str]) -> PlannedResource:
    """Return what is done to a resource, ``after`` others, with the values that are known only once those exist."""
    return PlannedResource.of(plan, after=tuple(after), unknown=unknown_in(plan.changes))


def unknown_in(changes: tuple[PropertyChange, ...]) -> tuple[str, ...]:
    """Return the paths of the new values, and of parts of them, that are known only once other resources exist."""
    found: list[str] = []
    for change in changes:
        name = change.name or "*"
        if not change.parts:
            found += _unknown(name, change.after)
        for part in change.parts:
            separator = "" if part.path.startswith("[") else "."
            found += _unknown(f"{name}{separator}{part.path}", part.after)
    return tuple(found)


def _unknown(path: str, value: object) -> Iterator[str]:
    if isinstance(value, Mapping):
        for key, item in value.items():
            yield from _unknown(f"{path}.{key}", item)
    elif isinstance(value, (list, tuple)):
        for index, item in enumerate(value):
            yield from _unknown(f"{path}[{index}]", item)
    elif isinstance(value, str) and KNOWN_LATER in value:
        yield path
