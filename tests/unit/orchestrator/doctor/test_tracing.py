"""What the doctor says of tracing."""

from collections.abc import Mapping

import pytest

from orchestrator.config.settings import Settings
from orchestrator.doctor.check import Check
from orchestrator.doctor.tracing import check_tracing, collector_of
from tests.services.receiver import Receiver

ON = Settings(tracing=True)


def told(environment: Mapping[str, str], settings: Settings = ON) -> Check:
    [check] = check_tracing(settings, environment)
    return check


def test_nothing_is_said_where_tracing_is_off() -> None:
    assert list(check_tracing(Settings(), {})) == []


def test_a_collector_that_listens_is_found_and_told_nothing() -> None:
    receiver = Receiver().launch()
    try:
        check = told({"OTEL_EXPORTER_OTLP_ENDPOINT": receiver.url})
        assert check.ok
        assert check.detail == f"operations are exported to the collector at 127.0.0.1:{receiver.port}"
        assert receiver.messages == []
    finally:
        receiver.close()


def test_a_collector_that_is_away_is_a_service_out_of_reach_and_its_password_is_not_shown() -> None:
    check = told({"OTEL_EXPORTER_OTLP_ENDPOINT": "http://ann:secret@127.0.0.1:1"})
    assert not check.ok
    assert check.is_service
    assert check.detail == "no collector answers at 127.0.0.1:1: connection refused"


def test_an_address_that_is_none_is_said_to_be_wrong() -> None:
    check = told({"OTEL_EXPORTER_OTLP_ENDPOINT": "http://127.0.0.1:many"})
    assert not check.ok
    assert "the collector's address is wrong" in check.detail


def test_an_address_without_a_scheme_is_no_address_of_http() -> None:
    check = told({"OTEL_EXPORTER_OTLP_ENDPOINT": "collector:4318"})
    assert not check.ok
    assert check.detail.endswith("it begins with neither http:// nor https://")


def test_what_is_told_to_no_collector_needs_none() -> None:
    check = told({"OTEL_TRACES_EXPORTER": "console"})
    assert check.ok
    assert check.detail == "operations are exported to console"


def test_a_wrong_variable_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("OTEL_TRACES_EXPORTER", "otpl")
    check = told({"OTEL_TRACES_EXPORTER": "otpl"})
    assert check.detail == "OTEL_TRACES_EXPORTER: there is no exporter 'otpl'"
    assert check.hint == "did you mean 'otlp'?"


@pytest.mark.parametrize(
    ("environment", "address"),
    [
        ({}, "http://localhost:4318"),
        ({"OTEL_EXPORTER_OTLP_PROTOCOL": "grpc"}, "http://localhost:4317"),
        ({"OTEL_EXPORTER_OTLP_ENDPOINT": "https://a:1"}, "https://a:1"),
        # So gRPC has it.
        ({"OTEL_EXPORTER_OTLP_PROTOCOL": "grpc", "OTEL_EXPORTER_OTLP_ENDPOINT": "a:1"}, "http://a:1"),
        (
            {
                "OTEL_EXPORTER_OTLP_ENDPOINT": "https://a:1",
                "OTEL_EXPORTER_OTLP_TRACES_ENDPOINT": "https://b:2",
            },
            "https://b:2",
        ),
    ],
)
def test_the_collector_is_where_the_standard_says(environment: Mapping[str, str], address: str) -> None:
    assert collector_of(environment) == address
