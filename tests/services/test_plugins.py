"""A package on coordinators and workers is asked and told of stacks that a client submits who does not have it."""

import json
import os
from pathlib import Path

from orchestrator.service import Service
from tests.services.engine import running
from tests.services.test_update import isotherm, service  # noqa: F401  # a fixture
from tests.unit.docs.pages import ROOT, Session
from tests.unit.packages import install
from tests.waiting import until

SOURCE = """
    import json
    from pathlib import Path
    from hooks.errors import Refusal
    from hooks.events import EventSink
    from hooks.lifecycle import Annotations, LifecyclePlugin

    def note(file, *words):
        with Path(file).open("a") as opened:
            opened.write(json.dumps(words) + "\\n")

    class Asked(LifecyclePlugin):
        def do_pre_op(self, context, stack, current_stack, action):
            if "forbidden" in stack.resources:
                raise Refusal("not that one")
            note("calls", "enter", context.operation_id, stack.name, action)
            return Annotations(resources={name: {"asked": True} for name in stack.resources})

        def do_post_op(self, context, stack, current_stack, action, is_stack_failure):
            note("calls", "leave", context.operation_id, stack.name, action)

    class Told(EventSink):
        def consume(self, events):
            for event in events:
                note("events", event.id, event.stack_name, event.resource, event.action, event.status)
"""
OUTER = """\
heat_template_version: 2021-04-16
resources:
  inner: {type: inner.yaml}
"""
INNER = """\
heat_template_version: 2021-04-16
resources:
  one: {type: OS::Heat::TestResource}
"""
FORBIDDEN = "heat_template_version: 2021-04-16\nresources: {forbidden: {type: OS::Heat::TestResource}}\n"


def noted(file: Path) -> list[list[str]]:
    """Return what is there in whole lines."""
    return [json.loads(line) for line in file.read_text().rpartition("\n")[0].splitlines()]


def test_plugins_and_sinks_of_real_processes(
    tmp_path: Path,
    redis_url: str,
    postgres_url: str,
    service: Service,  # noqa: F811
) -> None:
    client, site = Session(tmp_path), tmp_path / "site"
    client.environment |= {"ISOTHERM_BROKER_URL": redis_url, "ISOTHERM_DATABASE_URL": postgres_url}
    for name, text in {"outer": OUTER, "inner": INNER, "forbidden": FORBIDDEN}.items():
        (tmp_path / f"{name}.yaml").write_text(text)
    site.mkdir()
    entries = {
        "isotherm.lifecycle": ["asked = acme_real:Asked"],
        "isotherm.event_sinks": ["told = acme_real:Told"],
    }
    install(site, "acme_real", SOURCE, entries)
    host = Session(tmp_path)
    host.environment = {**client.environment, "PYTHONPATH": os.pathsep.join([str(site), str(ROOT)])}

    with running([host.start_quickly(f"isotherm {kind}") for kind in ("coordinator", "worker")]) as engines:
        isotherm(client, "stack", "create", "s", "-t", "outer.yaml")
        isotherm(client, "stack", "create", "no", "-t", "forbidden.yaml", code=2)
        shown = service.resource("s", "inner")
        isotherm(client, "stack", "delete", "s", "--yes")
        until(lambda: noted(tmp_path / "events")[-1][1:] == ["s", "", "DELETE", "COMPLETE"] or None)
    assert "Traceback" not in "".join(engine.log for engine in engines)

    assert shown.annotations == {"asked": {"asked": True}}
    calls = noted(tmp_path / "calls")
    operations = [operation for word, operation, *_ in calls if word == "enter"]
    assert len(set(operations)) == len(operations) == 4
    assert [name for word, _, name, _ in calls if word == "enter"][::2] == ["s", "s"]
    for operation in operations:
        assert [word for word, each, *_ in calls if each == operation] == ["enter", "leave"]
    events = noted(tmp_path / "events")
    ids = [int(event[0]) for event in events]
    assert ids == sorted(set(ids))
    told = [status for _, stack, resource, _, status in events if (stack, resource) == ("s", "inner")]
    assert told == ["IN_PROGRESS", "COMPLETE", "IN_PROGRESS", "COMPLETE"]
