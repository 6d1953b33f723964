"""Which attributes of a nested stack are secrets for the stack around it."""

from collections.abc import Mapping
from dataclasses import field
from typing import Any

from hooks.values.dataclass import dataclass
from orchestrator.definition import AttributePath, NodeData, ResourceProxy, StackDefinition
from orchestrator.plugins.resource import Resource
from orchestrator.plugins.stack_resource import StackResource, member_path
from orchestrator.template.definitions import OutputDefinition
from orchestrator.template.template_resource import kind_of_type


@dataclass(frozen=True, slots=True, kw_only=True)
class ChildSecrets:
    """The secrets of a nested stack, by its outputs and by what the types of its resources declare.

    Of a stack that is nested in it, and of a type that is not installed, everything counts as one.
    """

    #: The type of each of its resources.
    members: Mapping[str, str]
    types: Mapping[str, type[Resource]]
    outputs: Mapping[str, OutputDefinition] = field(default_factory=dict)
    #: The context of its traversal, where there are outputs.
    context: Mapping[str, Any] = field(default_factory=dict)

    def has(self, path: AttributePath) -> bool:
        """Return whether an attribute of the nested stack's parent resource is a secret, or may hold one."""
        inner = member_path(path)
        if inner is not None:
            return self._of_member(str(inner[0]), inner[1:])
        output = self.outputs.get(str(path[0]))
        if output is not None:
            return output.expression.reads_secret(self._stack(), self.context.get("hidden", ()))
        # An attribute of a group, or all outputs: of any of the resources.
        return any(self._of_member(name, ("*",)) for name in self.members)

    def _of_member(self, name: str, path: AttributePath) -> bool:
        sensitive = self._sensitive(name)
        if sensitive is None:
            return True
        return bool(sensitive) and (not path or path[0] == "*" or path[0] in sensitive)

    def _sensitive(self, name: str) -> frozenset[str] | None:
        """Return the names of the sensitive attributes of a resource; None if they are unknown."""
        kind = kind_of_type(self.types, self.members.get(name, ""))
        if kind is None or issubclass(kind, StackResource):
            return None
        return frozenset(each for each, schema in kind.attributes_schema.items() if schema.sensitive)

    def _stack(self) -> StackDefinition:
        proxies = {}
        for name in self.members:
            sensitive = self._sensitive(name)
            if sensitive is not None:
                # The reference id of a type with a secret may be that.
                secrets = (*((each,) for each in sensitive), *([()] if sensitive else []))
                data = NodeData(uuid="", name=name, action="", status="", secrets=secrets)
                proxies[name] = ResourceProxy(name=name, data=data)
        return StackDefinition.of_context(self.context, resources=proxies)
