"""The check context: what a step needs besides its claim."""

import random
from collections.abc import Callable, Collection, Mapping, Sequence
from typing import Any

from hooks.values.dataclass import dataclass
from orchestrator.config.limits import Limits
from orchestrator.config.settings import Settings
from orchestrator.definition import StackDefinition, StackSource
from orchestrator.plugins.clients import Clients
from orchestrator.plugins.outputs import StackOutputs, no_outputs
from orchestrator.plugins.resource import Resource
from orchestrator.plugins.software import Software, no_software
from orchestrator.plugins.stack_resource import ChildStack
from orchestrator.store.nodes.claims import Claim
from orchestrator.store.stacks.stacks import ResourceRow
from orchestrator.template.definitions import ResourceDefinition


@dataclass(frozen=True, slots=True, kw_only=True)
class CheckContext:
    """The inputs of a step besides its claim."""

    types: Mapping[str, type[Resource]]
    settings: Settings
    #: Those of the settings.
    limits: Limits
    #: The traversal's context.
    context: Mapping[str, Any]
    inputs: Sequence[Any]
    files: Callable[[Mapping[str, str]], Mapping[str, str]]
    #: Reads the present metadata of the resource with a row id or physical id.
    metadata_of: Callable[[str], Mapping[str, Any]]
    #: Returns the lifecycle plugins' annotations of the named resource; reads them at the first access.
    annotations_of: Callable[[str], Mapping[str, Mapping[str, Any]]]
    random: random.Random
    #: Returns the nested stack of a claimed resource, from its definition unless it is to be deleted, its parent's
    #: definition, and the names of the hidden parameters there.
    child_of: Callable[[Claim, ResourceDefinition | None, StackDefinition, Collection[str]], ChildStack]
    clients: Clients
    #: Returns the software of the claim's project, for its resource alone to change.
    software: Callable[[], Software] = no_software
    #: Returns the outputs of other stacks, as the claim's stack may read them.
    outputs: Callable[[], StackOutputs] = no_outputs
    #: Reads the template and the environment of the stack, when one of them is first used.
    source: Callable[[], StackSource] = StackSource
    #: Reads rows of the stack, by their ids.
    rows: Callable[[Sequence[str]], Sequence[ResourceRow]] = lambda _: ()
    #: Records the physical id and private data of a row whose object gave way to the claim's; False: a check holds it.
    given_up: Callable[[ResourceRow, str | None, Mapping[str, Any]], bool] = lambda *_: True
    #: Reads the fragment of the definition that was applied last; None where there is none.
    applied: Callable[[], Mapping[str, Any] | None] = lambda: None
