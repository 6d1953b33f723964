"""Chromium, without a window and without a way out of this machine."""

import shutil
from collections.abc import Iterator
from contextlib import contextmanager

from playwright.sync_api import Browser, sync_playwright

from tests.services.process import MissingServer

#: The names of the program, in Debian and elsewhere. The first draws no window, menus or extensions, and takes half the
#: processor time for a page.
NAMES = ("chromium-headless-shell", "chromium", "chromium-browser", "google-chrome")
ARGUMENTS = (
    # Where tests run as root, in a container, there is no other way.
    "--no-sandbox",
    "--disable-gpu",
    "--disable-quic",
    "--no-first-run",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
    # No name is looked up: what a page asks for elsewhere fails, and is seen to.
    "--host-resolver-rules=MAP * ~NOTFOUND, EXCLUDE 127.0.0.1",
)


def program() -> str:
    """Return the path of the browser.

    Raises:
        MissingServer: it is not installed.
    """
    found = next(filter(None, map(shutil.which, NAMES)), None)
    if found is None:
        raise MissingServer("chromium not found: run .ci/servers, or apt-get install chromium-headless-shell")
    return found


@contextmanager
def launched(path: str) -> Iterator[Browser]:
    """Give a browser that knows nothing, and end it afterwards."""
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=path, args=ARGUMENTS)
        try:
            yield browser
        finally:
            browser.close()
