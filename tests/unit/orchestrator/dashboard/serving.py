"""A dashboard in this process, asked over HTTP: its loop runs in a thread of its own."""

import asyncio
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from types import SimpleNamespace
from typing import Any

import httpx
from celery import Celery
from flower.urls import settings as flowers
from tornado.ioloop import IOLoop
from tornado.options import options
from tornado.platform.asyncio import BaseAsyncIOLoop

from orchestrator.config.settings import Settings
from orchestrator.dashboard.app import Dashboard
from orchestrator.dashboard.options import define_options
from orchestrator.queue.celery_app import make_app
from orchestrator.store.store import Store
from tests.waiting import PATIENCE_SECONDS

SECRET = "cookies are signed with this"


def option_values(**given: Any) -> SimpleNamespace:
    """Return what the options are if these are given, and nothing is kept of it for the next test."""
    define_options()
    known = {each.name.replace("-", "_"): each.default for each in options._options.values()}
    unknown = set(given) - set(known)
    assert not unknown, unknown
    return SimpleNamespace(**{**known, "inspect_timeout": 1.0, "enable_events": False, **given})


@contextmanager
def fresh_options() -> Iterator[None]:
    """Let options be as they are in a new process, and keep nothing of what becomes of them."""
    define_options()
    for each in options._options.values():
        each._value = each.UNSET
    try:
        yield
    finally:
        for each in options._options.values():
            each._value = each.UNSET


@contextmanager
def served(
    settings: Settings, store: Store, *, app: Celery | None = None, **given: Any
) -> Iterator[Dashboard]:
    """Serve a dashboard with these options on a free port, and stop it afterwards; ``url`` is where it is."""
    ready, held = threading.Event(), []

    def run() -> None:
        asyncio.set_event_loop(asyncio.new_event_loop())
        loop = IOLoop.current()
        assert isinstance(loop, BaseAsyncIOLoop)
        capp = app or make_app(settings.with_values(broker_url="memory://"))
        prefix = given.get("url_prefix")
        more = {**flowers, "cookie_secret": SECRET}
        if prefix:
            more |= {name: f"/{prefix}{flowers[name]}" for name in ("login_url", "static_url_prefix")}
        made = Dashboard(
            capp, option_values(port=0, address="127.0.0.1", **given), settings, store, io_loop=loop, **more
        )
        made.url = f"http://127.0.0.1:{made.start_http_server()}" + (f"/{prefix}" if prefix else "")
        held.append(made)
        # Not `start`: what Flower hears of Celery's events is no matter of these tests.
        made.started = False
        loop.add_callback(ready.set)
        loop.start()
        made.stop()
        left = asyncio.all_tasks(loop.asyncio_loop)
        for task in left:
            task.cancel()
        loop.asyncio_loop.run_until_complete(asyncio.gather(*left, return_exceptions=True))
        loop.close()

    thread = threading.Thread(target=run, name="dashboard")
    thread.start()
    assert ready.wait(PATIENCE_SECONDS)
    made: Dashboard = held[0]
    try:
        yield made
    finally:
        made.io_loop.add_callback(made.io_loop.stop)
        thread.join(PATIENCE_SECONDS)
        assert not thread.is_alive()


@contextmanager
def client(dashboard: Dashboard, **more: Any) -> Iterator[httpx.Client]:
    """Return a client of a dashboard; it follows no redirect."""
    with httpx.Client(base_url=dashboard.url, trust_env=False, timeout=300, **more) as made:
        yield made
