"""The sink ``prometheus`` shows what is on record, as Prometheus reads it, and takes no count back."""

import importlib.util
from collections.abc import Iterator
from pathlib import Path

import httpx
import pytest
from prometheus_client.openmetrics.parser import text_string_to_metric_families as parse_openmetrics
from prometheus_client.parser import text_string_to_metric_families as parse_text
from prometheus_client.samples import Sample
from pydantic import ValidationError

from hooks.builtin.sinks.prometheus import PrometheusOptions, PrometheusSink
from hooks.events import Event
from tests.services.process import free_port
from tests.unit.hooks.builtin.sinks.histories import event, stack_event
from tests.waiting import PATIENCE_SECONDS

OPENMETRICS = "application/openmetrics-text; version=1.0.0"
HISTORY = [
    stack_event(1, status="IN_PROGRESS", at=100.0),
    event(2),
    event(3, status="FAILED", type="Acme::Thing"),
    stack_event(4, status="FAILED", at=107.0),
]


@pytest.fixture
def textfile(tmp_path: Path) -> Path:
    return tmp_path / "isotherm.prom"


@pytest.fixture
def sink(textfile: Path) -> Iterator[PrometheusSink]:
    sink = PrometheusSink(PrometheusOptions(listen=f"127.0.0.1:{free_port()}", textfile=textfile))
    sink.restore(b"")
    yield sink
    sink.close()


def commit(sink: PrometheusSink, events: list[Event]) -> bytes:
    """Do what is done with a sink when all goes well."""
    sink.consume(events)
    state = sink.save()
    sink.kept()
    return state


def value(samples: list[Sample], name: str, **labels: str) -> float | None:
    found = [each.value for each in samples if each.name == name and each.labels.items() >= labels.items()]
    return found[0] if found else None


def asked(sink: PrometheusSink) -> list[Sample]:
    answer = httpx.get(
        f"http://{sink.options.listen}/metrics", headers={"accept": OPENMETRICS}, timeout=PATIENCE_SECONDS
    )
    assert answer.headers["content-type"].startswith("application/openmetrics-text")
    families = parse_openmetrics(answer.text)  # type: ignore[no-untyped-call]
    return [sample for family in families for sample in family.samples]


def read(textfile: Path) -> list[Sample]:
    return [sample for family in parse_text(textfile.read_text()) for sample in family.samples]


def test_counts_are_read_by_prometheus_own_parsers(sink: PrometheusSink, textfile: Path) -> None:
    commit(sink, HISTORY)
    for samples in (asked(sink), read(textfile)):
        created = {"action": "CREATE", "status": "COMPLETE", "type": "OS::Heat::Value"}
        assert value(samples, "isotherm_resource_actions_total", **created) == 1
        assert value(samples, "isotherm_resource_actions_total", type="Acme::Thing", status="FAILED") == 1
        assert value(samples, "isotherm_stack_operations_total", action="CREATE", status="FAILED") == 1
        seconds = "isotherm_stack_operation_duration_seconds"
        assert value(samples, f"{seconds}_bucket", le="5.0") == 0
        assert value(samples, f"{seconds}_bucket", le="10.0") == 1
        assert value(samples, f"{seconds}_sum", action="CREATE", status="FAILED") == 7.0
        assert value(samples, "isotherm_events_last_id") == 4
        assert value(samples, "isotherm_events_last_timestamp_seconds") == 107.0


def test_no_name_of_a_stack_or_a_resource_becomes_a_label(sink: PrometheusSink, textfile: Path) -> None:
    commit(sink, HISTORY)
    labels = {name for sample in read(textfile) for name in sample.labels}
    assert labels == {"action", "status", "type", "le"}
    assert "shop" not in textfile.read_text()


def test_what_is_not_on_record_is_not_shown(sink: PrometheusSink, textfile: Path) -> None:
    state = commit(sink, HISTORY[:2])
    sink.consume(HISTORY[2:])
    sink.save()
    for samples in (asked(sink), read(textfile)):
        assert value(samples, "isotherm_events_last_id") == 2
    # The process dies; the next one shows what this one showed, and counts on.
    sink.close()
    following = PrometheusSink(sink.options)
    following.restore(state)
    assert value(asked(following), "isotherm_events_last_id") == 2
    commit(following, HISTORY[2:])
    assert value(asked(following), "isotherm_stack_operations_total", status="FAILED") == 1
    following.close()


def test_events_that_come_again_are_not_counted_again(sink: PrometheusSink) -> None:
    sink.consume(HISTORY)
    commit(sink, HISTORY)
    assert value(asked(sink), "isotherm_resource_actions_total", type="Acme::Thing") == 1


def test_one_process_listens_and_the_next_when_it_is_gone(sink: PrometheusSink) -> None:
    other = PrometheusSink(sink.options)
    with pytest.raises(OSError, match="in use"):
        other.restore(b"")
    sink.close()
    other.restore(b"")
    assert value(asked(other), "isotherm_events_last_id") == 0
    other.close()


def test_a_file_that_cannot_be_written_keeps_nobody_from_listening(tmp_path: Path) -> None:
    listen = f"127.0.0.1:{free_port()}"
    broken = PrometheusSink(PrometheusOptions(listen=listen, textfile=tmp_path / "gone" / "isotherm.prom"))
    with pytest.raises(FileNotFoundError):
        broken.restore(b"")
    other = PrometheusSink(PrometheusOptions(listen=listen))
    other.restore(b"")
    assert value(asked(other), "isotherm_events_last_id") == 0
    other.close()


def test_counters_of_another_version_begin_again(sink: PrometheusSink) -> None:
    sink.restore(b"\xc1")
    commit(sink, [event(9)])
    assert value(asked(sink), "isotherm_events_last_id") == 9


@pytest.mark.parametrize("listen", ["9464", "localhost", ":9464", "127.0.0.1:http", "127.0.0.1:99999"])
def test_an_address_that_is_none_is_refused(listen: str) -> None:
    with pytest.raises(ValidationError, match="expected HOST:PORT"):
        PrometheusOptions(listen=listen)


@pytest.mark.parametrize("name", ["isotherm.prom", "/var/lib/isotherm.txt"])
def test_a_file_that_nobody_would_collect_is_refused(name: str) -> None:
    with pytest.raises(ValidationError, match=r"expected an absolute path that ends with \.prom"):
        PrometheusOptions(textfile=Path(name))


def test_counters_that_nobody_could_read_are_refused() -> None:
    with pytest.raises(ValueError, match="expected listen or textfile"):
        PrometheusSink(PrometheusOptions())


def test_without_the_library_it_says_what_to_install(textfile: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(importlib.util, "find_spec", {"prometheus_client": None}.__getitem__)
    with pytest.raises(ValueError, match=r"pip install 'isotherm\[prometheus\]'"):
        PrometheusSink(PrometheusOptions(textfile=textfile))
