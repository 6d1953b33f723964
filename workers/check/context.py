"""What a step needs besides its claim."""

import random
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from orchestrator.config.settings import Settings
from orchestrator.definition import (
    StackDefinition,
)
from orchestrator.plugins.clients import Clients
from orchestrator.plugins.resource import (
    Resource,
)
from orchestrator.plugins.stack_resource import ChildStack
from orchestrator.store.nodes.claims import Claim
from orchestrator.template.definitions import ResourceDefinition


@dataclass(frozen=True, slots=True, kw_only=True)
class CheckContext:
    """What a step needs besides its claim."""

    types: Mapping[str, type[Resource]]
    settings: Settings
    #: The traversal's context.
    context: Mapping[str, Any]
    inputs: Sequence[Any]
    files: Callable[[Mapping[str, str]], Mapping[str, str]]
    #: Reads the present metadata of the resource with a row id or physical id.
    metadata_of: Callable[[str], Mapping[str, Any]]
    #: Returns what lifecycle plugins said of the resource of a name, read when it is first looked at.
    annotations_of: Callable[[str], Mapping[str, Mapping[str, Any]]]
    random: random.Random
    #: Returns the stack that a claimed resource is, by its definition if it is not to be deleted, the stack it is in as
    #: it sees it, and the names of the hidden parameters there.
    child_of: Callable[[Claim, ResourceDefinition | None, StackDefinition, Collection[str]], ChildStack]
    clients: Clients
