"""Dialects: the names of sections and keys in the two formats, HOT and CFN."""

from dataclasses import dataclass
from typing import Final

from orchestrator.template.versions import CFN_AWS, NEWTON, V2013_05_23, TemplateVersion


@dataclass(frozen=True, slots=True, kw_only=True)
class Dialect:
    """The names of sections and keys in one format; empty where the format has no such thing."""

    # The sections.
    description: str
    parameters: str
    parameter_groups: str = ""
    conditions: str
    mappings: str = ""
    resources: str
    outputs: str
    # The keys of resources and outputs; all but the last belong to resources.
    type: str
    properties: str
    metadata: str
    depends_on: str
    deletion_policy: str
    update_policy: str
    external_id: str = ""
    condition: str
    value: str
    #: Whether unknown keys of resources and outputs are ignored.
    lenient: bool = False

    def sections(self) -> tuple[str, ...]:
        """Return the names of all sections, in their usual order."""
        named = (
            self.description,
            self.parameter_groups,
            self.parameters,
            self.mappings,
            self.conditions,
            self.resources,
            self.outputs,
        )
        return tuple(name for name in named if name)

    def has_conditions(self, version: TemplateVersion) -> bool:
        """Whether ``version`` of this format has conditions."""
        return version >= NEWTON if version.is_hot else version == CFN_AWS

    def later(self, version: TemplateVersion) -> dict[str, TemplateVersion]:
        """Return the names that ``version`` does not have yet, with the version that introduces them."""
        if not version.is_hot or version >= NEWTON:
            return {}
        return dict.fromkeys((self.conditions, self.condition, self.external_id), NEWTON)


HOT_WORDS: Final = Dialect(
    description="description",
    parameters="parameters",
    parameter_groups="parameter_groups",
    conditions="conditions",
    resources="resources",
    outputs="outputs",
    type="type",
    properties="properties",
    metadata="metadata",
    depends_on="depends_on",
    deletion_policy="deletion_policy",
    update_policy="update_policy",
    external_id="external_id",
    condition="condition",
    value="value",
)
CFN_WORDS: Final = Dialect(
    description="Description",
    parameters="Parameters",
    conditions="Conditions",
    mappings="Mappings",
    resources="Resources",
    outputs="Outputs",
    type="Type",
    properties="Properties",
    metadata="Metadata",
    depends_on="DependsOn",
    deletion_policy="DeletionPolicy",
    update_policy="UpdatePolicy",
    condition="Condition",
    value="Value",
    lenient=True,
)


def dialect_of(version: TemplateVersion) -> Dialect:
    """Return the dialect of the format that ``version`` belongs to."""
    return HOT_WORDS if version >= V2013_05_23 else CFN_WORDS
