"""The answers to requests that are refused whichever route they have."""

from tornado.web import HTTPError, RequestHandler

from orchestrator.dashboard.access import Refusal
from orchestrator.dashboard.handlers.base import DataHandler, PageHandler, StackHandler


class _Refused(StackHandler):
    """Mixin that refuses every request."""

    #: The handler that it stands in for.
    instead_of: type[RequestHandler]

    def prepare(self) -> None:
        """Refuse.

        Raises:
            HTTPError: always.
        """
        refused: Refusal = self.application.refusal_of(self.request, self.instead_of)
        raise HTTPError(refused.status, "%s", refused.sentence)


class RefusedPage(_Refused, PageHandler):
    """A page with the reason."""


class RefusedData(_Refused, DataHandler):
    """The reason as JSON."""


def refused_by(handler: type[RequestHandler]) -> type[StackHandler]:
    """Return what answers in the place of a handler: data for data, and a page for all else."""
    kind = RefusedData if issubclass(handler, DataHandler) else RefusedPage
    return type(kind.__name__, (kind,), {"instead_of": handler})
