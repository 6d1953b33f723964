"""What an object was when an update came before it could be adopted: told by the definition it was to be adopted with.

That definition is resolved once more, with the values that the parameters had then. What it says of other resources
can be told only as long as those are what they were.
"""

from collections.abc import Callable, Mapping, Sequence
from typing import Any

from orchestrator.definition import NodeData, ResourceProxy, StackDefinition, is_unknown
from orchestrator.errors import IsothermError
from orchestrator.plugins.resource import CannotTell, Resource
from orchestrator.store.nodes.claims import Claim
from orchestrator.template.definitions import ResourceDefinition


def properties_as_found(
    claim: Claim,
    inputs: Sequence[Any],
    context: Mapping[str, Any],
    files: Callable[[Mapping[str, str]], Mapping[str, str]],
) -> dict[str, Any]:
    """Return the properties that the claimed row's object has; what cannot be told is left out.

    ``inputs`` is the node data of the requirements, on the wire; ``context`` is that of the traversal.
    """
    said = claim.fragment["adopting"]
    as_they_were = said["certain"] and not claim.changed
    data = [NodeData.from_wire(wire) for wire in inputs] if as_they_were else []
    known = {item.name: item for item in data}
    try:
        definition = ResourceDefinition.from_fragment(claim.order.key, said["definition"])
        stack = StackDefinition(
            name=context["name"],
            id=context["id"],
            project=context["project"],
            parameters=said["parameters"],
            resources={
                name: ResourceProxy(name=name, data=known.get(name)) for name in definition.requirements
            },
            files=files(said["files"]),
            asker=claim.order.key,
        )
        properties = definition.resolve_properties(stack)
    except IsothermError:
        # What it was said to be cannot be read any more: nothing is known of it.
        return {}
    return {name: value for name, value in properties.items() if not is_unknown(value)}


def told_by(
    observed: Mapping[str, Any] | CannotTell | None,
    given: Mapping[str, Any],
    untold: frozenset[str],
    resource: Resource,
) -> tuple[Mapping[str, Any], frozenset[str]]:
    """Return the properties with those that were observed, and the names of which nobody knows even so.

    Of these, the ones that take another object to be changed count as what is wanted: what somebody had before there
    was a stack is not thrown away on a suspicion. The others are put in place again.
    """
    seen = observed if isinstance(observed, Mapping) else {}
    told = {**given, **{name: seen[name] for name in untold & seen.keys()}}
    schema = resource.properties_schema
    again = {name for name in untold - seen.keys() if name in schema and schema[name].update_allowed}
    return told, frozenset(again)
