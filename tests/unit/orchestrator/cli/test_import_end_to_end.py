"""Objects that are taken into a stack, and described as a template: the command line on the real service, embedded."""

import json
from pathlib import Path

import pytest
import yaml
from click.testing import CliRunner, Result

from orchestrator.cli.main import isotherm

TEMPLATE = """\
heat_template_version: 2021-04-16
parameters:
  word: {type: string, default: hello}
  password: {type: string, hidden: true, default: s3cret-word}
resources:
  first:
    type: Isotherm::Node::File
    properties: {path: first.txt, content: {get_param: word}}
"""
PAGE = """\
  page:
    type: Isotherm::Node::File
    properties: {path: page.txt, content: welcome, mode: "0640", node: local}
"""


@pytest.fixture(autouse=True)
def _here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("ISOTHERM_STATE_DIRECTORY", str(tmp_path / "state"))
    (tmp_path / "web.yaml").write_text(TEMPLATE)
    (tmp_path / "more.yaml").write_text(TEMPLATE + PAGE)
    run("stack", "create", "web", "-t", "web.yaml", "-P", "word=hi", "-P", "password=hunter-2")


def invoke(*words: str) -> Result:
    return CliRunner().invoke(isotherm, list(words), prog_name="isotherm")


def run(*words: str) -> Result:
    """Run a command that must succeed."""
    result = invoke(*words)
    assert result.exit_code == 0, result.output
    return result


def by_hand(tmp_path: Path, name: str, content: str) -> str:
    """Write a file that no stack made, and return its id."""
    path = tmp_path / "state" / "files" / name
    path.write_text(content)
    path.chmod(0o644)
    return str(path)


def test_object_is_imported_as_it_is_and_the_plan_shows_what_differs(tmp_path: Path) -> None:
    page = by_hand(tmp_path, "page.txt", "by hand")
    said = ("stack", "import", "web", f"page={page}", "-t", "more.yaml", "--existing")
    before = run("stack", "history", "web", "-f", "json").stdout
    plan = json.loads(run(*said, "--dry-run", "-f", "json").stdout)
    assert {each["name"]: each["action"] for each in plan["resources"]} == {
        "first": "UNCHANGED",
        "page": "ADOPT",
    }
    assert run("stack", "history", "web", "-f", "json").stdout == before
    done = run(*said, "--comment", "ticket 4711", "-f", "json")
    assert json.loads(done.stdout)["state"] == "ADOPT_COMPLETE"
    assert Path(page).read_text() == "by hand"
    operation = json.loads(run("stack", "history", "web", "-f", "json").stdout)[0]
    assert (operation["action"], operation["status"], operation["comment"]) == (
        "ADOPT",
        "COMPLETE",
        "ticket 4711",
    )
    shown = json.loads(run("stack", "plan", "web", "--existing", "-f", "json").stdout)
    (changed,) = (each for each in shown["resources"] if each["action"] != "UNCHANGED")
    assert changed["action"] == "UPDATE"
    assert {each["name"]: (each["before"], each["after"]) for each in changed["changes"]} == {
        "content": ("by hand", "welcome"),
        "mode": ("0644", "0640"),
    }
    run("stack", "update", "web", "--existing")
    assert Path(page).read_text() == "welcome"
    shown = json.loads(run("stack", "plan", "web", "--existing", "-f", "json").stdout)
    assert shown["has_changes"] is False
    run("stack", "delete", "web", "--yes")
    assert not Path(page).exists()


def test_plan_after_an_import_shows_no_hidden_value_of_the_object(tmp_path: Path) -> None:
    page = by_hand(tmp_path, "page.txt", "the password is hunter-2")
    run("stack", "import", "web", f"page={page}", "-t", "more.yaml", "--existing")
    assert "hunter-2" not in run("stack", "plan", "web", "--existing", "-f", "json").output


@pytest.mark.parametrize("fault", ["gone", "elsewhere"])
def test_import_that_fails_leaves_the_stack_and_the_objects(tmp_path: Path, fault: str) -> None:
    page = by_hand(tmp_path, "page.txt" if fault == "gone" else "other.txt", "by hand")
    if fault == "gone":
        Path(page).unlink()
    result = invoke("stack", "import", "web", f"page={page}", "-t", "more.yaml", "--existing")
    assert result.exit_code == 1
    assert "ROLLBACK_COMPLETE" in result.output
    listed = json.loads(run("stack", "resource", "list", "web", "-f", "json").stdout)
    assert [each["name"] for each in listed] == ["first"]
    assert Path(page).exists() == (fault != "gone")


def test_what_a_type_keeps_of_an_object_is_given_with_it() -> None:
    sleeper = "  sleeper: {type: Isotherm::Node::Process, properties: {command: [sleep, '120']}}\n"
    Path("alone.yaml").write_text(f"heat_template_version: 2021-04-16\nresources:\n{sleeper}")
    Path("web.yaml").write_text(TEMPLATE + sleeper)
    run("stack", "create", "alone", "-t", "alone.yaml")
    abandoned = json.loads(run("stack", "abandon", "alone", "--yes", "-f", "json").stdout)
    entry = abandoned["resources"]["sleeper"]
    said = ("stack", "import", "web", f"sleeper={entry['resource_id']}", "-t", "web.yaml", "--existing")
    refused = invoke(*said)
    assert refused.exit_code == 1
    assert f"there is no object with the id '{entry['resource_id']}'" in refused.output
    Path("sleeper.json").write_text(json.dumps(entry["resource_data"]))
    run(*said, "--data", "sleeper=@sleeper.json")
    run("stack", "check", "web")
    run("stack", "delete", "web", "--yes")


def test_object_of_another_stack_is_refused(tmp_path: Path) -> None:
    page = by_hand(tmp_path, "page.txt", "by hand")
    run("stack", "import", "web", f"page={page}", "-t", "more.yaml", "--existing")
    Path("empty.yaml").write_text("heat_template_version: 2021-04-16")
    Path("page.yaml").write_text(f"heat_template_version: 2021-04-16\nresources:\n{PAGE}")
    run("stack", "create", "other", "-t", "empty.yaml")
    for command in (("--dry-run",), (), ("--write-template",)):
        result = invoke("stack", "import", "other", f"page={page}", "-t", "page.yaml", *command)
        assert result.exit_code == 2
        assert "resources.page.resource_id: the object belongs to the stack 'web'" in result.stderr
    assert Path(page).read_text() == "by hand"


@pytest.mark.parametrize(
    ("words", "told"),
    [
        (("page=x",), "the template has no such resource"),
        (("pages=x", "-t", "more.yaml"), "did you mean 'page'"),
        (("first=x", "-t", "more.yaml"), "the stack has the resource already"),
        (("page",), "expected NAME=VALUE"),
        (("page=x", "--dry-run", "--write-template"), "exclude each other"),
        (("page=x", "--type", "page=OS::Heat::None"), "--type is for --write-template"),
        (("page=x", "--data", "page={}", "--write-template"), "--data is for an import"),
        (("page=x", "--data", "pag={}"), "--data pag: no object is given hint: did you mean 'page'?"),
        (("page=x", "--data", "page=[1]"), "--data page: expected a JSON object such as"),
        (("page=x", "--data", "page=@none"), "--data page @none: the file cannot be read: No such file"),
        (("page=x", "--data", "page={"), "--data page: expected JSON, but at line 1, column 2"),
        (("page=x", "--data", "page"), "expected NAME=VALUE"),
        ((), "Missing argument"),
    ],
)
def test_wrong_words_change_nothing(words: tuple[str, ...], told: str) -> None:
    result = invoke("stack", "import", "web", *words)
    assert result.exit_code == 2
    assert told in " ".join(result.stderr.split())
    assert json.loads(run("stack", "show", "web", "-f", "json").stdout)["state"] == "CREATE_COMPLETE"


def test_objects_are_written_as_a_template_that_imports_them_without_a_difference(tmp_path: Path) -> None:
    page = by_hand(tmp_path, "page.txt", "line 1\nline 2: {get_param: word}\n" * 5000)
    Path(page).chmod(0o600)
    plain = by_hand(tmp_path, "plain.txt", "")
    types = [word for name in ("page", "plain") for word in ("--type", f"{name}=Isotherm::Node::File")]
    objects = (f"page={page}", f"plain={plain}")
    written = run("stack", "import", "web", *objects, *types, "--write-template").stdout
    sections = yaml.safe_load(written)
    assert sections == json.loads(
        run("stack", "import", "web", *objects, *types, "--write-template", "-f", "json").stdout
    )
    assert set(sections) == {"resources"}
    # What is as the type has it by default needs no words.
    assert sections["resources"]["plain"] == {
        "type": "Isotherm::Node::File",
        "properties": {"path": plain},
    }
    assert sections["resources"]["page"]["properties"]["mode"] == "0600"
    template = yaml.safe_load(TEMPLATE)
    template["heat_template_version"] = "2021-04-16"
    template["resources"] |= sections["resources"]
    (tmp_path / "whole.yaml").write_text(yaml.safe_dump(template))
    run("stack", "import", "web", *objects, "-t", "whole.yaml", "--existing")
    plan = json.loads(run("stack", "plan", "web", "--existing", "-f", "json").stdout)
    assert plan["has_changes"] is False


def test_written_template_has_no_hidden_value_and_keeps_the_template_s_calls(tmp_path: Path) -> None:
    page = by_hand(tmp_path, "page.txt", "the password is hunter-2")
    copy = by_hand(tmp_path, "copy.txt", "hi")
    (tmp_path / "draft.yaml").write_text(
        TEMPLATE
        + """\
  copy:
    type: Isotherm::Node::File
    properties: {path: copy.txt, content: {get_param: word}}
"""
    )
    result = run(
        *("stack", "import", "web", f"page={page}", f"copy={copy}", "-t", "draft.yaml", "--existing"),
        *("--type", "page=Isotherm::Node::File", "--write-template"),
    )
    assert "hunter-2" not in result.output
    sections = yaml.safe_load(result.stdout)
    assert sections["resources"]["copy"]["properties"] == {
        "path": "copy.txt",
        "content": {"get_param": "word"},
    }
    assert sections["resources"]["page"]["properties"]["content"] == {"get_param": "page_content"}
    assert sections["parameters"]["page_content"]["hidden"] is True
    assert set(sections["parameters"]) == {"page_content"}


@pytest.mark.parametrize(
    ("words", "told"),
    [
        (("page=/none",), "its type is not given hint: say of which type it is: --type page=TYPE"),
        (("page=/none", "--type", "page=Isotherm::Node::Fil"), "did you mean 'Isotherm::Node::File'?"),
        (("page=/none", "--type", "page=OS::Heat::Value"), "has no object that can be imported"),
        (("page=/none", "--type", "page=OS::Heat::ResourceGroup"), "has no object that can be imported"),
        (("page=/none", "--type", "pag=Isotherm::Node::File"), "--type pag: no object is given"),
        (
            ("first=/none", "--type", "first=OS::Heat::None"),
            "the template gives it the type 'Isotherm::Node::File', not 'OS::Heat::None'",
        ),
        (("page=/etc/passwd", "--type", "page=Isotherm::Node::File"), "outside the directories"),
        (("page={files}/none", "--type", "page=Isotherm::Node::File"), "there is no object with the id"),
        (("page={files}/odd", "--type", "page=Isotherm::Node::File"), "no text in UTF-8"),
    ],
)
def test_object_that_cannot_be_described_is_refused(
    tmp_path: Path, words: tuple[str, ...], told: str
) -> None:
    Path(by_hand(tmp_path, "odd", "")).write_bytes(b"\xff\xfe")
    files = tmp_path / "state" / "files"
    words = tuple(word.format(files=files) for word in words)
    result = invoke("stack", "import", "web", *words, "--write-template")
    assert result.exit_code == 2, result.output
    assert told in " ".join(result.stderr.split())
    assert result.stdout == ""
