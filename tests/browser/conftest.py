"""One installation and one browser for all tests in a browser."""

import tempfile
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager
from functools import partial
from pathlib import Path

import pytest
from playwright.sync_api import Browser, expect

from orchestrator.store import migrations
from tests.browser.chromium import launched, program
from tests.browser.site import PROCESSES, Site
from tests.browser.visit import PATIENCE, Visit, visiting
from tests.services.engine import running
from tests.services.fixtures import or_skip
from tests.services.servers import PostgresServer, RedisServer

Visiting = Callable[..., AbstractContextManager[Visit]]

# For how long is no claim of any test.
expect.set_options(timeout=PATIENCE)


# Not for the whole session: as long as Playwright runs, no other test of this process can run a loop of its own.
@pytest.fixture(scope="package")
def browser() -> Iterator[Browser]:
    """One browser; a page of it knows nothing of any other."""
    with launched(or_skip(program)) as browser:
        yield browser


@pytest.fixture(scope="package")
def site(redis_server: RedisServer, postgres_server: PostgresServer) -> Iterator[Site]:
    """A coordinator, two workers and a dashboard on which an operator may act."""
    or_skip(program)
    database_url = postgres_server.create_database()
    migrations.upgrade(database_url)
    with tempfile.TemporaryDirectory(prefix="isotherm-site-") as directory:
        site = Site(Path(directory), broker_url=redis_server.empty_database(), database_url=database_url)
        with (
            site.service,
            running([site.start(name) for name in PROCESSES]) as site.engines,
        ):
            site.start_dashboard()
            yield site
            assert site.dashboard
            # Shown where a test failed.
            print(site.dashboard.log)


@pytest.fixture
def visit(browser: Browser, site: Site) -> Visiting:
    """What opens pages."""
    return partial(visiting, browser, site)
