"""Login by OAuth: Flower's handlers, with a return to the requested page and cookies restricted to TLS."""

from typing import Any, Final

from celery.utils.imports import symbol_by_name
from flower.views import BaseHandler
from flower.views.auth import is_safe_redirect
from tornado.web import url

#: The cookie with the requested page during the login at the provider, and its lifetime.
_WANTED: Final = "wanted"
_WANTED_DAYS: Final = 1 / 24


class ComesBack(BaseHandler):  # type: ignore[misc]  # Flower is untyped
    """Mixin of a login handler that returns to the requested page: a provider redirects to one address only."""

    def set_oauth_state(self) -> object:
        """Store the requested page in a cookie, then do what Flower does."""
        page = self.get_query_argument("next", "")
        if is_safe_redirect(page):
            self.set_secure_cookie(_WANTED, page, expires_days=_WANTED_DAYS)
        else:
            self.clear_cookie(_WANTED)
        return super().set_oauth_state()

    def get_argument(self, name: str, *args: Any, **kwargs: Any) -> object:
        """Return an argument; for ``next``, the page stored in the cookie, if any."""
        kept = self.get_secure_cookie(_WANTED) if name == "next" else None
        if kept is None:
            return super().get_argument(name, *args, **kwargs)
        self.clear_cookie(_WANTED)
        return kept.decode()

    def set_secure_cookie(self, name: str, value: str, *args: Any, **kwargs: Any) -> None:
        """Set a cookie; over TLS it is marked as secure."""
        kwargs.setdefault("secure", self.request.protocol == "https")
        super().set_secure_cookie(name, value, *args, **kwargs)


def provider_named(name: str) -> type[BaseHandler] | None:
    """Return the handler that ``--auth_provider`` names; None if it does not exist."""
    try:
        found = symbol_by_name(name)
    except (ImportError, AttributeError, ValueError):
        return None
    return found if isinstance(found, type) and issubclass(found, BaseHandler) else None


def login(provider: str | None) -> list[Any]:
    """Return the route of the provider's login; empty if there is no provider."""
    handler = provider_named(provider) if provider else None
    if handler is None:
        return []
    return [url(r"/login", type(handler.__name__, (ComesBack, handler), {}), name="login")]
