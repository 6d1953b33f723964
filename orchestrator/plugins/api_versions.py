"""API versions that a properties group allows: one version, a span, or a range such as ``>=2.1,<3``.

Versions are compared by their numbers, part by part: 2.9 comes before 2.10, and 2.1 is 2.1.0.
"""

import re
from collections.abc import Iterable
from dataclasses import field
from typing import TYPE_CHECKING, Final

from hooks.values.dataclass import dataclass

# Slow to import, and needed by types that depend on API versions alone.
if TYPE_CHECKING:
    from packaging.specifiers import SpecifierSet
    from packaging.version import Version

_VERSION: Final = r"v?\d+(\.\d+)*"
#: One clause of a range; ``===``, which compares texts, is not supported.
_BOUND: Final = r"\s*(>=|<=|>|<|!=|==|~=)\s*\d+(\.\d+)*(\.\*)?\s*"
_FORMS: Final = 'a version such as "2.1", a span such as "2.1-2.90" or a range such as ">=2.1,<3"'


@dataclass(frozen=True, slots=True)
class AllowedVersions:
    """The versions that one declared text describes, including both ends of a span.

    Raises:
        ValueError: the text has none of the forms, or no version satisfies it.
    """

    text: str
    _allowed: "SpecifierSet" = field(init=False, repr=False, compare=False)

    def __post_init__(self) -> None:
        from packaging.specifiers import InvalidSpecifier, SpecifierSet

        try:
            allowed = SpecifierSet(self._range())
        except InvalidSpecifier as error:
            raise ValueError(f"expected {_FORMS}, found {self.text!r}") from error
        if allowed.is_unsatisfiable():
            raise ValueError(f"no version satisfies {self.text!r}")
        object.__setattr__(self, "_allowed", allowed)

    def _range(self) -> str:
        from packaging.specifiers import InvalidSpecifier

        if re.fullmatch(_VERSION, self.text):
            return f"=={self.text}"
        ends = self.text.split("-")
        if len(ends) == 2 and all(re.fullmatch(_VERSION, end) for end in ends):
            return f">={ends[0]},<={ends[1]}"
        if not all(re.fullmatch(_BOUND, bound) for bound in self.text.split(",")):
            raise InvalidSpecifier(self.text)
        return self.text

    def __contains__(self, version: "Version") -> bool:
        return self._allowed.contains(version, prereleases=True)

    def __str__(self) -> str:
        return self.text.replace("-", " to ")


def is_allowed(version: str, allowed: Iterable[AllowedVersions]) -> bool:
    """Return whether the API version of a client plugin is allowed; an empty text (no versions) never is.

    Raises:
        ValueError: the text is no version.
    """
    if not version:
        return False
    from packaging.version import InvalidVersion, Version

    try:
        spoken = Version(version)
    except InvalidVersion as error:
        raise ValueError(f"{version!r} is no version") from error
    return any(spoken in each for each in allowed)
