"""Regular expressions that are matched in linear time, whatever the text: it is a user's, and may be hostile.

Python's own expressions can take years for a text of thirty characters, and stop the whole process meanwhile.
"""

from typing import Final

#: So many instructions are far from the memory that a text may need to be matched with them.
_MOST_INSTRUCTIONS: Final = 10_000


class Regular:
    """A regular expression of RE2, https://github.com/google/re2/wiki/Syntax, for whole texts."""

    def __init__(self, pattern: str) -> None:
        """Compile it.

        Raises:
            ValueError: it is no expression, or there is no library for it; the sentence says which.
        """
        try:
            import re2
        except ImportError:
            raise ValueError(
                "regular expressions need the package google-re2: pip install 'isotherm[policy]'"
            ) from None
        options = re2.Options()
        options.log_errors, options.never_capture = False, True
        # A set of one is asked three times as fast as an expression is, which tells where it matched, too.
        self._set = re2.Set.FullMatchSet(options)
        try:
            size = re2.compile(pattern, options).programsize
            self._set.Add(pattern)
            self._set.Compile()
        except re2.error as error:
            reason = error.args[0]
            said = reason.decode(errors="replace") if isinstance(reason, bytes) else str(reason)
            raise ValueError(f"{pattern!r} is no regular expression of RE2: {said}") from None

        if size > _MOST_INSTRUCTIONS:
            raise ValueError(f"the regular expression {pattern[:60]!r} is too large: repeat less often in it")

    def __call__(self, text: bytes) -> bool:
        """Tell whether a text in UTF-8 matches as a whole."""
        return self._set.Match(text) is not None
