"""What the dashboard relies on in Flower, which promises none of it: a new Flower is taken once all of this holds."""

import inspect
import re
from base64 import b64encode
from collections.abc import Iterator
from pathlib import Path

import flower.app
import flower.command
import httpx
import prometheus_client
import pytest
from flower.api import BaseApiHandler
from flower.api.tasks import TaskApply, TaskAsyncApply, TaskSend
from flower.app import Flower, rewrite_handler
from flower.urls import handlers
from flower.urls import settings as flowers
from flower.views.tasks import TasksDataTable
from prometheus_client.core import GaugeMetricFamily
from tornado.template import Template
from tornado.web import StaticFileHandler, url

from orchestrator.config.settings import Settings
from orchestrator.dashboard.controls import Control, controls
from orchestrator.dashboard.guards import FLOWER_SCRIPTS, FLOWER_STYLE
from orchestrator.dashboard.loader import StackLoader, with_entry, without_tables
from orchestrator.dashboard.options import DEFAULTS
from orchestrator.service import Service
from orchestrator.store.store import Store
from tests.unit.orchestrator.dashboard.serving import client, option_values, served
from tests.waiting import PATIENCE_SECONDS

TEMPLATES = Path(flowers["template_path"])


@pytest.fixture(scope="module")
def plain(distributed: Settings, service: Service) -> Iterator[httpx.Client]:
    """A client of a dashboard without authentication."""
    with served(distributed, Store.of(distributed)) as dashboard, client(dashboard) as made:
        yield made


@pytest.fixture(scope="module")
def prefixed(distributed: Settings, service: Service) -> Iterator[httpx.Client]:
    """A client of a dashboard that is behind a prefix."""
    with served(distributed, Store.of(distributed), url_prefix="ops") as dashboard, client(dashboard) as made:
        yield made


def test_the_application_takes_what_we_hand_it() -> None:
    taken = inspect.signature(Flower.__init__).parameters
    assert {"options", "capp", "events", "io_loop", "kwargs"} <= set(taken)


@pytest.mark.parametrize(
    "name",
    [
        "apply_env_options",
        "apply_options",
        "extract_settings",
        "setup_logging",
        "sigterm_handler",
    ],
)
def test_the_steps_of_flowers_command_are_there(name: str) -> None:
    assert callable(getattr(flower.command, name))


def test_a_prefix_keeps_the_arguments_of_an_address() -> None:
    ours = url(r"/stacks/static/(.*)", StaticFileHandler, {"path": "/somewhere"}, name="ours")
    moved = rewrite_handler(ours, "/ops/")
    assert moved.kwargs == {"path": "/somewhere"}
    assert moved.name == "ours"
    assert moved.regex.match("/ops/stacks/static/css/stacks.css")


def test_its_options_have_the_names_of_our_defaults() -> None:
    for name, value in DEFAULTS.items():
        assert getattr(option_values(), name) == value


def test_its_pages_have_the_blocks_that_ours_fill() -> None:
    base = (TEMPLATES / "base.html").read_text()
    for block in ("title", "navbar", "container", "extra_scripts"):
        assert f"{{% block {block} %}}" in base


def test_its_navigation_has_a_place_for_our_entry() -> None:
    navigation = (TEMPLATES / "navbar.html").read_text()
    assert "active_tab" in navigation
    assert "</ul>" in navigation
    assert navigation.count("reverse_url('stacks')") == 0
    # Among the entries that are there, and not behind them.
    assert with_entry(navigation).index("reverse_url('stacks')") < navigation.index("app-nav-secondary") + 400


def test_a_navigation_without_entries_is_left_as_it_is() -> None:
    assert with_entry("<nav></nav>") == "<nav></nav>"


def test_its_pages_have_our_name_and_icon() -> None:
    loader = StackLoader(flowers["template_path"])
    for name in ("base.html", "navbar.html"):
        page = (TEMPLATES / name).read_text()
        assert "static_url('favicon.ico')" in page
        assert "favicon" not in loader.load(name).code
    assert "<span>Isotherm</span>" in loader.load("navbar.html").code


def test_our_pages_are_without_the_scripts_of_its_tables() -> None:
    named = re.findall(r"static_url\('([^']+)'\)", without_tables((TEMPLATES / "base.html").read_text()))
    assert named == [
        "favicon.ico",
        "js/theme.js",
        "css/bootstrap.min.css",
        "css/flower.css",
        "js/bootstrap.bundle.min.js",
    ]
    loader = StackLoader(flowers["template_path"])
    frame, base = (loader.load(name).code for name in ("frame.html", "base.html"))
    assert "jquery" not in frame
    assert "favicon" not in frame
    # What makes them legible is on Flower's pages, too.
    assert "css/legible.css" in frame
    assert "css/legible.css" in base
    assert "js/flower_tables.js" in base


def test_what_we_do_not_have_is_flowers() -> None:
    loader = StackLoader(flowers["template_path"])
    assert isinstance(loader.load("tasks.html"), Template)
    assert isinstance(loader.load("stacks/base.html"), Template)


def test_scripts_on_its_pages_are_files() -> None:
    """Our policy lets no others run, and our pages extend Flower's."""
    for name in ("base.html", "navbar.html"):
        text = (TEMPLATES / name).read_text()
        assert not re.search(r"<script(?![^>]*\bsrc=)", text)
        assert not re.search(r"\son[a-z]+=|\sstyle=|<style", text)


def test_what_else_its_pages_run_and_style_is_what_its_policy_allows(
    distributed: Settings, service: Service
) -> None:
    templates = {path.name: path.read_text() for path in TEMPLATES.glob("*.html")}
    inline = [
        name for name, text in templates.items() if re.search(r"<script(?![^>]*\bsrc=)|\son[a-z]+=", text)
    ]
    assert inline == ["workers.html"]
    assert {each for text in templates.values() for each in re.findall(r'style="([^"]*)"', text)} == {
        FLOWER_STYLE
    }
    assert not [name for name, text in templates.items() if "<style" in text]
    scripts = []
    for refreshes in (False, True):
        given = {"auto_refresh": refreshes}
        with served(distributed, Store.of(distributed), **given) as dashboard, client(dashboard) as ask:
            page = ask.get("/workers").text
        scripts += re.findall(r"<script(?![^>]*\bsrc=)[^>]*>(.*?)</script>", page, re.DOTALL)
    assert tuple(scripts) == FLOWER_SCRIPTS


@pytest.mark.parametrize("path", ["/workers", "/tasks", "/stacks"])
def test_our_entry_is_on_every_page(path: str, plain: httpx.Client) -> None:
    page = plain.get(path)
    assert page.status_code == 200
    assert re.search(r'href="/stacks"[^>]*>Stacks<', re.sub(r"\s+", " ", page.text))


@pytest.mark.parametrize("path", ["/workers", "/stacks", "/tasks"])
def test_under_a_prefix_all_is_under_it(path: str, prefixed: httpx.Client) -> None:
    page = prefixed.get(path)
    assert page.status_code == 200
    places = re.findall(r'(?:href|src)="(/[^"]*)"', page.text)
    assert "/ops/stacks" in places
    assert all(place.startswith("/ops") for place in places)
    ours = [place for place in places if "/stacks/static/" in place]
    assert "/ops/stacks/static/icon.svg" in ours
    assert "/ops/stacks/static/css/legible.css" in ours
    assert ("/ops/stacks/static/css/stacks.css" in ours) == (path == "/stacks")
    # The client adds the prefix by itself.
    assert all(prefixed.get(place.removeprefix("/ops")).status_code == 200 for place in ours)


def test_what_nobody_has_is_not_found(plain: httpx.Client, prefixed: httpx.Client) -> None:
    assert plain.get("/nothing/here").status_code == 404
    root = prefixed.base_url.copy_with(path="/stacks")
    assert httpx.get(root, trust_env=False, timeout=PATIENCE_SECONDS).status_code == 404


def test_metrics_have_ours_among_them(plain: httpx.Client) -> None:
    class Ours(prometheus_client.registry.Collector):
        def collect(self) -> Iterator[GaugeMetricFamily]:
            yield GaugeMetricFamily("isotherm_of_a_test", "One of ours.", value=7)

    ours = Ours()
    prometheus_client.REGISTRY.register(ours)
    try:
        assert "isotherm_of_a_test 7.0" in plain.get("/metrics").text
    finally:
        prometheus_client.REGISTRY.unregister(ours)


def test_metrics_and_health_are_open_to_all(distributed: Settings, service: Service) -> None:
    """As Flower has it: so nothing secret may be in there."""
    with served(distributed, Store.of(distributed), basic_auth=["ann:secret"]) as dashboard:
        with client(dashboard) as nobody:
            assert nobody.get("/metrics").status_code == 200
            assert nobody.get("/healthcheck").text == "OK"
            assert nobody.get("/stacks").headers["WWW-Authenticate"] == 'Basic realm="flower"'
        known = {"Authorization": "Basic " + b64encode(b"ann:secret").decode()}
        with client(dashboard, headers=known) as ann:
            assert ann.get("/stacks").status_code == 200


def test_every_way_to_change_something_is_behind_our_roles() -> None:
    guarded = {rule.regex.pattern: rule.handler_class for rule in controls()}
    assert all(issubclass(each, Control) for each in guarded.values())
    for rule in handlers:
        pattern, handler = (rule.regex.pattern, rule.handler_class) if isinstance(rule, url) else rule[:2]
        changes = any(
            getattr(handler, method) is not getattr(flower.app.tornado.web.RequestHandler, method)
            for method in ("post", "put", "delete", "patch")
        )
        # The table of tasks is read by POST, for its question is long.
        if changes and handler is not TasksDataTable and not pattern.startswith(("/log", ".*")):
            assert issubclass(handler, BaseApiHandler), pattern
            assert f"{pattern.removesuffix('$')}$" in guarded


def test_all_that_sends_tasks_is_known() -> None:
    sending = {
        handler
        for rule in handlers
        if isinstance(handler := rule[1] if isinstance(rule, tuple) else rule.handler_class, type)
        and re.search(r"send_task|apply_async", inspect.getsource(handler))
    }
    assert sending <= {TaskApply, TaskAsyncApply, TaskSend}
    assert sending
