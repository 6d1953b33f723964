"""Check of the packages that the API needs, without importing them."""

from importlib.util import find_spec
from typing import Final

from orchestrator.api.kinds import KEYSTONE
from orchestrator.errors import InvalidInput, Problem

#: The packages by their modules, and the extra of ours that installs them.
_ALWAYS: Final = {"falcon": "falcon", "gunicorn": "gunicorn", "limits": "limits"}
_OF_KEYSTONE: Final = {"keystonemiddleware": "keystonemiddleware"}


def require_api(auth: str) -> None:
    """Check that what the API needs is installed, with keystone's middleware if callers are its users.

    Raises:
        InvalidInput: something is not; the hint names what to install.
    """
    wanted = {**_ALWAYS, **(_OF_KEYSTONE if auth == KEYSTONE else {})}
    missing = [package for module, package in wanted.items() if find_spec(module) is None]
    if missing:
        extra = "keystone" if missing == [*_OF_KEYSTONE.values()] else "api"
        message = f"the API needs {' and '.join(missing)}, which is not installed"
        raise InvalidInput([Problem(message=message, hint=f"pip install 'isotherm[{extra}]'")])
