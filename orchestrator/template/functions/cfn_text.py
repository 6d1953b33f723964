"""CFN's functions that join, split or replace text: Fn::Join, Fn::Split, Fn::Replace, Fn::Base64."""

from typing import ClassVar

from orchestrator.definition import StackDefinition
from orchestrator.template.document import Path
from orchestrator.template.functions.base import (
    LATER,
    Example,
    Function,
    FunctionError,
    expect_text,
    kind_of,
)
from orchestrator.template.functions.bounds import check_parts
from orchestrator.template.functions.text import ListJoin, StrReplace
from orchestrator.template.versions import CFN_AND_FIRST_HOT


class FnJoin(ListJoin):
    """``Fn::Join: [delimiter, list]``: the items of the list, joined to one text.

    Nulls become empty texts; anything else that is not text is refused.
    """

    name = "Fn::Join"
    lifetime = CFN_AND_FIRST_HOT
    expected_items = (2, "a delimiter and a list")
    examples = (Example("Fn::Join: [':', [one, null, two]]", "one::two", version="2013-05-23"),)


class FnSplit(Function):
    """``Fn::Split: [delimiter, text]``: the list of the pieces between the delimiters."""

    name = "Fn::Split"
    lifetime = CFN_AND_FIRST_HOT
    pure = True
    expected_items = (2, "a delimiter and a text")
    examples: ClassVar[tuple[Example, ...]] = (
        Example("Fn::Split: [',', 'a,b,,c']", ["a", "b", "", "c"], version="2013-05-23"),
    )

    def check(self) -> None:
        for index, item in enumerate(self.arguments):
            if not isinstance(item, LATER):
                expect_text(item, index)

    def call(self, arguments: list[object], stack: StackDefinition) -> list[str]:
        delimiter, text = (expect_text(item, index) for index, item in enumerate(arguments))
        if not delimiter:
            raise FunctionError("the delimiter cannot be empty", path=(0,))
        check_parts(text.count(delimiter) + 1, "items")
        return text.split(delimiter)


class FnReplace(StrReplace):
    """``Fn::Replace: [{placeholder: value}, text]``: the text with placeholders replaced.

    Longer placeholders are replaced first, and replacements are never searched again. A null becomes the empty text;
    maps and lists are refused.
    """

    name = "Fn::Replace"
    lifetime = CFN_AND_FIRST_HOT
    expected_items = (2, "a map of placeholders and a text")
    examples = (
        Example(
            "Fn::Replace: [{HOST: db, PORT: 80}, 'http://HOST:PORT']", "http://db:80", version="2013-05-23"
        ),
    )

    def check(self) -> None:
        if not isinstance(self.arguments[0], (dict, *LATER)):
            message = f"expected a map of placeholders, found {kind_of(self.arguments[0])}"
            raise FunctionError(message, path=(0,))

    def call(self, arguments: list[object], stack: StackDefinition) -> str:
        placeholders, text = arguments
        try:
            return super().call({"params": placeholders, "template": text}, stack)
        except FunctionError as error:
            # The hints of str_replace name versions that no longer have Fn::Replace.
            raise FunctionError(str(error), path=_place(error.path)) from None


class FnBase64(Function):
    """``Fn::Base64: text``: the text unchanged. Resource types that take user data encode it where needed."""

    name = "Fn::Base64"
    lifetime = CFN_AND_FIRST_HOT
    pure = True
    examples: ClassVar[tuple[Example, ...]] = (
        Example("Fn::Base64: '#!/bin/sh'", "#!/bin/sh", version="2013-05-23"),
    )

    def check(self) -> None:
        if not isinstance(self.arguments, LATER):
            expect_text(self.arguments)

    def call(self, arguments: object, stack: StackDefinition) -> str:
        return expect_text(arguments)


def _place(path: Path) -> Path:
    """Return the path in Fn::Replace's arguments that ``path`` has in str_replace's: the placeholders come first."""
    return ({"params": 0, "template": 1}[str(path[0])], *path[1:]) if path else ()
