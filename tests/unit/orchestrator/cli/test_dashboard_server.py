"""What is said of where the dashboard is."""

from collections.abc import Mapping

import pytest
from tornado.options import options

from orchestrator.cli.dashboard_server import where
from orchestrator.config.settings import Settings


@pytest.mark.parametrize(
    ("port", "said", "is_secure", "place"),
    [
        (5555, {}, False, "at http://127.0.0.1:5555/stacks "),
        (8080, {"address": "10.0.0.7", "url_prefix": "ops/"}, True, "at https://10.0.0.7:8080/ops/stacks "),
        (5555, {"address": "::1"}, False, "at http://[::1]:5555/stacks "),
        (None, {"unix_socket": "/run/dash"}, False, "at the socket /run/dash "),
    ],
)
def test_the_address_can_be_opened_as_it_is_told(
    port: int | None,
    said: Mapping[str, str],
    is_secure: bool,
    place: str,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    for name, value in {"address": "127.0.0.1", "url_prefix": "", "unix_socket": "", **said}.items():
        monkeypatch.setattr(options.mockable(), name, value)
    assert place in where(port, Settings(broker_url="redis://127.0.0.1"), is_secure=is_secure)


def test_without_a_broker_it_is_told_whose_stacks_are_shown(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(options.mockable(), "unix_socket", "")
    settings = Settings()
    assert str(settings.state_directory) in where(5555, settings, is_secure=False)
