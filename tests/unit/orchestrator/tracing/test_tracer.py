"""An operation is one trace: its id is the operation's, its steps are spans under one root, whoever tells which."""

import subprocess
import sys
import uuid
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import pytest
from opentelemetry.proto.collector.trace.v1.trace_service_pb2 import ExportTraceServiceRequest
from opentelemetry.sdk.trace import ReadableSpan
from opentelemetry.sdk.trace.export.in_memory_span_exporter import InMemorySpanExporter
from opentelemetry.sdk.trace.sampling import Decision, TraceIdRatioBased
from opentelemetry.trace import StatusCode

from orchestrator.config.settings import Settings
from orchestrator.errors import InvalidInput
from orchestrator.model.messages import CheckOrder, StackJob
from orchestrator.service import Service
from orchestrator.store.nodes.claims import Claim, Ending, Outcome
from orchestrator.store.traversals.traversals import ClaimedEnd
from orchestrator.tracing.otel import OperationSampler, Spans, exporters_of_environment, root_of
from orchestrator.tracing.switch import require_tracing, tracing_of
from orchestrator.tracing.tracer import OFF
from tests.services.receiver import Receiver
from tests.waiting import until

OPERATION = "46ab226d-43e1-40f4-998f-7dd8bbffe53a"
CHILD = "f5316dc3-fe83-4507-96d2-3c8f77e68db5"
SECRET = "correct horse"
TEMPLATE = f"""
heat_template_version: 2021-04-16
parameters: {{word: {{type: string, hidden: true, default: {SECRET}}}}}
resources:
  first: {{type: OS::Heat::TestResource, properties: {{value: {{get_param: word}}}}}}
  group: {{type: OS::Heat::ResourceGroup, properties: {{count: 1, resource_def: {{type: OS::Heat::None}}}}}}
  last:
    type: OS::Heat::TestResource
    depends_on: [first, group]
    properties: {{value: {{get_param: word}}, fail: true}}
"""


def claim(traversal_id: str = OPERATION, attempt: int = 1) -> Claim:
    order = CheckOrder(
        stack_id="s1", traversal_id=traversal_id, no=3, key="port", stack="web", action="CREATE"
    )
    return Claim(
        order=order,
        attempt=attempt,
        action="CREATE",
        now=0.0,
        retries=attempt - 1,
        fragment={},
        wanted=(),
        dependents=(),
        requirements=(),
        resource_id="r1",
        type="Some::Port",
        physical_id=None,
        properties={"password": SECRET},
        data={},
        metadata=None,
        token=None,
        started=False,
        started_at=0.0,
    )


def ending(status: str = "COMPLETE", reason: str = "") -> ClaimedEnd:
    return ClaimedEnd(
        stack_id="s1",
        stack="web",
        project="default",
        traversal_id=OPERATION,
        action="CREATE",
        status=status,
        reason=reason,
        begun_at=1000.5,
        ended_at=1012.25,
        attempt=1,
        lost=0,
        options={},
        parent_resource=None,
        was_bracketed=False,
    )


class Heard:
    """What a collector would be told."""

    def __init__(self) -> None:
        self.exporter = InMemorySpanExporter()
        self.spans = Spans([self.exporter], process="worker@here:1:2.00")

    def all(self) -> tuple[ReadableSpan, ...]:
        self.spans.close()
        return self.exporter.get_finished_spans()


@pytest.fixture
def heard() -> Iterator[Heard]:
    heard = Heard()
    yield heard
    heard.spans.close()


def test_a_step_is_told_by_names_and_counts_and_never_by_a_value(heard: Heard) -> None:
    with heard.spans.check(claim(attempt=2), "worker@here:1:2.00") as told:
        told.came_to(Outcome(ending=Ending.DONE, physical_id="p-1", properties={"password": SECRET}))
    [span] = heard.all()
    assert span.name == "CREATE Some::Port"
    assert span.attributes == {
        "isotherm.stack.name": "web",
        "isotherm.stack.id": "s1",
        "isotherm.traversal.id": OPERATION,
        "isotherm.resource.name": "port",
        "isotherm.resource.id": "r1",
        "isotherm.resource.type": "Some::Port",
        "isotherm.node.no": 3,
        "isotherm.phase": "converge",
        "isotherm.action": "CREATE",
        "isotherm.attempt": 2,
        "isotherm.retries": 1,
        "isotherm.worker": "worker@here:1:2.00",
        "isotherm.outcome": "done",
        "isotherm.physical_id": "p-1",
    }
    assert span.status.status_code is StatusCode.UNSET
    assert SECRET not in span.to_json()


def test_the_trace_has_the_id_of_the_operation_in_every_process(heard: Heard) -> None:
    other = Heard()
    for each in (heard, other):
        with each.spans.check(claim(), "somebody"):
            pass
    other.spans.ended(ending())
    [one], [another, root] = heard.all(), other.all()
    assert {span.context.trace_id for span in (one, another, root)} == {uuid.UUID(OPERATION).int}
    assert one.parent
    assert another.parent
    assert one.parent.span_id == another.parent.span_id == root.context.span_id
    assert one.context.span_id != another.context.span_id
    assert root.parent is None


def test_the_root_lasts_as_long_as_the_operation_did_and_says_why_it_failed(heard: Heard) -> None:
    heard.spans.ended(ending("FAILED", "port: no addresses left"))
    [root] = heard.all()
    assert (root.start_time, root.end_time) == (1_000_500_000_000, 1_012_250_000_000)
    assert root.name == "stack CREATE"
    assert (root.status.status_code, root.status.description) == (StatusCode.ERROR, "port: no addresses left")


@pytest.mark.parametrize("wrong", [Ending.FAILED, Ending.RETRY, Ending.FAULT])
def test_an_attempt_that_went_wrong_is_an_error_with_its_reason(heard: Heard, wrong: Ending) -> None:
    with heard.spans.check(claim(), "w") as told:
        told.came_to(Outcome(ending=wrong, reason="no addresses left"))
    [span] = heard.all()
    assert (span.status.status_code, span.status.description) == (StatusCode.ERROR, "no addresses left")


def test_of_an_error_that_nobody_foresaw_only_the_kind_is_told(heard: Heard) -> None:
    with pytest.raises(ValueError, match=SECRET), heard.spans.check(claim(), "w"):
        raise ValueError(SECRET)
    [span] = heard.all()
    assert span.attributes
    assert span.attributes["error.type"] == "ValueError"
    assert SECRET not in span.to_json()


def test_a_step_that_begins_an_operation_on_a_stack_in_the_stack_is_linked_with_it(heard: Heard) -> None:
    heard.spans.began("00000000-0000-4000-8000-000000000000")
    with heard.spans.check(claim(), "w"):
        heard.spans.began(CHILD)
    [span] = heard.all()
    [link] = span.links
    assert (link.context.trace_id, link.context.span_id) == (
        uuid.UUID(CHILD).int,
        root_of(CHILD).span_id,
    )


def test_a_share_of_all_operations_is_told_and_each_wholly() -> None:
    """Samplers take bits for chance that are the same in every UUID."""
    sampler = OperationSampler(TraceIdRatioBased(0.3))
    ids = [uuid.uuid5(uuid.NAMESPACE_URL, str(number)).int for number in range(2000)]
    told = [sampler.should_sample(None, each, "x").decision for each in ids]
    assert 500 < told.count(Decision.RECORD_AND_SAMPLE) < 700
    assert told == [sampler.should_sample(None, each, "another name").decision for each in ids]


def test_what_is_closed_tells_nothing_and_may_be_closed_again(heard: Heard) -> None:
    heard.spans.close()
    heard.spans.close()
    with heard.spans.check(claim(), "w"):
        pass
    assert heard.all() == ()


def test_switched_off_nobody_is_told_and_nothing_is_imported() -> None:
    assert tracing_of(Settings(), "worker") is OFF
    code = (
        "import sys, orchestrator.processes.runtime, workers.check.checker\n"
        "print(*[name for name in sys.modules if name.startswith('opentelemetry')])"
    )
    run = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert run.stdout.strip() == ""


@pytest.mark.parametrize(
    ("environment", "path", "told"),
    [
        ({"OTEL_TRACES_EXPORTER": "otpl"}, "OTEL_TRACES_EXPORTER", "did you mean 'otlp'?"),
        ({"OTEL_EXPORTER_OTLP_PROTOCOL": "grcp"}, "OTEL_EXPORTER_OTLP_PROTOCOL", "did you mean 'grpc'?"),
        ({"OTEL_BSP_MAX_QUEUE_SIZE": "many"}, "OTEL_BSP_MAX_QUEUE_SIZE", "got 'many'"),
    ],
)
def test_a_variable_that_is_wrong_is_refused_before_anything_begins(
    monkeypatch: pytest.MonkeyPatch, environment: Mapping[str, str], path: str, told: str
) -> None:
    for name, value in environment.items():
        monkeypatch.setenv(name, value)
    with pytest.raises(InvalidInput) as error:
        require_tracing(Settings(tracing=True))
    assert str(error.value).startswith(f"{path}: ")
    assert told in str(error.value)
    require_tracing(Settings(tracing=False))


def test_nobody_is_told_where_the_environment_says_so() -> None:
    assert exporters_of_environment({"OTEL_TRACES_EXPORTER": "none"}) == []


def test_without_the_packages_the_settings_are_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delitem(sys.modules, "orchestrator.tracing.otel")
    monkeypatch.setitem(sys.modules, "opentelemetry", None)
    with pytest.raises(InvalidInput, match=r"pip install 'isotherm\[otel\]'"):
        require_tracing(Settings(tracing=True))


def test_a_collector_is_told_of_all_steps_of_a_real_stack(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    receiver = Receiver().launch()
    monkeypatch.setenv("OTEL_EXPORTER_OTLP_ENDPOINT", receiver.url)
    monkeypatch.setenv("OTEL_SERVICE_NAME", "our-stacks")
    try:
        with Service.open(Settings(state_directory=tmp_path, tracing=True)) as service:
            service.create(StackJob(name="s", template=TEMPLATE))
            operation = service._find("s").traversal_id
            until(lambda: service._store.traversals.is_end_finished(operation))
        spans = _received(receiver)
    finally:
        receiver.close()
    mine = [span for span in spans if span["trace"] == operation]
    [root] = [span for span in mine if not span["parent"]]
    assert root["isotherm.status"] == "FAILED"
    assert root["service.name"] == "our-stacks"
    steps = [span for span in mine if span["parent"]]
    assert {span["parent"] for span in steps} == {root["id"]}
    ended = {span["isotherm.resource.name"]: span["isotherm.outcome"] for span in steps}
    assert ended == {"first": "done", "group": "done", "last": "failed"}
    # The group is a stack of its own: its operation is another trace, with which the step that began it is linked.
    [inner] = {span["trace"] for span in spans} - {operation}
    assert [span["isotherm.resource.name"] for span in steps if inner in span["links"]] == ["group"]
    assert SECRET.encode() not in b"".join(message.body for message in receiver.messages)


def _received(receiver: Receiver) -> list[dict[str, Any]]:
    """Return what a collector was sent, in the order in which the spans began."""
    spans = []
    for message in receiver.messages:
        assert message.path == "/v1/traces"
        for told in ExportTraceServiceRequest.FromString(message.body).resource_spans:
            process = {each.key: each.value.string_value for each in told.resource.attributes}
            for span in told.scope_spans[0].spans:
                said = {each.key: each.value.string_value for each in span.attributes}
                links = [str(uuid.UUID(bytes=link.trace_id)) for link in span.links]
                known = {"trace": str(uuid.UUID(bytes=span.trace_id)), "id": span.span_id, "links": links}
                begun = {"at": span.start_time_unix_nano, "parent": span.parent_span_id}
                spans.append({**process, **said, **known, **begun})
    return sorted(spans, key=lambda span: span["at"])
