"""``isotherm stack hook``, and what else tells that a stack waits for somebody."""

import io
import json
import subprocess
from pathlib import Path

import pytest
from rich.console import Console

from orchestrator.cli.lines import Lines
from orchestrator.cli.screen import picture
from orchestrator.views.stacks import HookView, Progress
from tests.unit.orchestrator.cli.commands import TEMPLATE, run, start
from tests.unit.orchestrator.cli.fake_service import NOON, FakeService, Terminal, stack_view
from tests.waiting import PATIENCE_SECONDS


def hook_view(resource: str, kind: str = "pre-create", seconds: float = 0) -> HookView:
    return HookView(resource=resource, uuid=f"uuid-of-{resource}", kind=kind, since=NOON + seconds)


@pytest.fixture
def standing(service: FakeService) -> FakeService:
    """Three resources stand."""
    service.hooks_held = [hook_view("disk"), hook_view("server1"), hook_view("server2", "post-create", 60)]
    return service


def progress(*hooks: HookView) -> Progress:
    stack = stack_view("my web", "CREATE", "IN_PROGRESS")
    return Progress(stack=stack, counts={"done": 1}, running=(), total=2, done=1, finished=False, hooks=hooks)


# -- the commands ------------------------------------------------------------------------------------------------------


def test_what_stands_is_listed(terminal: Terminal, standing: FakeService) -> None:
    result = terminal.run("stack", "hook", "list", "web")
    assert result.exit_code == 0, result.output
    assert result.stdout.splitlines() == [
        "RESOURCE  HOOK         SINCE                 UUID",
        "disk      pre-create   2024-03-01T12:00:00Z  uuid-of-disk",
        "server1   pre-create   2024-03-01T12:00:00Z  uuid-of-server1",
        "server2   post-create  2024-03-01T12:01:00Z  uuid-of-server2",
    ]


def test_programs_get_what_stands_as_json(terminal: Terminal, standing: FakeService) -> None:
    listed = json.loads(terminal.run("stack", "hook", "list", "web", "-f", "json").stdout)
    assert listed[2] == {
        "resource": "server2",
        "uuid": "uuid-of-server2",
        "kind": "post-create",
        "since": "2024-03-01T12:01:00.000000Z",
    }


def test_all_that_stand_are_let_on(terminal: Terminal, standing: FakeService) -> None:
    result = terminal.run("stack", "hook", "clear", "web", "-f", "json")
    assert result.exit_code == 0, result.output
    assert [each["resource"] for each in json.loads(result.stdout)] == ["disk", "server1", "server2"]
    assert standing.hooks_held == []


def test_only_what_matches_is_let_on(terminal: Terminal, standing: FakeService) -> None:
    result = terminal.run("stack", "hook", "clear", "web", "server*", "--kind", "post-create")
    assert result.exit_code == 0, result.output
    assert [each.resource for each in standing.hooks_held] == ["disk", "server1"]


def test_letting_on_again_is_no_failure_but_said(terminal: Terminal, standing: FakeService) -> None:
    terminal.run("stack", "hook", "clear", "web")
    result = terminal.run("stack", "hook", "clear", "web", "-f", "json")
    assert result.exit_code == 0
    assert json.loads(result.stdout) == []
    assert "no resource in web is held at such a hook" in result.stderr


def test_a_kind_that_is_none_is_refused(terminal: Terminal, standing: FakeService) -> None:
    result = terminal.run("stack", "hook", "clear", "web", "--kind", "pre-crate")
    assert result.exit_code == 2
    assert "pre-create" in result.stderr
    assert len(standing.hooks_held) == 3


# -- watching ----------------------------------------------------------------------------------------------------------


def test_a_pipe_is_told_once_who_waits_and_how_to_go_on(capsys: pytest.CaptureFixture[str]) -> None:
    lines = Lines()
    lines.show(progress(hook_view("disk")), [])
    lines.show(progress(hook_view("disk")), [])
    lines.show(progress(hook_view("disk"), hook_view("a b", "post-create")), [])
    assert capsys.readouterr().err.splitlines() == [
        "disk is held at pre-create; continue with: isotherm stack hook clear 'my web' disk",
        "a b is held at post-create; continue with: isotherm stack hook clear 'my web' 'a b'",
    ]


def test_a_terminal_shows_the_first_who_wait_and_how_to_go_on() -> None:
    console = Console(file=io.StringIO(), width=120, force_terminal=True, color_system=None)
    with console.capture() as capture:
        console.print(
            picture(progress(*(hook_view(f"r{number}") for number in range(5))), elapsed_seconds=1.0)
        )
    drawn = capture.get()
    assert "r0 is held at pre-create; continue with: isotherm stack hook clear 'my web' r0" in drawn
    assert "r2 is held" in drawn
    assert "r3 is held" not in drawn
    assert "2 more held at hooks" in drawn


# -- the whole ---------------------------------------------------------------------------------------------------------


def test_a_create_waits_until_another_command_lets_it_on(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("ISOTHERM_STATE_DIRECTORY", str(tmp_path / "state"))
    for name in ("ISOTHERM_BROKER_URL", "ISOTHERM_DATABASE_URL"):
        monkeypatch.delenv(name, raising=False)
    (tmp_path / "web.yaml").write_text(TEMPLATE)
    (tmp_path / "hooks.yaml").write_text(
        "resource_registry: {resources: {'s*': {hooks: [pre-create, post-create]}}}"
    )
    creating = start(
        *("stack", "create", "web", "-t", "web.yaml", "-e", "hooks.yaml"),
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
    )
    assert creating.stderr is not None
    assert any("second is held at pre-create; continue with" in line for line in creating.stderr)

    (listed,) = json.loads(run("stack", "hook", "list", "web", "-f", "json").stdout)
    assert (listed["resource"], listed["kind"]) == ("second", "pre-create")
    shown = json.loads(run("stack", "show", "web", "-f", "json").stdout)
    assert (shown["state"], shown["reason"]) == (
        "CREATE_IN_PROGRESS",
        "paused until these hooks are cleared: second (pre-create)",
    )
    second = json.loads(run("stack", "resource", "show", "web", "second", "-f", "json").stdout)
    assert (second["state"], second["hook"]) == ("INIT_COMPLETE", "pre-create")
    assert second["reason"] == "paused until Hook pre-create is cleared"
    assert "paused until Hook pre-create is cleared" in run("stack", "resource", "list", "web").stdout

    missing = run("stack", "hook", "clear", "web", "secnod")
    assert missing.exit_code == 2
    assert "did you mean 'second'?" in missing.stderr
    nothing = run("stack", "hook", "clear", "web", "first")
    assert nothing.exit_code == 0
    cleared = run("stack", "hook", "clear", "web", "second", "--kind", "pre-create")
    assert cleared.exit_code == 0, cleared.output

    assert any("second is held at post-create" in line for line in creating.stderr)
    wrong = run("stack", "resource", "signal", "web", "second", "-d", '{"unset_hook": "post-crate"}')
    assert wrong.exit_code == 2
    assert "did you mean 'post-create'?" in wrong.stderr
    early = run("stack", "resource", "signal", "web", "second", "-d", '{"unset_hook": "pre-create"}')
    assert early.exit_code == 2
    assert "'second' does not stand at the hook pre-create" in early.stderr
    signalled = run("stack", "resource", "signal", "web", "second", "-d", '{"unset_hook": "post-create"}')
    assert signalled.exit_code == 0, signalled.output

    written, said = creating.communicate(timeout=PATIENCE_SECONDS)
    assert creating.returncode == 0, said
    assert "web CREATE_COMPLETE" in written
    assert json.loads(run("stack", "hook", "list", "web", "-f", "json").stdout) == []
