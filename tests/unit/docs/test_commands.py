"""What the documentation tells people to type works, and writes what the documentation shows."""

import re
import shlex
import shutil
from pathlib import Path

import click
import flower.options  # noqa: F401  # defines Flower's options
import pytest
import yaml
from celery.bin.celery import celery
from celery.events.state import Task
from tornado.options import options as flower_options

from orchestrator.cli.access import leaves
from orchestrator.cli.main import isotherm
from orchestrator.dashboard.options import argument_problems, define_options
from tests.unit.docs.pages import PAGES, ROOT, SHELLS, Block, Session, Step, blocks, normal, written_commands

KINDS = {"embedded", "distributed", "checked"}
ALL_PAGES = (*PAGES, *sorted((ROOT / "examples").rglob("*.md")))

each_page = pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)


def parse(words: list[str]) -> str:
    """Parse the words behind ``isotherm``; return what is wrong with them, which is nothing or a sentence."""
    command: click.Command = isotherm
    context = click.Context(isotherm, info_name="isotherm")
    while isinstance(command, click.Group):
        if not words:
            return ""  # a sentence about the group
        if words[0].startswith("-"):
            break
        name, *words = words
        child = command.get_command(context, name)
        if child is None:
            return f"{context.command_path} has no command {name!r}"
        command, context = child, click.Context(child, parent=context, info_name=name)
    try:
        command.make_context(context.info_name, words, parent=context.parent)
    except click.MissingParameter:
        return ""  # a sentence names the command, not all that it takes
    except click.exceptions.Exit:
        return ""  # --help and --version
    except click.ClickException as error:
        return f"{context.command_path}: {error.format_message()}"
    return ""


def check_isotherm(words: list[str]) -> None:
    assert parse(words) == ""
    if words[:1] == ["dashboard"]:
        check_dashboard(words[1:])


def check_dashboard(arguments: list[str]) -> None:
    define_options()
    assert [str(problem) for problem in argument_problems(arguments)] == []


def check_make(words: list[str]) -> None:
    targets = re.findall(r"^(\w+):", (ROOT / "Makefile").read_text(), flags=re.MULTILINE)
    assert set(words) <= set(targets)


def check_celery(words: list[str]) -> None:
    assert words[:2] == ["-A", "orchestrator.queue:app"]
    name, *options = words[2:]
    assert name in celery.commands
    given = dict(word.removeprefix("--").partition("=")[::2] for word in options)
    if name == "flower":
        assert set(given) <= set(flower_options)
        # Flower leaves a column that it does not know empty, and says nothing.
        assert set(given.get("tasks_columns", "name").split(",")) <= set(Task._fields)
    if name == "dashboard":
        check_dashboard(options)


def check_docker(words: list[str]) -> None:
    services = yaml.safe_load((ROOT / "compose.yaml").read_text())["services"]
    assert words[0] == "compose"
    if words[1] == "exec":
        container, *command = [word for word in words[2:] if word != "-T"]
        assert container in services
        assert command[0] == "isotherm"
        check_isotherm(command[1:])


def check_activate(words: list[str]) -> None:
    assert words == [".venv/bin/activate"]
    assert re.search(r"^VENV \?= \.venv$", (ROOT / "Makefile").read_text(), flags=re.MULTILINE)


def check_echo(words: list[str]) -> None:
    """Accept a line for ``.env`` that compose.yaml asks for."""
    variable = words[0].partition("=")[0]
    assert words[-2:] == [">", ".env"]
    assert f"${{{variable}:?" in (ROOT / "compose.yaml").read_text()


CHECKS = {
    "isotherm": check_isotherm,
    "make": check_make,
    "celery": check_celery,
    "docker": check_docker,
    ".": check_activate,
    "echo": check_echo,
}


@each_page
def test_every_block_of_commands_is_tested(page: Path) -> None:
    unmarked = [
        block.place
        for block in blocks(page)
        if block.language in SHELLS and len(KINDS & set(block.marks)) != 1
    ]
    assert unmarked == []


@each_page
def test_embedded_commands_do_what_the_page_shows(page: Path, tmp_path: Path) -> None:
    shutil.copytree(ROOT / "examples", tmp_path / "examples")
    session = Session(tmp_path)
    for block in blocks(page):
        if block.mark("file"):
            session.write(block)
        elif "embedded" in block.marks:
            session.type_in(block)


@each_page
def test_what_is_only_checked_exists(page: Path) -> None:
    for block in blocks(page):
        if "checked" in block.marks:
            for step in block.steps:
                program, *words = shlex.split(step.command)
                CHECKS[program](words)


@pytest.mark.parametrize("page", ALL_PAGES, ids=lambda page: str(page.relative_to(ROOT)))
def test_every_command_line_is_one_that_isotherm_has(page: Path) -> None:
    wrong = []
    for line in written_commands(page, "isotherm"):
        command = re.split(r" [|>&] | > |\)", line)[0].removesuffix("...")
        fault = parse(shlex.split(command)[1:])
        if fault:
            wrong.append(f"{line}: {fault}")
    assert wrong == []


@pytest.mark.parametrize("page", ALL_PAGES, ids=lambda page: str(page.relative_to(ROOT)))
def test_every_target_is_one_that_the_makefile_has(page: Path) -> None:
    for line in written_commands(page, "make"):
        words = shlex.split(line, comments=True)[1:]
        check_make([word for word in words if "=" not in word])


def test_the_readme_lists_every_command() -> None:
    listed = re.findall(r"^\| `(isotherm [^`]*)` \|", (ROOT / "README.md").read_text(), flags=re.MULTILINE)
    assert sorted(listed) == sorted(leaves(isotherm, "isotherm"))


def test_links_between_pages_lead_somewhere() -> None:
    broken = [
        f"{page.relative_to(ROOT)}: {target}"
        for page in ALL_PAGES
        for target in re.findall(r"\]\((?!https?:)([^)#]+)", page.read_text())
        if not (page.parent / target).exists()
    ]
    assert broken == []


def test_a_command_that_is_not_there_is_noticed() -> None:
    assert "has no command 'crate'" in parse(["stack", "crate", "web"])
    assert "--tempalte" in parse(["stack", "create", "web", "--tempalte", "x"])


def test_what_differs_between_runs_is_not_compared_but_the_rest_is() -> None:
    shown = "hello CREATE_COMPLETE after 180 ms\npid  123"
    assert normal(shown) == normal("hello CREATE_COMPLETE\npid       4567\n")
    assert normal(shown) != normal("hello CREATE_FAILED after 180 ms\npid  123")


def test_a_page_that_shows_what_does_not_come_out_is_noticed(tmp_path: Path) -> None:
    text = "$ echo one\none\n$ echo two\nthree\n"
    block = Block(page=ROOT / "README.md", line=1, language="console", marks=("embedded",), text=text)
    assert block.steps == [Step(command="echo one", shown="one"), Step(command="echo two", shown="three")]
    with pytest.raises(AssertionError, match="echo two"):
        Session(tmp_path).type_in(block)
