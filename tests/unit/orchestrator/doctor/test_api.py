"""The doctor says whether the API answers where machines look for it."""

from collections.abc import Iterator
from importlib.metadata import version
from pathlib import Path

import pytest

from orchestrator.config.settings import Settings
from orchestrator.doctor.api import check_api, check_api_processes
from orchestrator.views.operations import ProcessView
from tests.services.api_process import serving
from tests.services.http_api import HttpApi
from tests.services.process import free_port


def settings(address: str) -> Settings:
    return Settings(api_url=address)


@pytest.fixture
def served(tmp_path: Path) -> Iterator[str]:
    with serving(tmp_path, "--auth tokens") as (url, _):
        yield url


def test_nothing_is_said_where_there_is_none() -> None:
    assert list(check_api(settings(""))) == []


def test_api_that_answers_is_told(served: str) -> None:
    [check] = check_api(settings(served))
    assert check.ok
    assert "v1.0" in check.detail


def test_nobody_answers() -> None:
    [check] = check_api(settings(f"http://127.0.0.1:{free_port()}/v1"))
    assert (check.ok, check.is_service) == (False, True)
    assert "nothing answers" in check.detail


def test_something_else_answers(http_api: HttpApi) -> None:
    [check] = check_api(settings(f"{http_api.url}/v1"))
    assert not check.ok
    assert "no orchestration API" in check.detail


@pytest.mark.parametrize("address", ["heat:8004/v1", "http://heat:8004", "ftp://heat/v1"])
def test_address_of_another_form_is_told(address: str) -> None:
    [check] = check_api(settings(address))
    assert not check.ok
    assert "expected an address such as" in check.detail


def process(kind: str = "api", release: str = "", errors: tuple[str, ...] = ()) -> ProcessView:
    return ProcessView(
        name=f"{kind}@h:1:1.00",
        kind=kind,
        host="h",
        pid=1,
        celery_name="",
        version=release or version("isotherm"),
        queues=(),
        started_at=0.0,
        seen_at=1.0,
        seen_seconds=1.0,
        state="present",
        address="http://127.0.0.1:8004/v1",
        errors=errors,
    )


def test_processes_of_the_api_are_shown_with_their_last_error() -> None:
    assert list(check_api_processes([process("worker")])) == []
    old, new = "2026-01-02T03:04:05Z 503 a", "2026-01-02T03:04:06Z 500 b"
    [check] = check_api_processes([process(errors=(old,)), process(errors=(new, old)), process("worker")])
    assert check.ok
    assert check.detail == f"2 at h http://127.0.0.1:8004/v1; last error: {new}"


def test_process_of_the_api_of_another_version_is_wrong() -> None:
    [check] = check_api_processes([process(), process(release="0.0.1")])
    assert not check.ok
    assert "is of version 0.0.1" in check.detail
