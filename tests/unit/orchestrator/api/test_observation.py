"""What requests came to: counted by route for those who may see it, and in the traces of clients."""

from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import Any

import falcon
import pytest
from falcon import testing
from opentelemetry.sdk.trace.export.in_memory_span_exporter import InMemorySpanExporter
from opentelemetry.trace import SpanKind, StatusCode
from prometheus_client.parser import text_string_to_metric_families

from orchestrator.api.application import make_application
from orchestrator.api.callers import identifier_of
from orchestrator.api.door import Door
from orchestrator.api.kinds import NONE, TOKENS
from orchestrator.api.metrics import RequestMetrics
from orchestrator.api.recent_errors import KEPT
from orchestrator.config.settings import Settings
from orchestrator.errors import Unavailable
from orchestrator.service import Service
from orchestrator.tracing.otel import Spans, root_of
from orchestrator.views.operations import ProcessView
from tests.unit.orchestrator.api.conftest import Client
from tests.waiting import until

ROUTE = "/v1/{project}/stacks"
FAR = "203.0.113.5"


def samples(metrics: RequestMetrics) -> dict[tuple[str, ...], float]:
    """Return what is counted, by the name of the metric and its labels."""
    return {
        (each.name, *each.labels.values()): each.value
        for family in text_string_to_metric_families(metrics.exposition().decode())
        for each in family.samples
        if not each.name.endswith(("_bucket", "_created", "_sum"))
    }


def test_requests_are_counted_by_route_and_faults_by_type(door: Door, settings: Settings) -> None:
    metrics = RequestMetrics()
    application = make_application(door, identifier_of(NONE, settings), metrics=metrics)
    client = Client(application)
    for _ in range(2):
        client.get("/stacks")
    client.ask("GET", "/stacks/none/at-all")
    client.ask("GET", "/no/such/address")
    client.ask("GET", "/no/other/address")
    client.ask("BREW", "/stacks")
    testing.simulate_get(application, "/healthcheck")
    assert samples(metrics) == {
        ("isotherm_api_requests_total", "GET", ROUTE, "200"): 2,
        ("isotherm_api_request_seconds_count", "GET", ROUTE): 2,
        ("isotherm_api_requests_total", "GET", f"{ROUTE}/{{name}}/{{stack_id}}", "404"): 1,
        ("isotherm_api_request_seconds_count", "GET", f"{ROUTE}/{{name}}/{{stack_id}}"): 1,
        ("isotherm_api_requests_total", "GET", "unknown", "404"): 2,
        ("isotherm_api_request_seconds_count", "GET", "unknown"): 2,
        ("isotherm_api_requests_total", "OTHER", ROUTE, "400"): 1,
        ("isotherm_api_request_seconds_count", "OTHER", ROUTE): 1,
        ("isotherm_api_requests_total", "GET", "/healthcheck", "200"): 1,
        ("isotherm_api_request_seconds_count", "GET", "/healthcheck"): 1,
        ("isotherm_api_faults_total", "EntityNotFound"): 1,
        ("isotherm_api_faults_total", "HTTPNotFound"): 2,
        ("isotherm_api_faults_total", "HTTPBadRequest"): 1,
    }


@pytest.fixture(scope="module")
def serving(
    door: Door, settings: Settings, clients: Mapping[str, Client]
) -> Callable[..., Callable[..., testing.Result]]:
    """Return what asks for the metrics, of an application that is made with some options."""

    def made(**options: Any) -> Callable[..., testing.Result]:
        application = make_application(
            door, identifier_of(TOKENS, settings), metrics=RequestMetrics(), **options
        )

        def ask(who: str = "", remote: str = "127.0.0.1", **headers: str) -> testing.Result:
            token = {"X-Auth-Token": clients[who].token} if who else {}
            return testing.simulate_get(application, "/metrics", headers=token | headers, remote_addr=remote)

        return ask

    return made


def test_metrics_are_for_this_machine_and_for_those_with_the_role(
    serving: Callable[..., Callable[..., testing.Result]],
) -> None:
    ask = serving()
    for remote in ("127.0.0.1", "::1"):
        assert ask(remote=remote).status == falcon.HTTP_OK
    # The role counts in the project of the settings.
    assert ask("rita", FAR).status == falcon.HTTP_OK
    assert ask("root", FAR).headers["content-type"].startswith("text/plain")
    for who in ("", "otto"):
        assert ask(who, FAR).status == falcon.HTTP_FORBIDDEN
    for header in ("Forwarded", "X-Forwarded-For"):
        assert ask(**{header: "for=127.0.0.1"}).status == falcon.HTTP_FORBIDDEN
    behind = serving(behind_proxy=True)
    assert behind().status == falcon.HTTP_FORBIDDEN
    assert behind("rita").status == falcon.HTTP_OK


def test_there_are_no_metrics_unless_they_are_wanted(client: Client) -> None:
    assert testing.simulate_get(client._client.app, "/metrics").status == falcon.HTTP_NOT_FOUND


def test_process_reports_where_it_is_and_its_last_errors_and_is_no_service(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    door = Door.open(Settings(state_directory=tmp_path, lease_seconds=0.03))
    door.start()
    client = Client(make_application(door, identifier_of(NONE, door.settings)))
    door.attend("http://127.0.0.1:8004/v1")

    def away(*_: object) -> None:
        raise Unavailable("postgresql://user:secret@host does not answer")

    with monkeypatch.context() as broken:
        broken.setattr(Door, "service", away)
        answers = [client.ask("GET", "/stacks") for _ in range(KEPT + 1)]

    last = answers[-1].headers["x-openstack-request-id"]

    def reported() -> ProcessView | None:
        found = [each for each in door._whole.observer.processes() if each.kind == "api"]
        return found[0] if found and last in "".join(found[0].errors) else None

    process = until(reported)
    assert process.address == "http://127.0.0.1:8004/v1"
    assert len(process.errors) == KEPT
    for line, answer in zip(process.errors, reversed(answers), strict=False):
        request_id = answer.headers["x-openstack-request-id"]
        assert line.endswith(f" 503 ServiceUnavailable GET {ROUTE} {request_id}")
    assert {each["binary"] for each in client.get("/services")["services"]} == {"isotherm-embedded"}
    door.close()
    with Service.open(door.settings) as service:
        [ended] = [each for each in service.observer.processes() if each.kind == "api"]
    assert ended.state == "stopped"


TRACE, PARENT = "0af7651916cd43dd8448eb211c80319c", "b7ad6b7169203331"


class Traced:
    """An API of its own whose spans are kept."""

    def __init__(self, door: Door) -> None:
        self.door, self.exporter = door, InMemorySpanExporter()
        door.tracing = self.spans = Spans([self.exporter], process="api@here:1:2.00")
        self.client = Client(make_application(door, identifier_of(NONE, door.settings)))

    def all(self) -> tuple[Any, ...]:
        self.spans.close()
        return self.exporter.get_finished_spans()


@pytest.fixture
def traced(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Traced]:
    monkeypatch.setenv("OTEL_TRACES_EXPORTER", "none")
    door = Door.open(Settings(state_directory=tmp_path, tracing=True))
    door.start()
    yield Traced(door)
    door.close()


def test_request_is_a_span_of_its_clients_trace_and_leads_to_the_operation(traced: Traced) -> None:
    headers = {"traceparent": f"00-{TRACE}-{PARENT}-01"}
    body = {"stack_name": "a", "template": {"heat_template_version": "2018-08-31"}}
    made = traced.client.ask("POST", "/stacks", json=body, headers=headers)
    assert made.status == falcon.HTTP_CREATED
    operation = traced.door._whole.of_project("acme").stack("a").traversal_id
    [span] = traced.all()
    assert (span.name, span.kind) == (f"POST {ROUTE}", SpanKind.SERVER)
    assert f"{span.context.trace_id:032x}" == TRACE
    assert f"{span.parent.span_id:016x}" == PARENT
    assert span.attributes == {
        "http.request.method": "POST",
        "http.route": ROUTE,
        "http.response.status_code": 201,
        "isotherm.request.id": made.headers["x-openstack-request-id"],
    }
    [link] = span.links
    assert link.context.span_id == root_of(operation).span_id


def test_request_without_a_trace_begins_one_and_one_that_is_not_sampled_has_none(traced: Traced) -> None:
    traced.client.get("/stacks")
    traced.client.get("/stacks", headers={"traceparent": "nonsense"})
    traced.client.get("/stacks", headers={"traceparent": f"00-{TRACE}-{PARENT}-00"})
    spans = traced.all()
    assert [(span.name, span.parent) for span in spans] == [(f"GET {ROUTE}", None)] * 2
    assert len({span.context.trace_id for span in spans}) == 2


def test_fault_of_the_server_is_an_error_of_the_span(traced: Traced, monkeypatch: pytest.MonkeyPatch) -> None:
    def away(*_: object) -> None:
        raise Unavailable("postgresql://user:secret@host does not answer")

    monkeypatch.setattr(Door, "service", away)
    assert traced.client.ask("GET", "/stacks").status == falcon.HTTP_SERVICE_UNAVAILABLE
    traced.client.ask("GET", "/no/where")
    failed, missing = traced.all()
    assert failed.status.status_code is StatusCode.ERROR
    assert missing.status.status_code is StatusCode.UNSET
    assert "secret" not in failed.to_json()
