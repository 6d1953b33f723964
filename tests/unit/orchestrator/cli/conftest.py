"""A fake service with one complete stack, and a terminal to type at."""

import os
from pathlib import Path

import pytest

from orchestrator.views.stacks import OutputView
from tests.unit.orchestrator.cli.fake_service import (
    FakeService,
    Terminal,
    event_view,
    resource_view,
    stack_view,
)


@pytest.fixture(autouse=True)
def no_settings_of_the_machine(monkeypatch: pytest.MonkeyPatch) -> None:
    """Keep the settings and the colours of whoever runs the tests out of them."""
    for name in ("ISOTHERM_DEBUG", "ISOTHERM_LOG_LEVEL", "FORCE_COLOR", "TTY_COMPATIBLE", "NO_COLOR"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("ISOTHERM_CONFIG", os.devnull)


@pytest.fixture
def service() -> FakeService:
    """One stack called web, complete, of a disk and a server."""
    return FakeService(
        stacks_held={"web": stack_view("web", parameters={"count": 3, "password": "******"})},
        resources_held=[
            resource_view("disk", metadata={"size": 10}),
            resource_view("server", requires=("disk",), attributes={"address": "10.0.0.7"}),
        ],
        outputs_held=(
            OutputView(key="url", description="where it is", value="http://10.0.0.7"),
            OutputView(key="ports", value=[80, 443]),
            OutputView(key="lost", error="server has no attribute 'lost'"),
        ),
        events_held=[event_view(1, "", "CREATE", "IN_PROGRESS"), event_view(2, "disk", "CREATE", "COMPLETE")],
    )


@pytest.fixture
def terminal(service: FakeService, tmp_path: Path) -> Terminal:
    """A terminal without a broker: embedded mode."""
    return Terminal(service, tmp_path / "state")
