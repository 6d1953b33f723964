"""Functions that read files: get_file."""

from collections.abc import Iterable
from typing import ClassVar

from orchestrator.definition import StackDefinition
from orchestrator.errors import cut
from orchestrator.template.functions.base import LATER, Example, Function, FunctionError, KnownNames, kind_of
from orchestrator.template.functions.references import UnknownName


class GetFile(Function):
    """``get_file: key``: the content of a file that came with the template, as it is.

    The key is looked up as it stands; nothing is ever fetched here.
    """

    name = "get_file"
    examples: ClassVar[tuple[Example, ...]] = (
        Example("get_file: greet.sh", "echo hello\n", files={"greet.sh": "echo hello\n"}),
    )

    def check(self) -> None:
        if not isinstance(self.arguments, (str, *LATER)):
            raise FunctionError(f"expected the file's name, found {kind_of(self.arguments)}")

    def call(self, arguments: object, stack: StackDefinition) -> str:
        if not isinstance(arguments, str):
            raise FunctionError(f"expected the file's name, found {kind_of(arguments)}")
        if arguments not in stack.files:
            if arguments != self.arguments:
                # The result of a call may be a secret.
                raise FunctionError("no file of the name that this gives came with the template")
            hint = self.scope.nearest.hint(arguments, stack.files)
            raise FunctionError(f"no file {cut(arguments)!r} came with the template", hint=hint)
        return stack.files[arguments]

    def required_files(self) -> Iterable[str] | None:
        return (self.arguments,) if isinstance(self.arguments, str) else None

    def missing(self, names: KnownNames) -> FunctionError | None:
        key = self.arguments
        if not isinstance(key, str) or key in names.files:
            return None
        return UnknownName(f"no file {cut(key)!r} came with the template", key, names.files)
