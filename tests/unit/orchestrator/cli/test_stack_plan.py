"""``isotherm stack plan``, on the real service: what it shows, what it writes, and how it ends."""

import json
from pathlib import Path

import pytest
from click.testing import CliRunner, Result

from orchestrator.cli.main import isotherm

TEMPLATE = """\
heat_template_version: 2021-04-16
parameters:
  word: {type: string, default: hello}
  password: {type: string, hidden: true, default: s3cret-1}
resources:
  first:
    type: OS::Heat::TestResource
    properties: {value: {get_param: word}}
  second:
    type: OS::Heat::TestResource
    properties: {value: {list_join: [" ", [{get_attr: [first, output]}, {get_param: password}]]}}
"""


@pytest.fixture(autouse=True)
def _here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("ISOTHERM_STATE_DIRECTORY", str(tmp_path / "state"))
    monkeypatch.setenv("ISOTHERM_KEY_FILE", str(tmp_path / "keys.json"))
    (tmp_path / "web.yaml").write_text(TEMPLATE)


def run(*words: str) -> Result:
    return CliRunner().invoke(isotherm, list(words), prog_name="isotherm")


def test_a_plan_of_a_create_an_update_and_a_delete_is_written_and_shown_as_it_was_made() -> None:
    planned = [("-t", "web.yaml"), ("--existing", "-P", "word=bye", "-P", "password=s3cret-2"), ("--delete",)]
    counts = [{"CREATE": 2}, {"DEPENDS": 1, "UPDATE": 1}, {"DELETE": 2}]
    for words, expected in zip(planned, counts, strict=True):
        made = run("stack", "plan", "web", *words, "-o", "web.plan", "-f", "json")
        assert made.exit_code == 0, made.output
        document = json.loads(made.stdout)
        assert document["counts"] == expected
        content = Path("web.plan").read_bytes()
        assert Path("web.plan").stat().st_mode & 0o777 == 0o600
        # The file holds the job, and what is hidden only encrypted.
        assert b"heat_template_version" not in content
        shown = run("plan", "show", "web.plan", "-f", "json")
        assert json.loads(shown.stdout) == {**document, "is_verified": True}
        for form in ("table", "markdown", "yaml"):
            text = run("plan", "show", "web.plan", "-f", form).stdout
            assert "second" in text
            assert "s3cret" not in text
        if not document["stack_id"]:
            assert run("stack", "create", "web", "-t", "web.yaml").exit_code == 0
    assert document["resources"][0]["name"] == "second"
    assert document["resources"][1]["after"] == ["second"]


def test_unknown_values_are_listed_and_hidden_ones_masked() -> None:
    document = json.loads(run("stack", "plan", "web", "-t", "web.yaml", "-f", "json").stdout)
    first, second = document["resources"]
    assert (first["unknown"], second["unknown"]) == ([], ["value"])
    assert second["after"] == ["first"]
    assert "s3cret" not in json.dumps(document)


def test_exit_codes_are_those_of_terraform() -> None:
    words = ("stack", "plan", "web", "-t", "web.yaml", "--exit-code")
    assert run(*words).exit_code == 2
    assert run("stack", "create", "web", "-t", "web.yaml").exit_code == 0
    assert run(*words).exit_code == 0
    assert run(*words, "-P", "word=bye").exit_code == 2
    # Every error, that of the command line too: 2 would be read as changes.
    assert run("stack", "plan", "web", "-t", "none.yaml", "--exit-code").exit_code == 1
    assert run("stack", "plan", "web", "--exit-code").exit_code == 1
    assert run("stack", "plan", "web", "--exit-codes", "-t").exit_code == 1
    assert run("stack", "plan", "web", "--delete", "-t", "web.yaml", "--exit-code").exit_code == 1
    assert run("stack", "plan", "web", "-t", "none.yaml").exit_code == 2


def test_markdown_shows_text_of_templates_as_text() -> None:
    made = run("stack", "plan", "web", "-t", "web.yaml", "-P", "word=<b>|`x`\n# y", "-f", "markdown")
    (row,) = [line for line in made.stdout.splitlines() if r"\<b" in line]
    assert r"\<b\>\|\`x\`" in row
    assert row.count(" | ") == 2


def test_what_is_no_plan_is_refused_in_a_sentence(tmp_path: Path) -> None:
    shown = run("plan", "show", "web.yaml")
    assert shown.exit_code == 2
    assert "web.yaml: expected a plan that 'isotherm stack plan -o' wrote" in shown.stderr
    assert run("stack", "plan", "web", "-t", "web.yaml", "-o", "web.plan").exit_code == 0
    (tmp_path / "state" / "plan-keys.json").unlink()
    shown = run("plan", "show", "web.plan")
    assert shown.exit_code == 2
    assert "signed with a key that is none" in shown.stderr


def test_plans_are_applied_from_the_create_to_the_delete_each_once() -> None:
    for words, state in (
        (("-t", "web.yaml"), "CREATE_COMPLETE"),
        (("--existing", "-P", "word=bye"), "UPDATE_COMPLETE"),
        (("--delete",), "DELETE_COMPLETE"),
    ):
        assert run("stack", "plan", "web", *words, "-o", "web.plan").exit_code == 0
        hint = run("stack", "plan", "web", *words, "-o", "my web.plan").stderr
        assert hint.splitlines()[-1] == "To carry it out: isotherm stack apply 'my web.plan'"
        applied = run("stack", "apply", "web.plan", "--comment", "ticket 4711")
        assert applied.exit_code == 0, applied.output
        assert f"web {state}" in applied.stdout
        again = run("stack", "apply", "web.plan")
        assert again.exit_code == 2
        assert "already" in again.stderr


def test_a_plan_of_a_stack_that_moved_on_is_refused_with_what_changed() -> None:
    assert run("stack", "create", "web", "-t", "web.yaml").exit_code == 0
    assert run("stack", "plan", "web", "--existing", "-P", "word=bye", "-o", "web.plan").exit_code == 0
    assert run("stack", "update", "web", "--existing", "-P", "word=later").exit_code == 0
    refused = run("stack", "apply", "web.plan")
    assert refused.exit_code == 2
    assert "stack 'web' has moved on since the plan was made" in refused.stderr
    assert "UPDATE by " in refused.stderr
    assert "changed resources: first, second" in refused.stderr


def test_the_role_that_an_operation_needs_is_needed_to_apply_its_plan(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert run("stack", "plan", "web", "-t", "web.yaml", "-o", "web.plan").exit_code == 0
    made = run(
        "token", "create", "--user", "bob", "--role", "operator", "--for-project", "default", "-f", "json"
    )
    monkeypatch.setenv("ISOTHERM_TOKEN", json.loads(made.stdout)["token"])
    (tmp_path / "policy.yaml").write_text("stack.create: administrator\n")
    monkeypatch.setenv("ISOTHERM_POLICY_FILE", str(tmp_path / "policy.yaml"))
    refused = run("stack", "apply", "web.plan")
    assert refused.exit_code == 2
    assert "stack.create needs the role administrator" in refused.stderr


def test_with_four_eyes_a_plan_is_applied_by_another_user(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    tokens = {}
    for user in ("alice", "bob"):
        words = (
            "token",
            "create",
            "--user",
            user,
            "--role",
            "operator",
            "--for-project",
            "default",
            "-f",
            "json",
        )
        tokens[user] = json.loads(run(*words).stdout)["token"]
    (tmp_path / "isotherm.toml").write_text("[lifecycle.four_eyes]\nenabled = true\n")
    monkeypatch.setenv("ISOTHERM_CONFIG", str(tmp_path / "isotherm.toml"))
    monkeypatch.setenv("ISOTHERM_TOKEN", tokens["alice"])
    refused = run("stack", "create", "web", "-t", "web.yaml")
    assert refused.exit_code == 2
    assert "a plan that another user has made is needed to create a stack here" in refused.stderr
    planned = run("stack", "plan", "web", "-t", "web.yaml", "-o", "web.plan", "-f", "json")
    assert json.loads(planned.stdout)["user"] == "alice"
    refused = run("stack", "apply", "web.plan")
    assert refused.exit_code == 2
    assert "'alice' made this one" in refused.stderr
    monkeypatch.setenv("ISOTHERM_TOKEN", tokens["bob"])
    applied = run("stack", "apply", "web.plan")
    assert applied.exit_code == 0, applied.output
    (operation,) = json.loads(run("stack", "history", "web", "-f", "json").stdout)
    history = ("stack", "history", "web", "--traversal", operation["id"])
    shown = json.loads(run(*history, "-f", "json").stdout)
    plan_id = json.loads(planned.stdout)["id"]
    assert (shown["user"], shown["planned_by"], shown["plan"]) == ("bob", "alice", plan_id)
    assert "planned by" in run(*history).stdout


def test_a_plan_may_override_the_protection_that_its_reviewer_saw() -> None:
    assert run("stack", "create", "web", "-t", "web.yaml").exit_code == 0
    assert run("stack", "plan", "web", "--delete", "--unprotect", "-o", "early.plan").exit_code == 0
    assert run("stack", "protect", "web").exit_code == 0
    refused = run("stack", "plan", "web", "--delete")
    assert refused.exit_code == 2
    assert "stack 'web' is protected" in refused.stderr
    # The reviewer of the earlier plan did not see that it would override protection.
    refused = run("stack", "apply", "early.plan")
    assert refused.exit_code == 2
    assert "changed resources: stack web" in refused.stderr
    assert run("stack", "plan", "web", "--delete", "--unprotect", "-o", "late.plan").exit_code == 0
    assert run("stack", "apply", "late.plan").exit_code == 0


def test_a_plan_is_bound_to_what_is_in_nested_stacks(tmp_path: Path) -> None:
    (tmp_path / "outer.yaml").write_text(
        "heat_template_version: 2021-04-16\n"
        "parameters: {word: {type: string, default: hello}}\n"
        "resources: {inner: {type: web.yaml, properties: {word: {get_param: word}}}}\n"
    )
    created = json.loads(
        run("stack", "plan", "web", "-t", "outer.yaml", "-o", "web.plan", "-f", "json").stdout
    )
    assert [each["name"] for each in created["resources"]] == ["inner", "inner/first", "inner/second"]
    assert run("stack", "apply", "web.plan").exit_code == 0
    (nested,) = [
        each
        for each in json.loads(run("stack", "list", "--nested", "-f", "json").stdout)
        if each["parent_id"]
    ]
    assert run("stack", "plan", "web", "--existing", "-P", "word=bye", "-o", "stale.plan").exit_code == 0
    assert run("stack", "resource", "mark-unhealthy", nested["name"], "first").exit_code == 0
    refused = run("stack", "apply", "stale.plan")
    assert refused.exit_code == 2
    assert f"{nested['name']}/first" in refused.stderr
    assert run("stack", "plan", "web", "--existing", "-P", "word=bye", "-o", "web.plan").exit_code == 0
    assert "web UPDATE_COMPLETE" in run("stack", "apply", "web.plan").stdout


def test_a_stack_without_resources_is_planned_too(tmp_path: Path) -> None:
    (tmp_path / "none.yaml").write_text("heat_template_version: 2021-04-16\nresources: {}\n")
    for words in (("-t", "none.yaml"), ("--delete",)):
        assert run("stack", "plan", "web", *words, "-o", "web.plan").exit_code == 0
        applied = run("stack", "apply", "web.plan", "-f", "json")
        assert applied.exit_code == 0, applied.output
    assert json.loads(applied.stdout)["state"] == "DELETE_COMPLETE"


def test_a_plan_of_single_resources_is_applied_as_it_was_made() -> None:
    named = ("--target", "first", "--replace", "first")
    refused = run("stack", "plan", "web", "-t", "web.yaml", *named)
    assert refused.exit_code == 2
    assert "targets: a create is of a whole stack" in refused.stderr
    assert run("stack", "create", "web", "-t", "web.yaml").exit_code == 0
    made = run("stack", "plan", "web", "--existing", "-P", "word=bye", *named, "-o", "web.plan", "-f", "json")
    document = json.loads(made.stdout)
    assert [each["name"] for each in document["resources"]] == ["first"]
    assert (document["targets"], document["replaces"], document["partial"]) == (
        ["first"],
        ["first"],
        ["second"],
    )
    shown = run("plan", "show", "web.plan", "-f", "markdown").stdout
    assert "Targets: first\n\nTo replace: first\n\nLeft for later: second\n" in shown
    assert run("stack", "apply", "web.plan").exit_code == 0
    assert json.loads(run("stack", "show", "web", "-f", "json").stdout)["partial"] == ["second"]
    (update, _) = json.loads(run("stack", "history", "web", "-f", "json").stdout)
    # The object that was replaced is still there: second is made of it.
    assert (update["targets"], update["replaces"], update["made"], update["deleted"]) == (
        ["first"],
        ["first"],
        1,
        0,
    )
    # A plan of the whole stack does the rest.
    assert run("stack", "plan", "web", "--existing", "-o", "web.plan").exit_code == 0
    assert run("stack", "apply", "web.plan").exit_code == 0
    assert json.loads(run("stack", "show", "web", "-f", "json").stdout)["partial"] == []
    assert run("stack", "plan", "web", "--delete", *named).exit_code == 2
