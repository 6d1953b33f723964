"""CFN's functions that join, split or replace text: Fn::Join, Fn::Split, Fn::Replace, Fn::Base64."""

from typing import ClassVar

from orchestrator.definition import StackDefinition
from orchestrator.template.document import Path
from orchestrator.template.functions.base import LATER, Example, Function, FunctionError, kind_of
from orchestrator.template.functions.bounds import check_parts
from orchestrator.template.functions.logic import expect_list
from orchestrator.template.functions.text import ListJoin, StrReplace
from orchestrator.template.versions import CFN_AND_FIRST_HOT


class FnJoin(ListJoin):
    """``Fn::Join: [delimiter, list]``: the items of the list, joined to one text.

    Nulls become empty texts; anything else that is not text is refused.
    """

    name = "Fn::Join"
    lifetime = CFN_AND_FIRST_HOT
    examples = (Example("Fn::Join: [':', [one, null, two]]", "one::two", version="2013-05-23"),)

    def check(self) -> None:
        """Check for a delimiter and one list.

        Raises:
            FunctionError: the arguments are something else.
        """
        expect_list(self.arguments, 2, "a delimiter and a list")
        super().check()


class FnSplit(Function):
    """``Fn::Split: [delimiter, text]``: the list of the pieces between the delimiters."""

    name = "Fn::Split"
    lifetime = CFN_AND_FIRST_HOT
    pure = True
    examples: ClassVar[tuple[Example, ...]] = (
        Example("Fn::Split: [',', 'a,b,,c']", ["a", "b", "", "c"], version="2013-05-23"),
    )

    def check(self) -> None:
        """Check for a delimiter and a text.

        Raises:
            FunctionError: the arguments are something else.
        """
        for index, item in enumerate(expect_list(self.arguments, 2, "a delimiter and a text")):
            if not isinstance(item, (str, *LATER)):
                raise FunctionError(f"expected text, found {kind_of(item)}", path=(index,))

    def call(self, arguments: list[object], stack: StackDefinition) -> list[str]:  # noqa: ARG002 - pure
        """Return the pieces.

        Raises:
            FunctionError: the delimiter is empty, or there would be too many pieces.
        """
        delimiter, text = (as_text(item, (index,)) for index, item in enumerate(arguments))
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
    examples = (
        Example(
            "Fn::Replace: [{HOST: db, PORT: 80}, 'http://HOST:PORT']", "http://db:80", version="2013-05-23"
        ),
    )

    def check(self) -> None:
        """Check for a map of placeholders and a text.

        Raises:
            FunctionError: the arguments are something else.
        """
        placeholders, _ = expect_list(self.arguments, 2, "a map of placeholders and a text")
        if not isinstance(placeholders, (dict, *LATER)):
            message = f"expected a map of placeholders, found {kind_of(placeholders)}"
            raise FunctionError(message, path=(0,))

    def call(self, arguments: list[object], stack: StackDefinition) -> str:
        """Return the text with placeholders replaced.

        Raises:
            FunctionError: an argument is of another kind, or the text would be too long.
        """
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
        """Check for text.

        Raises:
            FunctionError: the argument is something else.
        """
        if not isinstance(self.arguments, LATER):
            as_text(self.arguments, ())

    def call(self, arguments: object, stack: StackDefinition) -> str:  # noqa: ARG002 - pure
        """Return the text.

        Raises:
            FunctionError: the argument is no text.
        """
        return as_text(arguments, ())


def as_text(value: object, path: Path) -> str:
    """Return ``value`` if it is text.

    Raises:
        FunctionError: it is not; ``path`` is its place.
    """
    if not isinstance(value, str):
        raise FunctionError(f"expected text, found {kind_of(value)}", path=path)
    return value


def _place(path: Path) -> Path:
    """Return the path in Fn::Replace's arguments that ``path`` has in str_replace's: the placeholders come first."""
    return ({"params": 0, "template": 1}[str(path[0])], *path[1:]) if path else ()
