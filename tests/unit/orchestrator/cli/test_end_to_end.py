"""The whole command line on the real service, embedded, in a state directory of its own."""

import json
import os
import pty
import re
import signal
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from orchestrator.store.retrying import impatient
from tests.unit.orchestrator.cli.commands import (
    FAILING,
    TEMPLATE,
    WAITING,
    WRONG,
    on_terminal,
    read_all,
    run,
    start,
)

Write = Callable[[str], str]


@pytest.fixture
def write(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Write:
    """Write a template in an empty directory with a state directory of its own, and return its path."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("ISOTHERM_STATE_DIRECTORY", str(tmp_path / "state"))
    for name in ("ISOTHERM_BROKER_URL", "ISOTHERM_DATABASE_URL"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("TERM", "xterm-256color")
    monkeypatch.setenv("COLUMNS", "100")

    def template(text: str) -> str:
        (tmp_path / "web.yaml").write_text(text)
        return "web.yaml"

    return template


def test_a_stack_from_creation_to_deletion(write: Write) -> None:
    created = run("stack", "create", "web", "-t", write(TEMPLATE), "-P", "word=good morning")
    assert created.exit_code == 0, created.output
    assert created.stdout.startswith("web CREATE_COMPLETE after")
    assert "good morning" in created.stdout
    for resource in ("first", "second"):
        assert created.stderr.count(f"{resource} CREATE_COMPLETE") == 1

    (listed,) = json.loads(run("stack", "list", "-f", "json").stdout)
    assert (listed["name"], listed["state"]) == ("web", "CREATE_COMPLETE")

    shown = run("stack", "show", "web", "-f", "json").stdout
    assert json.loads(shown)["parameters"] == {"word": "good morning", "password": "******"}
    assert "s3cret" not in shown

    resources = json.loads(run("stack", "resource", "list", "web", "-f", "json").stdout)
    assert {view["name"]: view["requires"] for view in resources} == {"first": [], "second": ["first"]}
    assert run("stack", "resource", "show", "web", "first").exit_code == 0

    events = json.loads(run("stack", "event", "list", "web", "-f", "json").stdout)
    order = [(event["resource"], event["state"]) for event in events]
    assert order.index(("first", "CREATE_COMPLETE")) < order.index(("second", "CREATE_IN_PROGRESS"))
    assert order[-1] == ("", "CREATE_COMPLETE")

    assert run("stack", "output", "show", "web", "said", "-f", "value").stdout == "good morning\n"
    assert '"second" -> "first"' in run("stack", "graph", "web").stdout
    assert run("stack", "watch", "web").exit_code == 0

    deleted = run("stack", "delete", "web", "-f", "json")
    assert deleted.exit_code == 0, deleted.output
    assert json.loads(deleted.stdout)["state"] == "DELETE_COMPLETE"
    assert json.loads(run("stack", "list", "-f", "json").stdout) == []


def test_a_name_is_free_again_after_deletion(write: Write) -> None:
    for _ in range(2):
        assert run("stack", "create", "web", "-t", write(TEMPLATE)).exit_code == 0
        assert run("stack", "create", "web", "-t", write(TEMPLATE)).exit_code == 2
        assert run("stack", "delete", "web").exit_code == 0
    assert run("stack", "delete", "web").exit_code == 2


def test_deleting_again_by_id_is_the_end_asked_for(write: Write) -> None:
    made = json.loads(run("stack", "create", "web", "-t", write(TEMPLATE), "-f", "json").stdout)
    assert run("stack", "delete", made["id"]).exit_code == 0
    again = run("stack", "delete", made["id"])
    assert (again.exit_code, "already deleted" in again.stdout) == (0, True)


def test_a_stack_that_fails_ends_with_one_and_its_reason(write: Write) -> None:
    failed = run("stack", "create", "web", "-t", write(FAILING))
    assert failed.exit_code == 1
    assert re.search(r"^web CREATE_FAILED after .*: .*bad", failed.stdout)
    assert "\n  bad CREATE_FAILED: " in failed.stdout
    assert run("stack", "watch", "web").exit_code == 1
    assert run("stack", "delete", "web").exit_code == 0


def test_a_refused_template_names_every_place_and_leaves_nothing(write: Write) -> None:
    refused = run("stack", "create", "web", "-t", write(WRONG))
    assert refused.exit_code == 2
    assert refused.stdout == ""
    assert "web.yaml:4:" in refused.stderr
    assert "OS::Heat::TestResource" in refused.stderr
    assert "web.yaml:8:" in refused.stderr
    assert "'OS::Heat::None'" in refused.stderr
    assert json.loads(run("stack", "list", "-f", "json").stdout) == []
    assert run("stack", "show", "web").exit_code == 2


def test_a_refused_parameter_leaves_nothing(write: Write) -> None:
    refused = run("stack", "create", "web", "-t", write(TEMPLATE), "-P", "wrod=x", "-f", "json")
    assert refused.exit_code == 2
    (problem,) = json.loads(refused.stderr)
    assert "wrod" in str(problem)
    assert "word" in str(problem)
    assert json.loads(run("stack", "list", "-f", "json").stdout) == []


def test_validation_needs_no_database(write: Write, tmp_path: Path) -> None:
    valid = run("template", "validate", "-t", write(TEMPLATE), "-f", "json")
    assert valid.exit_code == 0, valid.output
    declared = json.loads(valid.stdout)
    assert declared["resources"] == [
        ["first", "OS::Heat::TestResource"],
        ["second", "OS::Heat::TestResource"],
    ]
    assert declared["outputs"] == ["said"]
    assert "s3cret" not in valid.stdout
    assert run("template", "validate", "-t", write(TEMPLATE)).exit_code == 0
    assert run("template", "validate", "-t", write(WRONG)).exit_code == 2
    assert not (tmp_path / "state").exists()


def test_a_database_that_cannot_be_reached_ends_with_three(
    write: Write, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("ISOTHERM_DATABASE_URL", "postgresql://nobody@127.0.0.1:1/isotherm")
    with impatient(1):
        unreachable = run("stack", "list")
    assert unreachable.exit_code == 3, unreachable.output
    assert "this is a bug" not in unreachable.stderr


def test_a_state_directory_that_cannot_be_made_ends_with_three(
    write: Write, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "file").write_text("")
    monkeypatch.setenv("ISOTHERM_STATE_DIRECTORY", str(tmp_path / "file" / "state"))
    assert run("stack", "list").exit_code == 3


def test_an_interrupted_create_is_carried_on_by_watch(write: Write) -> None:
    creating = start(
        *("stack", "create", "web", "-t", write(WAITING)), stdout=subprocess.PIPE, stderr=subprocess.PIPE
    )
    assert creating.stderr is not None
    for line in creating.stderr:
        if "condition CREATE_IN_PROGRESS" in line:
            break
    creating.send_signal(signal.SIGINT)
    written, said = creating.communicate()
    assert creating.returncode == 130, said
    assert written == ""
    assert "isotherm stack watch web" in said
    assert "Traceback" not in said

    (listed,) = json.loads(run("stack", "list", "-f", "json").stdout)
    assert listed["state"] == "CREATE_IN_PROGRESS"
    details = '{"status": "SUCCESS", "data": "up", "id": "1", "reason": "all is well"}'
    signalled = run("stack", "resource", "signal", "web", "handle", "-d", details)
    assert signalled.exit_code == 0, signalled.output

    watched = run("stack", "watch", "web")
    assert watched.exit_code == 0, watched.output
    assert "web CREATE_COMPLETE" in watched.stdout
    assert "up" in run("stack", "output", "show", "web", "told", "-f", "value").stdout


def test_a_terminal_sees_colour_frames_and_is_asked_before_deletion(write: Write) -> None:
    code, created = on_terminal("stack", "create", "web", "-t", write(TEMPLATE))
    assert code == 0, created
    assert "\x1b[32mCREATE_COMPLETE" in created
    assert "├─ \x1b[0mlayer" in created
    code, listed = on_terminal("stack", "list")
    assert code == 0
    assert "╭" in listed

    ours, theirs = pty.openpty()
    asking = start("stack", "delete", "web", stdin=theirs, stdout=theirs, stderr=theirs)
    os.close(theirs)
    said = b""
    while b"2 resources?" not in said and (piece := read_all(ours)):
        said += piece
    os.write(ours, b"y\n")
    while piece := read_all(ours):
        said += piece
    os.close(ours)
    assert asking.wait() == 0, said.decode()
    assert b"DELETE_COMPLETE" in said


def test_a_terminal_sees_the_line_at_fault(write: Write) -> None:
    code, refused = on_terminal("stack", "create", "web", "-t", write(WRONG))
    assert code == 2
    bare = re.sub(r"\x1b\[[0-9;]*m", "", refused)
    assert re.search(r"^ +4 \|     type: OS::Heat::TestResorce\r?\n +\| +\^", bare, re.MULTILINE), bare


def test_no_color_is_honoured(write: Write, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("NO_COLOR", "1")
    _, refused = on_terminal("stack", "create", "web", "-t", write(WRONG))
    assert not re.search(r"\x1b\[(\d+;)*3\d", refused)


CHANGING = """\
heat_template_version: 2021-04-16
parameters:
  word: {type: string, default: hello}
  password: {type: string, hidden: true, default: s3cret}
resources:
  first:
    type: OS::Heat::TestResource
    properties: {value: {get_param: word}}
  random:
    type: OS::Heat::RandomString
    properties: {length: 8}
  last:
    type: OS::Heat::TestResource
    properties: {value: {get_attr: [random, value]}}
  secret:
    type: OS::Heat::TestResource
    properties: {value: {get_param: password}}
outputs:
  said: {value: {get_attr: [first, output]}}
  random: {value: {get_attr: [last, output]}}
"""


def held(*names: str) -> dict[str, str]:
    """Return the physical ids of a stack's resources."""
    listed = json.loads(run("stack", "resource", "list", "web", "-f", "json").stdout)
    return {view["name"]: view["physical_id"] for view in listed if view["name"] in names or not names}


def test_an_update_changes_in_place_what_can_be_and_replaces_the_rest(write: Write) -> None:
    assert run("stack", "create", "web", "-t", write(CHANGING)).exit_code == 0
    before = held()
    updated = run("stack", "update", "web", "-t", write(CHANGING), "-P", "word=again")
    assert updated.exit_code == 0, updated.output
    assert updated.stdout.startswith("web UPDATE_COMPLETE after")
    assert "said    again" in updated.stdout
    assert held() == before
    assert "random" not in updated.stderr

    replaced = run("stack", "update", "web", "-t", write(CHANGING.replace("length: 8", "length: 9")))
    assert replaced.exit_code == 0, replaced.output
    changed = {name for name, physical_id in held().items() if physical_id != before[name]}
    assert changed == {"random"}
    assert len(run("stack", "output", "show", "web", "random", "-f", "value").stdout.strip()) == 9

    gone = run("stack", "update", "web", "-t", write(TEMPLATE))
    assert gone.exit_code == 0, gone.output
    assert set(held()) == {"first", "second"}
    assert run("stack", "delete", "web").exit_code == 0


def test_a_dry_run_says_what_would_be_and_touches_nothing(write: Write) -> None:
    assert run("stack", "create", "web", "-t", write(CHANGING)).exit_code == 0
    before = run("stack", "show", "web").stdout, held()
    events = run("stack", "event", "list", "web", "-f", "json").stdout
    other = write(
        CHANGING.replace("length: 8", "length: 9").replace("  last:", "  final:").replace("[last", "[final")
    )
    words = ("stack", "update", "web", "-t", other, "-P", "password=t0ps3cret", "-P", "word=bye", "--dry-run")
    planned = run(*words, "-f", "json")
    assert planned.exit_code == 0, planned.output
    plan = json.loads(planned.stdout)
    assert {each["name"]: each["action"] for each in plan["resources"]} == {
        "first": "UPDATE",
        "random": "REPLACE",
        "final": "CREATE",
        "secret": "UPDATE",
        "last": "DELETE",
    }
    shown = run(*words).stdout
    assert re.search(r"^first +value +hello +bye$", shown, re.MULTILINE)
    assert re.search(r"^random +length +8 +9$", shown, re.MULTILINE)
    assert re.search(r"^secret +value +\*{6} +\*{6}$", shown, re.MULTILINE)
    assert "s3cret" not in planned.output + shown
    assert (run("stack", "show", "web").stdout, held()) == before
    assert run("stack", "event", "list", "web", "-f", "json").stdout == events


def test_one_value_may_change_and_the_rest_stay(write: Write, tmp_path: Path) -> None:
    (tmp_path / "env.yaml").write_text("parameters: {word: from the environment}\n")
    words = ("-t", write(CHANGING), "-e", "env.yaml", "-P", "password=t0p")
    assert run("stack", "create", "web", *words).exit_code == 0
    for name in ("web.yaml", "env.yaml"):
        (tmp_path / name).unlink()
    planned = json.loads(run("stack", "update", "web", "--existing", "--dry-run", "-f", "json").stdout)
    assert {each["action"] for each in planned["resources"]} == {"UNCHANGED"}
    updated = run("stack", "update", "web", "--existing", "-P", "word=other")
    assert updated.exit_code == 0, updated.output
    assert "said    other" in updated.stdout
    assert "secret UPDATE" not in updated.stderr
    (tmp_path / "new.yaml").write_text("parameters: {word: newest}\n")
    assert "said    newest" in run("stack", "update", "web", "--existing", "-e", "new.yaml").stdout


def test_tags_stay_until_an_update_says_others(write: Write) -> None:
    def tags() -> list[str]:
        found: list[str] = json.loads(run("stack", "show", "web", "-f", "json").stdout)["tags"]
        return found

    template = write(TEMPLATE)
    run("stack", "create", "web", "-t", template, "--tags", "prod,eu")
    assert tags() == ["prod", "eu"]
    run("stack", "update", "web", "-t", template, "-P", "word=bye")
    assert tags() == ["prod", "eu"]
    run("stack", "snapshot", "create", "web", "first")
    planned = json.loads(
        run("stack", "update", "web", "--existing", "--tags", "test", "--dry-run", "-f", "json").stdout
    )
    assert (planned["tags"], tags()) == (["test"], ["prod", "eu"])
    run("stack", "update", "web", "--existing", "--tags", "test")
    assert tags() == ["test"]
    run("stack", "snapshot", "restore", "web", "first")
    assert tags() == ["test"]
    assert run("stack", "update", "web", "-t", write(FAILING), "--rollback").exit_code == 1
    assert "ROLLBACK_COMPLETE" in run("stack", "show", "web").stdout
    assert tags() == ["test"]
    assert [each["tags"] for each in json.loads(run("stack", "list", "-f", "json").stdout)] == [["test"]]
    assert json.loads(run("stack", "list", "--tags", "prod", "-f", "json").stdout) == []
    run("stack", "update", "web", "--existing", "--tags", "")
    assert tags() == []


def test_a_wrong_template_leaves_the_stack_as_it_is(write: Write) -> None:
    assert run("stack", "create", "web", "-t", write(TEMPLATE)).exit_code == 0
    before = run("stack", "show", "web").stdout, held()
    for more in ([], ["--dry-run"]):
        refused = run("stack", "update", "web", "-t", write(WRONG), *more)
        assert refused.exit_code == 2
        assert refused.stdout == ""
        assert "web.yaml:4:" in refused.stderr
        assert "'OS::Heat::None'" in refused.stderr
    assert run("stack", "update", "wbe", "-t", write(TEMPLATE)).exit_code == 2
    assert (run("stack", "show", "web").stdout, held()) == before


def test_an_update_that_fails_ends_with_one_and_the_next_one_heals(write: Write) -> None:
    assert run("stack", "create", "web", "-t", write(TEMPLATE)).exit_code == 0
    failed = run("stack", "update", "web", "-t", write(FAILING))
    assert failed.exit_code == 1
    assert failed.stdout.startswith("web UPDATE_FAILED after")
    assert "\n  bad CREATE_FAILED: " in failed.stdout
    assert run("stack", "update", "web", "-t", write(TEMPLATE)).exit_code == 0


def test_listing_stacks_loads_neither_the_queue_nor_plugins(write: Write) -> None:
    assert run("stack", "list").exit_code == 0  # the database is made
    code = (
        "import sys; from orchestrator.cli.main import isotherm; "
        "isotherm(['stack', 'list'], standalone_mode=False); "
        "sys.exit(' '.join(sorted({'celery', 'kombu', 'alembic', 'redis', 'workers'} & set(sys.modules))))"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True)
    assert done.stderr.strip() == ""


def test_how_an_operation_went_is_drawn_and_told_past_ones_too(write: Write) -> None:
    chain = FAILING + "  after: {type: OS::Heat::TestResource, depends_on: bad}\n"
    assert run("stack", "create", "web", "-t", write(chain)).exit_code == 1
    assert run("stack", "delete", "web").exit_code == 0
    begun = json.loads(run("stack", "history", "web", "-f", "json").stdout)[-1]["id"]
    drawn = run("stack", "timeline", "web", "--traversal", begun)
    assert drawn.exit_code == 0, drawn.output
    head, axis, *bars = drawn.stdout.splitlines()
    assert head.startswith("web  CREATE_FAILED  ")
    assert axis.split()[0] == "|0s"
    assert {line[2:].split()[1]: line[2] for line in bars[:3]} == {"good": "✓", "bad": "✗", "after": "∅"}
    told = run("stack", "failure", "web", "--traversal", begun)
    assert told.exit_code == 0
    assert "likely root: bad (OS::Heat::TestResource)" in told.stdout
    assert "never begun because of it: 1 (after)" in told.stdout
    # The last one is the deletion, which went well.
    assert "nothing has failed" in run("stack", "failure", "web").stdout
    last = json.loads(run("stack", "timeline", "web", "-f", "json").stdout)
    assert last["operation"]["action"] == "DELETE"
    assert {bar["name"] for bar in last["bars"]} >= {"good"}


def test_what_is_deleted_is_told_of_until_it_is_purged(write: Write) -> None:
    assert run("stack", "create", "web", "-t", write(TEMPLATE)).exit_code == 0
    stack_id = json.loads(run("stack", "show", "web", "-f", "json").stdout)["id"]
    assert run("stack", "delete", "web").exit_code == 0
    for name in ("web", stack_id):
        history = json.loads(run("stack", "history", name, "-f", "json").stdout)
        assert [(each["state"], each["made"], each["deleted"]) for each in history] == [
            ("DELETE_COMPLETE", 0, 2),
            ("CREATE_COMPLETE", 2, 0),
        ]
        one = run("stack", "history", name, "--traversal", history[1]["id"], "-f", "json")
        assert json.loads(one.stdout)["nodes"] == {"done": 2}
        words = ("stack", "event", "list", name, "--resource", "fir*", "--status", "COMPLETE", "--reverse")
        events = json.loads(run(*words, "-f", "json").stdout)
        assert [event["state"] for event in events] == ["DELETE_COMPLETE", "CREATE_COMPLETE"]
        shown = run("stack", "event", "show", name, str(events[0]["id"]), "-f", "json")
        assert json.loads(shown.stdout) == events[0]
    assert json.loads(run("db", "purge", "--yes", "-f", "json").stdout)["stacks"] == 0
    would = json.loads(run("db", "purge", "--older-than", "0", "--dry-run", "-f", "json").stdout)
    gone = json.loads(run("db", "purge", "--older-than", "0", "-f", "json").stdout)
    assert {**would, "dry_run": False} == gone
    assert (gone["stacks"], gone["traversals"], gone["resources"]) == (1, 2, 2)
    for line in ("stack history web", f"stack event list {stack_id}"):
        refused = run(*line.split())
        assert refused.exit_code == 2
        assert "has no stack" in refused.stderr


def test_all_attributes_are_read_from_the_object_on_request(write: Write) -> None:
    one = "heat_template_version: 2021-04-16\nresources: {it: {type: OS::Heat::TestResource, properties: {value: x}}}\n"
    assert run("stack", "create", "one", "-t", write(one)).exit_code == 0
    show = ("stack", "resource", "show", "one", "it", "-f", "json")
    recorded, live = (json.loads(run(*show, *more).stdout) for more in ((), ("--all-attributes",)))
    assert recorded["attributes"] == {}
    assert (live["attributes"]["output"], live["attribute_errors"]) == ("x", {})
    assert recorded["properties"]["value"] == live["properties"]["value"] == "x"


def test_all_attributes_of_a_nested_stack_are_those_of_its_stack(write: Write) -> None:
    group = "resources: {g: {type: OS::Heat::ResourceGroup, properties: {resource_def: {type: OS::Heat::None}}}}\n"
    template = write(f"heat_template_version: 2021-04-16\n{group}")
    assert run("stack", "create", "grouped", "-t", template).exit_code == 0
    refused = run("stack", "resource", "show", "grouped", "g", "--all-attributes")
    (remedy,) = re.findall("'isotherm (stack output list .*)' shows it", refused.stderr)
    assert refused.exit_code == 2
    assert run(*remedy.split()).exit_code == 0
