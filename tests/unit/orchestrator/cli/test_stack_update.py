"""``isotherm stack update``: what it asks of the service, what it writes, how it ends."""

import json
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest
import yaml

from orchestrator.model.messages import EnvironmentSource, StackJob
from orchestrator.views.stacks import PartChange, Progress, PropertyChange, ResourcePlan, UpdatePlan
from tests.unit.orchestrator.cli.fake_service import FakeService, Terminal

TEMPLATE = (
    "heat_template_version: 2021-04-16\nparameters: {count: {type: number, default: 1}}\nresources: {}\n"
)


@pytest.fixture(autouse=True)
def _here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "web.yaml").write_text(TEMPLATE)
    (tmp_path / "prod.yaml").write_text("parameters: {count: 7}\n")


def test_an_update_is_followed_to_its_end_and_shows_outputs(terminal: Terminal, service: FakeService) -> None:
    result = terminal.run("stack", "update", "web", "-t", "web.yaml", "-P", "count=5", "--timeout", "3")
    assert result.exit_code == 0, result.output
    assert result.stdout.startswith("web UPDATE_COMPLETE after")
    assert "http://10.0.0.7" in result.stdout
    assert result.stderr.count("server UPDATE_COMPLETE") == 1
    # What happened before is no news.
    assert "CREATE" not in result.stderr
    (job,) = service.jobs
    assert (job.name, job.template, job.parameters) == ("web", TEMPLATE, {"count": "5"})
    assert job.timeout_minutes == 3


def test_resources_that_are_named_are_in_the_job(terminal: Terminal, service: FakeService) -> None:
    named = ("--target", "b", "--target", "a", "--replace", "a")
    assert terminal.run("stack", "update", "web", "-t", "web.yaml", *named).exit_code == 0
    assert terminal.run("stack", "update", "web", "-t", "web.yaml").exit_code == 0
    assert [(job.targets, job.replaces) for job in service.jobs] == [(("b", "a"), ("a",)), ((), ())]


def test_an_update_that_fails_ends_with_one(terminal: Terminal, service: FakeService) -> None:
    service.ending = "FAILED"
    result = terminal.run("stack", "update", "web", "-t", "web.yaml")
    assert result.exit_code == 1
    assert "web UPDATE_FAILED" in result.stdout


def test_without_a_template_nothing_is_asked(terminal: Terminal, service: FakeService) -> None:
    result = terminal.run("stack", "update", "web")
    assert result.exit_code == 2
    assert "--existing" in result.stderr
    assert service.jobs == []


def test_a_stack_that_is_not_there_is_bad_input(terminal: Terminal) -> None:
    for words in (["-t", "web.yaml"], ["--existing"]):
        assert terminal.run("stack", "update", "wbe", *words).exit_code == 2


def test_leaving_needs_a_broker(terminal: Terminal, service: FakeService) -> None:
    words = ("stack", "update", "web", "-t", "web.yaml", "--no-wait", "-f", "json")
    assert terminal.run(*words).exit_code == 2
    assert service.jobs == []
    terminal.broker_url = "redis://nowhere"
    terminal.shell.__dict__.pop("settings", None)
    left = terminal.run(*words)
    assert left.exit_code == 0
    assert json.loads(left.stdout)["state"] == "UPDATE_IN_PROGRESS"


def test_what_is_not_given_stays_with_existing(terminal: Terminal, service: FakeService) -> None:
    stored = EnvironmentSource(file="old.yaml", source="parameters: {count: 2}")
    service.held_definition = StackJob(
        name="",
        template=TEMPLATE,
        template_file="gone.yaml",
        environments=(stored,),
        parameters={"count": "3"},
    )
    assert terminal.run("stack", "update", "id-of-web", "--existing").exit_code == 0
    assert terminal.run("stack", "update", "web", "--existing", "-P", "count=4").exit_code == 0
    assert terminal.run("stack", "update", "web", "--existing", "-e", "prod.yaml").exit_code == 0
    same, other, environment = service.jobs
    assert (same.name, same.template, same.template_file) == ("web", TEMPLATE, "gone.yaml")
    assert (same.parameters, same.environments) == ({"count": "3"}, (stored,))
    assert other.parameters == {"count": "4"}
    assert environment.parameters == {}
    assert [each.file for each in environment.environments] == ["old.yaml", "prod.yaml"]


def test_an_update_keeps_the_time_out_or_resets_it(terminal: Terminal, service: FakeService) -> None:
    service.held_definition = StackJob(name="", template=TEMPLATE, timeout_minutes=7)
    words = ("stack", "update", "web", "--existing")
    for more in ((), ("--timeout", "3"), ("--default-timeout",)):
        assert terminal.run(*words, *more).exit_code == 0
    assert [job.timeout_minutes for job in service.jobs] == [7, 3, None]
    both = terminal.run(*words, "--timeout", "3", "--default-timeout")
    assert (both.exit_code, "exclude each other" in both.stderr) == (2, True)
    assert len(service.jobs) == 3


def test_a_template_that_is_given_takes_the_place_of_the_existing_one(
    terminal: Terminal, service: FakeService
) -> None:
    service.held_definition = StackJob(name="", template="old", parameters={"count": "3", "colour": "red"})
    assert terminal.run("stack", "update", "web", "--existing", "-t", "web.yaml").exit_code == 0
    (job,) = service.jobs
    assert (job.template, job.parameters) == (TEMPLATE, {"count": "3"})


# -- dry runs --------------------------------------------------------------------------------------------------

PLAN = UpdatePlan(
    name="web",
    state="CREATE_COMPLETE",
    parameters={"count": 5},
    resources=(
        ResourcePlan(name="disk", type="Disk", action="UNCHANGED"),
        ResourcePlan(
            name="server",
            type="Server",
            action="REPLACE",
            reason="cannot be changed in place: size",
            changes=(
                PropertyChange(name="size", before=3, after=5, meaning="REPLACE", is_certain=True),
                PropertyChange(
                    name="key", before="******", after="******", meaning="UPDATE", is_certain=False
                ),
            ),
        ),
        ResourcePlan(name="new", type="Disk", action="CREATE"),
        ResourcePlan(name="old", type="Disk", action="DELETE"),
    ),
)


def test_a_dry_run_shows_what_would_be_and_changes_nothing(terminal: Terminal, service: FakeService) -> None:
    service.plan_held = PLAN
    result = terminal.run("stack", "update", "web", "-t", "web.yaml", "-P", "count=5", "--dry-run")
    assert result.exit_code == 0, result.output
    lines = [" ".join(line.split()) for line in result.stdout.splitlines()]
    assert "server Server replace cannot be changed in place: size" in lines
    assert "server size 3 5" in lines
    assert "plan 1 to create, 1 to replace, 1 to delete, 1 unchanged" in lines
    assert service.jobs == []
    assert [job.parameters for job in service.planned] == [{"count": "5"}]


def test_a_dry_run_is_told_to_programs_too(terminal: Terminal, service: FakeService) -> None:
    service.plan_held = PLAN
    words = ("stack", "update", "web", "--existing", "--dry-run", "--no-wait")
    as_json = json.loads(terminal.run(*words, "-f", "json").stdout)
    assert as_json == yaml.safe_load(terminal.run(*words, "-f", "yaml").stdout)
    assert as_json["resources"][1]["changes"][0] == {
        "name": "size",
        "before": 3,
        "after": 5,
        "meaning": "REPLACE",
        "is_certain": True,
        "parts": [],
    }
    assert as_json["resources"][1]["may"] == []
    assert service.jobs == []


def test_an_exit_code_tells_scripts_whether_anything_changes(
    terminal: Terminal, service: FakeService
) -> None:
    words = ("stack", "update", "web", "-t", "web.yaml")
    service.plan_held = PLAN
    assert terminal.run(*words, "--dry-run", "--exit-code").exit_code == 4
    assert terminal.run(*words, "--dry-run").exit_code == 0
    service.plan_held = replace(PLAN, resources=PLAN.resources[:1], has_changes=False)
    assert terminal.run(*words, "--dry-run", "--exit-code", "-f", "json").exit_code == 0
    # Without a plan there is no answer.
    assert (
        terminal.run("stack", "update", "wbe", "-t", "gone.yaml", "--dry-run", "--exit-code").exit_code == 2
    )
    refused = terminal.run(*words, "--exit-code")
    assert (refused.exit_code, service.jobs) == (2, [])
    assert "--exit-code is for --dry-run: give both" in refused.stderr


def test_maps_and_lists_are_shown_by_key(terminal: Terminal, service: FakeService) -> None:
    parts = (PartChange(path="ports[0]", before=80, after=81), PartChange(path="[1]", before=None, after="x"))
    change = PropertyChange(name="net", before={}, after={}, meaning="UPDATE", is_certain=True, parts=parts)
    resource = ResourcePlan(name="server", type="Server", action="UPDATE", changes=(change,))
    service.plan_held = replace(PLAN, resources=(resource,))
    shown = terminal.run("stack", "update", "web", "-t", "web.yaml", "--dry-run").stdout
    lines = [" ".join(line.split()) for line in shown.splitlines()]
    assert "server net.ports[0] 80 81" in lines
    assert "server net[1] x" in lines


def test_a_stack_of_nothing_has_a_plan(terminal: Terminal) -> None:
    shown = terminal.run("stack", "update", "web", "-t", "web.yaml", "--dry-run").stdout
    assert "there are no resources" in shown


def test_an_update_whose_place_another_took_says_so_and_ends_with_one(
    terminal: Terminal, service: FakeService, monkeypatch: pytest.MonkeyPatch
) -> None:
    watch = service.watch

    def overtaken(stack_id: str, *, interval_seconds: float = 0.25) -> Iterator[Progress]:
        for progress in watch(stack_id, interval_seconds=interval_seconds):
            yield replace(progress, stack=replace(progress.stack, traversal_id="another"))

    monkeypatch.setattr(service, "watch", overtaken)
    result = terminal.run("stack", "update", "web", "-t", "web.yaml")
    assert result.exit_code == 1
    assert "web: superseded by another update" in result.stderr
    assert "web UPDATE_COMPLETE" in result.stdout


@pytest.mark.parametrize("before", [False, True])
def test_whether_it_is_rolled_back_stays_with_existing(
    terminal: Terminal, service: FakeService, before: bool
) -> None:
    service.held_definition = StackJob(name="", template=TEMPLATE, rollback=before)
    for words in (
        ["--existing"],
        ["--existing", "--rollback"],
        ["--existing", "--no-rollback"],
        ["-t", "web.yaml"],
    ):
        assert terminal.run("stack", "update", "web", *words).exit_code == 0
    assert [job.rollback for job in service.jobs] == [before, True, False, False]
