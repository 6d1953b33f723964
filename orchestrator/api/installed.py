"""Check of the packages that the API needs, without importing them."""

from importlib.util import find_spec
from typing import Final

from orchestrator.api.kinds import KEYSTONE
from orchestrator.errors import InvalidInput, Problem

#: The extras of ours, and the packages that each installs, by their modules.
_EXTRAS: Final = {
    "api": {"falcon": "falcon", "gunicorn": "gunicorn", "limits": "limits"},
    "keystone": {"keystonemiddleware": "keystonemiddleware", "oslo_policy": "oslo.policy"},
    "prometheus": {"prometheus_client": "prometheus-client"},
}


def require_api(auth: str, *, metrics: bool = False) -> None:
    """Check that what the API needs is installed, with what verifies tokens of keystone, or counts, if it does that.

    Raises:
        InvalidInput: something is not; the hint names what to install.
    """
    wanted = {"api": True, "keystone": auth == KEYSTONE, "prometheus": metrics}
    missing = {
        package: extra
        for extra, packages in _EXTRAS.items()
        if wanted[extra]
        for module, package in packages.items()
        if find_spec(module) is None
    }
    if missing:
        message = f"the API needs {' and '.join(missing)}, which is not installed"
        extras = ",".join(dict.fromkeys(missing.values()))
        raise InvalidInput([Problem(message=message, hint=f"pip install 'isotherm[{extras}]'")])
