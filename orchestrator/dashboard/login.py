"""Logging in by OAuth, which is Flower's: here people come back to the page they asked for, and cookies keep to TLS."""

from typing import Any, Final

from celery.utils.imports import symbol_by_name
from flower.views import BaseHandler
from flower.views.auth import is_safe_redirect
from tornado.web import url

#: The cookie that says which page was asked for, while people say elsewhere who they are, and for how long it does.
_WANTED: Final = "wanted"
_WANTED_DAYS: Final = 1 / 24


class ComesBack(BaseHandler):  # type: ignore[misc]  # Flower is untyped
    """Goes before a handler that logs in: a provider leads back to one address, and knows of no page."""

    def set_oauth_state(self) -> Any:
        """Keep the page beside what Flower keeps."""
        page = self.get_query_argument("next", "")
        if is_safe_redirect(page):
            self.set_secure_cookie(_WANTED, page, expires_days=_WANTED_DAYS)
        else:
            self.clear_cookie(_WANTED)
        return super().set_oauth_state()

    def get_argument(self, name: str, *args: Any, **kwargs: Any) -> Any:
        """Return an argument; as the page to go on with, the one that was kept."""
        kept = self.get_secure_cookie(_WANTED) if name == "next" else None
        if kept is None:
            return super().get_argument(name, *args, **kwargs)
        self.clear_cookie(_WANTED)
        return kept.decode()

    def set_secure_cookie(self, name: str, value: str, *args: Any, **kwargs: Any) -> None:
        """Set a cookie; one that came by TLS is sent by nothing else."""
        kwargs.setdefault("secure", self.request.protocol == "https")
        super().set_secure_cookie(name, value, *args, **kwargs)


def provider_named(name: str) -> type[BaseHandler] | None:
    """Return the handler that ``--auth_provider`` names; None if there is none of this name."""
    try:
        found = symbol_by_name(name)
    except (ImportError, AttributeError, ValueError):
        return None
    return found if isinstance(found, type) and issubclass(found, BaseHandler) else None


def login(provider: str | None) -> list[Any]:
    """Return the address at which people log in by a provider; nothing if there is none."""
    handler = provider_named(provider) if provider else None
    if handler is None:
        return []
    return [url(r"/login", type(handler.__name__, (ComesBack, handler), {}), name="login")]
