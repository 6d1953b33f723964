"""Dialects: the names of sections and keys in the two formats, HOT and CFN."""

from typing import Final

from hooks.values.dataclass import dataclass
from orchestrator.template.versions import CFN_AWS, HOT, NEWTON, TemplateVersion


@dataclass(frozen=True, slots=True, kw_only=True)
class Dialect:
    """The names of sections and keys in one format, by default HOT's; empty where the format has no such thing."""

    # The sections.
    description: str = "description"
    parameters: str = "parameters"
    parameter_groups: str = "parameter_groups"
    conditions: str = "conditions"
    mappings: str = ""
    resources: str = "resources"
    outputs: str = "outputs"
    # The keys of resources and outputs; all but the last belong to resources.
    type: str = "type"
    properties: str = "properties"
    metadata: str = "metadata"
    depends_on: str = "depends_on"
    deletion_policy: str = "deletion_policy"
    update_policy: str = "update_policy"
    external_id: str = "external_id"
    condition: str = "condition"
    value: str = "value"
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


HOT_WORDS: Final = Dialect()
CFN_WORDS: Final = Dialect(
    description="Description",
    parameters="Parameters",
    parameter_groups="",
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
    external_id="",
    condition="Condition",
    value="Value",
    lenient=True,
)


def dialect_of(version: TemplateVersion) -> Dialect:
    """Return the dialect of the format that ``version`` belongs to."""
    return HOT_WORDS if version.key == HOT else CFN_WORDS
