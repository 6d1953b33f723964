"""Regular expressions matched in linear time, whatever the text, which a user may have chosen to be hostile.

Python's own expressions can take years for a text of thirty characters, and stop the whole process meanwhile.
"""

from typing import Final

#: The limit of an expression's size, which bounds the memory of a match.
_MOST_INSTRUCTIONS: Final = 10_000


class Regular:
    """A regular expression of RE2, https://github.com/google/re2/wiki/Syntax, for whole texts."""

    def __init__(self, pattern: str) -> None:
        """Compile the expression.

        Raises:
            ValueError: the pattern is invalid, or RE2 is not installed.
        """
        try:
            import re2
        except ImportError:
            raise ValueError(
                "regular expressions need the package google-re2: pip install 'isotherm[policy]'"
            ) from None
        options = re2.Options()
        options.log_errors, options.never_capture = False, True
        # A set of one expression matches three times as fast as an expression, which also finds the position.
        self._set = re2.Set.FullMatchSet(options)
        try:
            size = re2.compile(pattern, options).programsize
            self._set.Add(pattern)
            self._set.Compile()
        except re2.error as error:
            reason = error.args[0]
            message = reason.decode(errors="replace") if isinstance(reason, bytes) else str(reason)
            raise ValueError(f"{pattern!r} is no regular expression of RE2: {message}") from None

        if size > _MOST_INSTRUCTIONS:
            raise ValueError(f"the regular expression {pattern[:60]!r} is too large: repeat less often in it")

    def __call__(self, text: bytes) -> bool:
        """Return whether a text in UTF-8 matches as a whole."""
        return self._set.Match(text) is not None
