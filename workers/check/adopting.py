"""The properties that are recorded of an adopted object.

Those of an imported object are as it was observed. Those of an object whose adoption was overtaken by an update are
from the definition it was to be adopted by, which is resolved once more with the parameters of then: values that refer
to other resources are known only as long as those are unchanged.
"""

from collections.abc import Callable, Mapping, Sequence
from typing import Any

from orchestrator.definition import NodeData, ResourceProxy, StackDefinition
from orchestrator.planning.preparation import known_properties
from orchestrator.plugins.resource import Resource
from orchestrator.plugins.steps import CannotTell
from orchestrator.store.nodes.claims import Claim
from orchestrator.template.definitions import ResourceDefinition


def properties_as_found(
    claim: Claim,
    inputs: Sequence[Any],
    context: Mapping[str, Any],
    files: Callable[[Mapping[str, str]], Mapping[str, str]],
) -> dict[str, Any]:
    """Return the properties of the claimed row's object; unknown ones are left out.

    ``inputs`` is the node data of the requirements, on the wire; ``context`` is that of the traversal.
    """
    adopting = claim.fragment["adopting"]
    as_they_were = adopting["certain"] and not claim.changed
    data = [NodeData.from_wire(wire) for wire in inputs] if as_they_were else []
    known = {item.name: item for item in data}

    def stack(definition: ResourceDefinition) -> StackDefinition:
        return StackDefinition.of_context(
            context,
            parent=None,
            parameters=adopting["parameters"],
            resources={
                name: ResourceProxy(name=name, data=known.get(name)) for name in definition.requirements
            },
            files=files(adopting["files"]),
            asker=claim.order.key,
        )

    return known_properties(claim.order.key, adopting["definition"], stack)


def differing(observed: Mapping[str, Any], resource: Resource) -> dict[str, Any]:
    """Return the observed properties of an imported object that differ from those of its resource.

    They are recorded as what was applied last, so that the next plan compares the template with the object.
    """
    properties, schema = resource.properties, resource.properties_schema
    return {
        name: value for name, value in observed.items() if name in schema and value != properties.get(name)
    }


def with_observed(
    observed: Mapping[str, Any] | CannotTell | None,
    given: Mapping[str, Any],
    unknown: frozenset[str],
    resource: Resource,
) -> tuple[Mapping[str, Any], frozenset[str]]:
    """Return the properties, with observed values where they were unknown, and the names that stay doubtful.

    Unknown properties that only a replacement could change are assumed to be as wanted: an object that was there
    before the stack is not destroyed on a suspicion. The others are applied again.
    """
    seen = observed if isinstance(observed, Mapping) else {}
    merged = {**given, **{name: seen[name] for name in unknown & seen.keys()}}
    schema = resource.properties_schema
    again = {name for name in unknown - seen.keys() if name in schema and schema[name].update_allowed}
    return merged, frozenset(again)
