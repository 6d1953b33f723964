"""CFN's functions that make text, or take it apart: Fn::Join, Fn::Split, Fn::Replace, Fn::Base64."""

from typing import Any, ClassVar

from orchestrator.definition import StackDefinition
from orchestrator.template.document import Path
from orchestrator.template.functions.base import LATER, Example, Function, FunctionError, kind_of
from orchestrator.template.functions.bounds import check_parts
from orchestrator.template.functions.logic import expect_list
from orchestrator.template.functions.text import ListJoin, StrReplace
from orchestrator.template.versions import CFN_AND_FIRST_HOT


class FnJoin(ListJoin):
    """``Fn::Join: [delimiter, list]``: the items of the list, joined to one text.

    Nulls become nothing; whatever else is not text is refused.
    """

    name = "Fn::Join"
    lifetime = CFN_AND_FIRST_HOT
    examples = (Example("Fn::Join: [':', [one, null, two]]", "one::two", version="2013-05-23"),)

    def check(self) -> None:
        """Refuse what is not a delimiter and one list."""
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
        """Refuse what is not a delimiter and a text."""
        for index, item in enumerate(expect_list(self.arguments, 2, "a delimiter and a text")):
            if not isinstance(item, (str, *LATER)):
                raise FunctionError(f"expected text, found {kind_of(item)}", path=(index,))

    def call(self, arguments: Any, stack: StackDefinition) -> Any:  # noqa: ARG002 - nothing but the arguments counts
        """Return the pieces."""
        delimiter, text = (as_text(item, (index,)) for index, item in enumerate(arguments))
        if not delimiter:
            raise FunctionError("the delimiter cannot be empty", path=(0,))
        check_parts(text.count(delimiter) + 1, "items")
        return text.split(delimiter)


class FnReplace(StrReplace):
    """``Fn::Replace: [{placeholder: value}, text]``: the text with placeholders replaced.

    Longer placeholders go first, and what was put in is never searched again. A null becomes nothing; maps and lists
    are refused.
    """

    name = "Fn::Replace"
    lifetime = CFN_AND_FIRST_HOT
    examples = (
        Example(
            "Fn::Replace: [{HOST: db, PORT: 80}, 'http://HOST:PORT']", "http://db:80", version="2013-05-23"
        ),
    )

    def check(self) -> None:
        """Refuse what is not a map of placeholders and a text."""
        placeholders, _ = expect_list(self.arguments, 2, "a map of placeholders and a text")
        if not isinstance(placeholders, (dict, *LATER)):
            message = f"expected a map of placeholders, found {kind_of(placeholders)}"
            raise FunctionError(message, path=(0,))

    def call(self, arguments: Any, stack: StackDefinition) -> Any:
        """Return the text with placeholders replaced."""
        placeholders, text = arguments
        try:
            return super().call({"params": placeholders, "template": text}, stack)
        except FunctionError as error:
            # Its hints tell of versions in which there is no Fn::Replace any more.
            raise FunctionError(str(error), path=_place(error.path)) from None


class FnBase64(Function):
    """``Fn::Base64: text``: the text as it is. Whoever takes user data encodes it where that is needed."""

    name = "Fn::Base64"
    lifetime = CFN_AND_FIRST_HOT
    pure = True
    examples: ClassVar[tuple[Example, ...]] = (
        Example("Fn::Base64: '#!/bin/sh'", "#!/bin/sh", version="2013-05-23"),
    )

    def check(self) -> None:
        """Refuse what is not text."""
        if not isinstance(self.arguments, LATER):
            as_text(self.arguments, ())

    def call(self, arguments: Any, stack: StackDefinition) -> Any:  # noqa: ARG002 - nothing but the arguments counts
        """Return the text."""
        return as_text(arguments, ())


def as_text(value: Any, path: Path) -> str:
    """Return ``value`` if it is text.

    Raises:
        FunctionError: it is not; ``path`` is where it stands.
    """
    if not isinstance(value, str):
        raise FunctionError(f"expected text, found {kind_of(value)}", path=path)
    return value


def _place(path: Path) -> Path:
    """Return where CFN has what HOT has at ``path``: the map of placeholders comes first."""
    return ({"params": 0, "template": 1}[str(path[0])], *path[1:]) if path else ()
