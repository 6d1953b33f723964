"""Whether what the dashboard is made of is installed. Flower is not imported here: most commands do without it."""

from importlib.metadata import PackageNotFoundError, version
from typing import Final

from packaging.specifiers import SpecifierSet

from orchestrator.errors import InvalidInput, Problem

#: The versions of Flower for which the tests hold what we rely on.
FLOWERS: Final = SpecifierSet(">=2.2,<2.3")
HINT: Final = "pip install 'isotherm[dashboard]'"


def flower_version() -> str | None:
    """Return the version of Flower that is installed; None if it is not."""
    try:
        return version("flower")
    except PackageNotFoundError:
        return None


def require_flower() -> None:
    """Refuse to go on where Flower is not installed, or is one that may let in whom ours does not.

    Raises:
        InvalidInput: with what to install.
    """
    found = flower_version()
    if found is None:
        raise InvalidInput([Problem(message="the dashboard needs Flower, which is not installed", hint=HINT)])
    if found not in FLOWERS:
        message = f"the dashboard needs Flower {FLOWERS}, and found is {found}"
        raise InvalidInput([Problem(message=message, hint=HINT)])
