"""Logging in by a provider that leads back: to which page, with which cookies; and what keeps anybody from it."""

from collections.abc import Iterator
from typing import Any
from urllib.parse import parse_qs, urlsplit

import httpx
import pytest
from flower.views import BaseHandler
from flower.views.auth import OAuth2StateMixin, get_next_url

from orchestrator.config.settings import Settings
from orchestrator.dashboard.login import login, provider_named
from orchestrator.service import Service
from orchestrator.store.store import Store
from tests.unit.orchestrator.dashboard.serving import client, served


class Provider(BaseHandler, OAuth2StateMixin):  # type: ignore[misc]  # Flower is untyped
    """Lets in whom the code names, as Flower's own handlers do when a provider has told them the name."""

    async def get(self) -> None:
        """Lead to the provider, or take what comes from there."""
        if not self.get_argument("code", ""):
            self.redirect(f"https://provider.example/authorize?state={self.set_oauth_state()}")
            return
        self.verify_oauth_state()
        self.set_secure_cookie("user", self.get_argument("code"))
        self.redirect(get_next_url(self))


NAME = f"{__name__}:Provider"


@pytest.fixture(scope="module", params=["", "ops"], ids=["plain", "prefixed"])
def browser(
    request: pytest.FixtureRequest, distributed: Settings, service: Service
) -> Iterator[httpx.Client]:
    """Somebody who has not logged in yet, behind a proxy with TLS."""
    given: dict[str, Any] = {"auth": ".*@example.org", "auth_provider": NAME, "xheaders": True}
    prefix = {"url_prefix": request.param} if request.param else {}
    with served(distributed, Store.of(distributed), **given, **prefix) as dashboard:
        headers = {"X-Scheme": "https"}
        # Cookies that keep to TLS are kept from httpx, too: the tests hand them on.
        with client(dashboard, headers=headers) as made:
            yield made


def cookies_of(answer: httpx.Response) -> dict[str, str]:
    """Return what is sent back: the first part of each cookie that was set."""
    return dict(
        each.partition(";")[0].split("=", 1) for each in answer.headers.get_list("Set-Cookie") if "=" in each
    )


def logged_in(browser: httpx.Client, page: str, *, cookies: dict[str, str] | None = None) -> httpx.Response:
    """Return what the provider's last word is answered with, of somebody who began at this address of logging in."""
    asked = browser.get(page)
    (state,) = parse_qs(urlsplit(asked.headers["Location"]).query)["state"]
    kept = {**(cookies or {}), **cookies_of(asked)}
    header = "; ".join(f"{name}={value}" for name, value in kept.items() if value != '""')
    return browser.get(
        "/login", params={"code": "ann@example.org", "state": state}, headers={"Cookie": header}
    )


def test_one_comes_back_to_the_page_that_was_asked_for(browser: httpx.Client) -> None:
    sent = browser.get("/stacks?search=a&states=failed")
    assert sent.status_code == 302
    back = logged_in(browser, sent.headers["Location"].removeprefix(browser.base_url.path.rstrip("/")))
    prefix = browser.base_url.path.rstrip("/")
    assert back.headers["Location"] == f"{prefix}/stacks?search=a&states=failed"


def test_without_a_page_one_comes_to_the_first(browser: httpx.Client) -> None:
    earlier = cookies_of(browser.get("/login", params={"next": "/stacks"}))
    back = logged_in(browser, "/login", cookies={"wanted": earlier["wanted"]})
    assert back.headers["Location"] == (browser.base_url.path.rstrip("/") or "/")


@pytest.mark.parametrize("page", ["https://evil.example/", "//evil.example/", "/\\evil.example"])
def test_nobody_is_led_to_another_site(page: str, browser: httpx.Client) -> None:
    back = logged_in(browser, str(httpx.URL("/login", params={"next": page})))
    assert back.headers["Location"] == (browser.base_url.path.rstrip("/") or "/")


def test_cookies_that_came_by_tls_keep_to_it(browser: httpx.Client) -> None:
    asked = browser.get("/login", params={"next": "/stacks"})
    back = logged_in(browser, "/login")
    told = asked.headers.get_list("Set-Cookie") + back.headers.get_list("Set-Cookie")
    told = [each for each in told if not each.startswith(('wanted=""', 'oauth_state=""'))]
    assert {each.partition("=")[0] for each in told} == {"wanted", "oauth_state", "user"}
    assert all("Secure" in each and "HttpOnly" in each and "SameSite=Lax" in each for each in told)


def test_what_is_no_handler_is_none() -> None:
    assert provider_named(NAME) is Provider
    for name in ("nowhere.Provider", "flower.views.auth.Nobody", "flower.views.auth", "os.path.join", "x"):
        assert provider_named(name) is None
    assert login(None) == login("") == []
