"""CFN's functions that refer to parameters and resources: Ref, Fn::GetAtt, Fn::ResourceFacade."""

from collections.abc import Collection, Iterable
from itertools import chain
from typing import ClassVar

from orchestrator.definition import ParentResourceProxy, StackDefinition
from orchestrator.errors import cut
from orchestrator.template.functions.base import (
    LATER,
    Example,
    Function,
    FunctionError,
    KnownNames,
    holds_call,
    kind_of,
)
from orchestrator.template.functions.facade import ResourceFacade
from orchestrator.template.functions.references import (
    GetAttr,
    UnknownName,
    missing_resource,
    refers_by_id,
)
from orchestrator.template.versions import CFN_AND_FIRST_HOT, CFN_AWS_ONLY, CFN_ONLY


class Ref(Function):
    """``Ref: name``: the id by which others refer to the resource of that name, or the parameter's value.

    No resource has the name of a parameter. Conditions can refer to parameters only.
    """

    name = "Ref"
    lifetime = CFN_AND_FIRST_HOT
    in_conditions = CFN_AWS_ONLY
    early = True
    examples: ClassVar[tuple[Example, ...]] = (
        Example("Ref: size", 3, {"size": 3}, version="2013-05-23"),
        Example("Ref: server", "9e4f", version="2013-05-23", resources={"server": {"reference": "9e4f"}}),
    )

    def check(self) -> None:
        # Dependencies must be known before anything is evaluated.
        if holds_call(self.arguments):
            raise FunctionError("a name cannot come from another resource", hint="write the name out")
        if not isinstance(self.arguments, (str, *LATER)):
            found = kind_of(self.arguments)
            raise FunctionError(f"expected the name of a resource or a parameter, found {found}")

    def call(self, arguments: str, stack: StackDefinition) -> object:
        if arguments in stack:
            return stack.resource(arguments).reference_id()
        if arguments in stack.parameters:
            return stack.parameters[arguments]
        raise FunctionError(f"there is no parameter or resource {arguments!r}, or it has no value")

    def dependencies(self) -> Iterable[str]:
        return (self.arguments,) if self._of_resource else ()

    def is_open(self, hidden: Collection[str]) -> bool:
        # A check does not know the template's resources: there, nothing may be shown.
        whole = self.scope.conditions is not None
        return whole and not self._of_resource and self.arguments not in hidden

    def is_open_in(self, stack: StackDefinition, hidden: Collection[str]) -> bool:
        if self.arguments in stack:
            return refers_by_id(self.arguments, stack)
        return self.arguments in stack.parameters and self.arguments not in hidden

    def missing(self, names: KnownNames) -> FunctionError | None:
        name = self.arguments
        if not isinstance(name, str) or name in names.parameters:
            return None
        if name in names.resources:
            return missing_resource(name, names, ())
        known = chain(names.parameters, names.resources)
        return UnknownName(f"there is no parameter or resource {cut(name)!r}", name, known)

    @property
    def _of_resource(self) -> bool:
        return isinstance(self.arguments, str) and self.arguments in self.scope.resources


class FnGetAtt(GetAttr):
    """``Fn::GetAtt: [resource, attribute]``: an attribute of a resource.

    Null before any action on the resource has begun. The outputs of a stack are its attributes ``Outputs.name``.
    """

    name = "Fn::GetAtt"
    lifetime = CFN_ONLY
    expected_items = (2, "a resource's name and an attribute's")
    examples = (
        Example(
            "Fn::GetAtt: [server, PublicIp]",
            "10.0.0.4",
            version="2010-09-09",
            resources={"server": {"attributes": {"PublicIp": "10.0.0.4"}}},
        ),
    )


class FnResourceFacade(ResourceFacade):
    """``Fn::ResourceFacade: part``: the Metadata, DeletionPolicy or UpdatePolicy that the parent template gives.

    Works in a template that is used as a resource type: the parts are those of that resource in the parent template.
    A part that is not given there is an empty map, or the deletion policy ``Delete``.
    """

    name = "Fn::ResourceFacade"
    lifetime = CFN_AND_FIRST_HOT
    parts = {"Metadata": "metadata", "DeletionPolicy": "deletion_policy", "UpdatePolicy": "update_policy"}
    examples = (
        Example(
            "Fn::ResourceFacade: DeletionPolicy",
            "Retain",
            parent=ParentResourceProxy(name="server", deletion_policy="Retain"),
            version="2013-05-23",
        ),
    )
