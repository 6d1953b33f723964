"""Resource type of template files: ``type: server.yaml``."""

from collections.abc import Mapping
from typing import ClassVar, Final

from orchestrator.plugins.resource import Resource
from orchestrator.plugins.stack_resource import Blueprint, Child, StackResource, member_attributes
from orchestrator.template.locations import is_template

#: The output of a template that ``get_resource`` resolves to where it is used as a type.
_REFERENCE: Final = "OS::stack_id"


class TemplateResource(StackResource):
    """A nested stack of a template file that came with the template.

    Its properties are the file's parameters; its attributes are the file's outputs, and ``resource.NAME`` or
    ``resource.NAME.ATTRIBUTE`` for the resources in it.
    """

    description = "A stack made from a template file."
    accepts_anything: ClassVar[bool] = True
    is_known_before: ClassVar[bool] = True

    @classmethod
    def blueprint(cls, name: str, properties: Mapping[str, object]) -> Blueprint | None:
        """Return None: the file itself is validated."""
        return None

    def child(self) -> Child:
        """Return the file's template, with the properties for its parameters."""
        return Child(
            template=self.stack.files[self.type_name],
            file=self.type_name,
            parameters={name: value for name, value in self.properties.items() if value is not None},
            asks=member_attributes(self.wanted),
        )

    def reference_id(self) -> str | None:
        """Return the output ``OS::stack_id`` if the template has one, else the stack's id."""
        reference = self.stacks.outputs().get(_REFERENCE)
        return self.stacks.id if reference is None else str(reference)

    def attribute(self, name: str) -> object:
        """Return an output; for ``outputs`` return all of them, unless one has that name."""
        outputs = self.stacks.outputs()
        return outputs if name == "outputs" and name not in outputs else self.stacks.output(name)


def kind_of_type(types: Mapping[str, type[Resource]], name: str) -> type[Resource] | None:
    """Return the class of an installed type or of a template file; None if the name is neither."""
    return TemplateResource if is_template(name) else types.get(name)
