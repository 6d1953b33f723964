"""Check of the installed version of Flower, without importing it: most commands do not need it."""

from importlib.metadata import PackageNotFoundError, version
from typing import Final

from packaging.specifiers import SpecifierSet

from orchestrator.errors import InvalidInput, Problem

#: The versions of Flower that the tests cover.
FLOWERS: Final = SpecifierSet(">=2.2,<2.3")
HINT: Final = "pip install 'isotherm[dashboard]'"


def flower_version() -> str | None:
    """Return the installed version of Flower; None if it is not installed."""
    try:
        return version("flower")
    except PackageNotFoundError:
        return None


def require_flower() -> None:
    """Check that a supported version of Flower is installed: others may not enforce our access control.

    Raises:
        InvalidInput: it is not; the hint names what to install.
    """
    found = flower_version()
    if found is None:
        raise InvalidInput([Problem(message="the dashboard needs Flower, which is not installed", hint=HINT)])
    if found not in FLOWERS:
        message = f"the dashboard needs Flower {FLOWERS}, and found is {found}"
        raise InvalidInput([Problem(message=message, hint=HINT)])
