"""Who is named in a stack's environment is told what happens to it, from the first event to the last."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from hooks.loading.calling import MOST_LEFT
from orchestrator.config.settings import Settings
from orchestrator.errors import InvalidInput
from orchestrator.model.messages import EnvironmentSource, StackJob
from orchestrator.service import Service
from orchestrator.sinks.stack_pump import MOST_AT_ONCE, MOST_FAILING_AT_ONCE
from tests.unit.orchestrator.sinks.packages import Target, install
from tests.waiting import PATIENCE_SECONDS, until

TEMPLATE = """\
heat_template_version: 2021-04-16
resources:
  first: {type: OS::Heat::TestResource, properties: {value: "1"}}
"""
OUTER = """\
heat_template_version: 2021-04-16
resources:
  inner: {type: inner.yaml}
"""


@pytest.fixture
def settings(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Settings:
    install(tmp_path, monkeypatch)
    return Settings(state_directory=tmp_path / "state", environment_event_sinks=("target",))


@pytest.fixture
def service(settings: Settings) -> Iterator[Service]:
    with Service.open(settings) as service:
        yield service


def job(name: str, *targets: str, template: str = TEMPLATE, **more: Any) -> StackJob:
    sinks = ", ".join(f"{{type: target, target: {target}}}" for target in targets)
    source = EnvironmentSource(file="e.yaml", source=f"event_sinks: [{sinks}]")
    return StackJob(name=name, template=template, environments=(source,), **more)


def done(service: Service, stack_id: str) -> None:
    assert list(service.watch(stack_id, interval_seconds=0.01))[-1].finished


def made(service: Service, name: str, *targets: str, **more: Any) -> str:
    stack = service.create(job(name, *targets, **more))
    done(service, stack.id)
    return stack.id


def test_a_stack_is_told_from_its_first_event_to_its_last(service: Service) -> None:
    stack_id = made(service, "s", "here")
    service.delete("s")
    done(service, stack_id)
    Target.until("here", 8)
    assert Target.said("here") == [
        "s CREATE_IN_PROGRESS",
        "first CREATE_IN_PROGRESS",
        "first CREATE_COMPLETE",
        "s CREATE_COMPLETE",
        "s DELETE_IN_PROGRESS",
        "first DELETE_IN_PROGRESS",
        "first DELETE_COMPLETE",
        "s DELETE_COMPLETE",
    ]
    # Once that is on record, what it needs no more goes.

    def gone() -> bool:
        service._store.sink_cursors.remove_done()
        return not service.event_sinks()

    until(gone)


def test_the_end_of_a_command_lets_them_take_what_is_left(settings: Settings) -> None:
    with Service.open(settings) as service:
        stack_id = made(service, "s", "here", "there")
    assert len(Target.told["here"]) == len(Target.told["there"]) == 4
    with Service.open(settings) as service:
        first, second = service.event_sinks()
        assert (first.stack, first.stack_id, first.backlog, first.enabled) == ("s", stack_id, 0, True)
        assert first.owner == second.owner == ""


def test_a_new_definition_says_who_is_told_from_then_on(service: Service) -> None:
    # Whether or not they have been told what happened until then.
    made(service, "s", "here", "gone")
    stack = service.update(job("s", "new", "here", template=TEMPLATE.replace('"1"', '"2"')))
    done(service, stack.id)
    Target.until("here", 8)
    Target.until("new", 4)
    Target.until("gone", 4)
    assert Target.said("new") == Target.said("here")[4:]
    assert Target.said("new")[0] == "s UPDATE_IN_PROGRESS"
    assert len(Target.told["gone"]) == 4


def test_a_rollback_brings_back_who_was_told_before(service: Service) -> None:
    stack_id = made(service, "s", "here")
    until(lambda: not service.event_sinks()[0].backlog)
    broken = TEMPLATE.replace('value: "1"', "value: x, fail: true")
    service.update(job("s", "new", template=broken, rollback=True))
    done(service, stack_id)
    assert service.stack("s").state == "ROLLBACK_COMPLETE"
    # Who was named in between was told until then; who was named before is told from then on.
    Target.until("here", 6)
    assert Target.said("new")[:1] in ([], ["s UPDATE_IN_PROGRESS"])
    assert "s ROLLBACK_IN_PROGRESS" in Target.said("here")[4:]
    assert not {"s ROLLBACK_IN_PROGRESS", "s ROLLBACK_COMPLETE"} & set(Target.said("new"))

    def alone() -> bool:
        service._store.sink_cursors.remove_done()
        return len(service.event_sinks()) == 1

    until(alone)


def test_stacks_in_a_stack_are_told_of_too(service: Service) -> None:
    made(service, "s", "here", template=OUTER, files={"inner.yaml": TEMPLATE})
    Target.until("here", 8)
    said = Target.said("here")
    assert {"s CREATE_COMPLETE", "inner CREATE_COMPLETE", "first CREATE_COMPLETE"} <= set(said)
    assert len({event.stack_id for event in Target.told["here"]}) == 2


def test_targets_that_do_not_listen_delay_no_other(service: Service) -> None:
    slow = [f"slow-{number}" for number in range(4)]
    with Target.stops(*slow):
        made(service, "s", *slow, "broken", "quick")
        Target.until("quick", 4)
        assert all(target not in Target.told for target in slow)
    for target in slow:
        Target.until(target, 4)


def test_many_targets_that_failed_and_now_hang_leave_hands_for_others(service: Service) -> None:
    """They have waited longest, and go on doing so."""
    dead = [f"dead-{number}" for number in range(12)]
    Target.broken.update(dead)
    made(service, "s", *dead)
    until(lambda: all(view.failures for view in service.event_sinks()))
    with Target.stops(*dead):
        Target.broken.clear()
        with Target.changed:
            assert Target.changed.wait_for(
                lambda: len(Target.waiting) == MOST_FAILING_AT_ONCE, PATIENCE_SECONDS
            )
        for number in range(3):
            made(service, f"t{number}", f"quick-{number}")
            Target.until(f"quick-{number}", 4)
            assert len(Target.waiting) <= MOST_FAILING_AT_ONCE < MOST_AT_ONCE
    for target in dead:
        Target.until(target, 4)


def test_many_targets_that_hang_for_good_hang_no_other(settings: Settings) -> None:
    impatient = settings.with_values(event_sinks={"target": {"time_limit_seconds": 1.0}})
    hanging = [f"hanging-{number}" for number in range(MOST_LEFT + 1)]
    with Service.open(impatient) as service, Target.stops(*hanging):
        made(service, "s", *hanging)
        until(lambda: all(view.failures for view in service.event_sinks()))
        made(service, "t", "quick")
        Target.until("quick", 4)
        # Nobody calls them again while they hang.
        until(lambda: all(view.failures > 1 for view in service.event_sinks() if view.stack == "s"))
        errors = {view.error for view in service.event_sinks() if view.stack == "s"}
        assert errors == {"an earlier call of it has not ended yet"}


def test_a_target_that_refuses_is_tried_again_and_its_words_are_kept_without_secrets(
    service: Service,
) -> None:
    Target.broken.add("here")
    source = "event_sinks: [{type: target, target: here, secret: s3cret}]"
    stack = service.create(
        StackJob(name="s", template=TEMPLATE, environments=(EnvironmentSource(file="e.yaml", source=source),))
    )
    done(service, stack.id)
    view = until(lambda: next((each for each in service.event_sinks() if each.failures), None))
    assert view.error == "here refused ******"
    Target.broken.clear()
    Target.until("here", 4)
    assert len(Target.told["here"]) == 4


def test_a_command_that_only_reads_tells_nobody(settings: Settings) -> None:
    with Service.open(settings) as service:
        made(service, "s", "here")
    with Service.open(settings) as service:
        assert [view.name for view in service.stacks()] == ["s"]
        assert service.event_sinks()
        assert service._embedded
        assert "pump" not in vars(service._embedded.runtime)


def test_what_is_not_allowed_is_refused_before_anything_is_made(settings: Settings) -> None:
    strict = settings.with_values(environment_event_sinks=())
    with Service.open(strict) as service:
        with pytest.raises(InvalidInput, match="environments may not name the event sink 'target' here"):
            service.create(job("s", "here"))
        assert service.stacks() == []
