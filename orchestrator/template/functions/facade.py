"""Functions that read the parent stack's resource that the template implements: resource_facade."""

from collections.abc import Mapping
from typing import ClassVar, Final

from orchestrator.definition import ParentResourceProxy, StackDefinition, is_unknown
from orchestrator.template.functions.base import (
    Departure,
    Example,
    Function,
    FunctionError,
    kind_of,
)

_METADATA: Final = "metadata"
_DELETION_POLICY: Final = "deletion_policy"
_UPDATE_POLICY: Final = "update_policy"


class ResourceFacade(Function):
    """``resource_facade: part``: the metadata, the deletion_policy or the update_policy that the parent template gives.

    Works in a template that is used as a resource type: the parts are those of that resource in the parent template.
    A part that is not given there is an empty map, or the deletion policy ``Delete``.
    """

    name = "resource_facade"
    departures: ClassVar[tuple[Departure, ...]] = (
        Departure(
            "a resource of a template that no resource uses",
            "fails while the stack is made",
            "refused",
        ),
    )
    #: The parts by the words for them.
    parts: ClassVar[Mapping[str, str]] = {
        word: word for word in (_METADATA, _DELETION_POLICY, _UPDATE_POLICY)
    }
    examples: ClassVar[tuple[Example, ...]] = (
        Example(
            "resource_facade: metadata",
            {"role": "web"},
            parent=ParentResourceProxy(name="server", metadata={"role": "web"}),
        ),
        Example(
            "resource_facade: deletion_policy",
            "Retain",
            parent=ParentResourceProxy(name="server", deletion_policy="Retain"),
        ),
    )

    def check(self) -> None:
        part = self.arguments
        if is_unknown(part):
            return
        expected = f"expected one of: {', '.join(self.parts)}"
        if not isinstance(part, str):
            raise FunctionError(f"{expected}, found {kind_of(part)}")
        if part not in self.parts:
            hint = self.scope.nearest.hint(part, self.parts, expected)
            raise FunctionError(f"a resource has no part {part!r} here", hint=hint)

    def call(self, arguments: str, stack: StackDefinition) -> object:
        parent = stack.parent
        if parent is None:
            raise FunctionError("there is no parent: only a template that is used as a resource has one")
        part = self.parts[arguments]
        if part == _METADATA:
            return dict(parent.metadata)
        if part == _UPDATE_POLICY:
            return dict(parent.update_policy)
        return parent.deletion_policy
