"""The answers to requests whose host name may be another site's."""

from tornado.web import HTTPError, RequestHandler

from orchestrator.dashboard.access import host_refusal
from orchestrator.dashboard.handlers.base import DataHandler, PageHandler, StackHandler


class _Refused(StackHandler):
    """Mixin that refuses every request."""

    def prepare(self) -> None:
        """Refuse.

        Raises:
            HTTPError: always.
        """
        refused = host_refusal(self.application.mode, self.request.host_name)
        assert refused is not None  # noqa: S101  # the application has asked the same; for the type checker
        raise HTTPError(refused.status, "%s", refused.sentence)


class RefusedPage(_Refused, PageHandler):
    """A page with the reason."""


class RefusedData(_Refused, DataHandler):
    """The reason as JSON."""


def refused_by(handler: type[RequestHandler]) -> type[StackHandler]:
    """Return what answers in the place of a handler: data for data, and a page for all else."""
    return RefusedData if issubclass(handler, DataHandler) else RefusedPage
