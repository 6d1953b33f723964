"""Existence in HTTP APIs, and configured APIs: ``http.exists``, ``http.api``."""

from orchestrator.plugins.constraints import shown
from orchestrator.plugins.custom import ClientConstraint
from workers.clients.http import API, PATH, split_path
from workers.clients.http_failures import fault_of_path


class HttpApi(ClientConstraint):
    """An API that the settings know: the name of one of ``[clients.http.apis]``, or ``default``."""

    name = "http.api"
    client = "http"
    entity = API


class HttpExists(ClientConstraint):
    """A path that answers a GET with success, such as ``/images/cirros``, or ``images:/cirros`` of a named API."""

    name = "http.exists"
    client = "http"
    entity = PATH

    def fault(self, value: object) -> str | None:
        """Return the fault of a path as it is written."""
        found = fault_of_path(split_path(value)[1]) if isinstance(value, str) else "a path is a text"
        return f"{shown(value)} is no path of an HTTP API: {found}" if found else None
