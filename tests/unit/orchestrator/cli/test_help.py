"""Every command can be learnt from its help alone."""

import re
import shlex
import subprocess
import sys
from collections.abc import Iterator

import click
import pytest
from click.testing import CliRunner

from orchestrator.cli.access import acts
from orchestrator.cli.main import isotherm


def walk(command: click.Command, path: tuple[str, ...]) -> Iterator[tuple[tuple[str, ...], click.Command]]:
    """Yield every command below ``command``, and the groups on the way, with the words that lead there."""
    yield path, command
    if isinstance(command, click.Group):
        for name, child in command.commands.items():
            yield from walk(child, (*path, name))


def name_of(value: object) -> str:
    """Return how a test is called: by the words of its command."""
    return "-".join(value) if isinstance(value, tuple) else ""


ALL = list(walk(isotherm, ()))
LEAVES = [(path, command) for path, command in ALL if acts(command)]


def examples(command: click.Command) -> list[str]:
    """Return the example lines of a command's help."""
    return re.findall(r"^ +(.*isotherm .*)$", command.epilog or "", re.MULTILINE)


def words_of(example: str) -> list[str]:
    """Return the arguments of the isotherm call in a line of shell."""
    inner = re.sub(r'^\w+="\$\((.*)\)"$', r"\1", example)
    return shlex.split(inner.split(" | ")[0])[1:]


@pytest.mark.parametrize(("path", "command"), ALL, ids=name_of)
def test_every_command_has_help(path: tuple[str, ...], command: click.Command) -> None:
    result = CliRunner().invoke(isotherm, [*path, "--help"])
    assert result.exit_code == 0
    assert command.help, path
    if path:
        assert not command.get_short_help_str(48).endswith("..."), "its line in the list of commands is cut"
    for parameter in command.params:
        if isinstance(parameter, click.Option):
            assert parameter.help, f"{path}: {parameter.name}"


@pytest.mark.parametrize(("path", "command"), LEAVES, ids=name_of)
def test_every_command_has_an_example_that_parses(path: tuple[str, ...], command: click.Command) -> None:
    lines = examples(command)
    assert lines
    for line in lines:
        words = words_of(line)
        assert tuple(words[: len(path)]) == path
        with command.make_context(path[-1], words[len(path) :]) as context:
            assert not context.args


def test_lists_and_shows_take_a_format() -> None:
    chosen = {path: command for path, command in LEAVES if path[-1] in {"list", "show"}}
    assert len(chosen) >= 11
    # What users wrote themselves is no table.
    texts = {"template", "environment", "files"}
    for path, command in chosen.items():
        (option,) = [parameter for parameter in command.params if "-f" in parameter.opts]
        assert isinstance(option.type, click.Choice)
        assert set(option.type.choices) >= {"json", "yaml"}
        assert "table" in option.type.choices or (path[-1] == "show" and path[-2] in texts)


def test_a_misspelt_command_names_the_nearest() -> None:
    result = CliRunner().invoke(isotherm, ["stack", "crate"])
    assert result.exit_code == 2
    assert "'create'" in result.stderr


def test_version_is_that_of_the_package() -> None:
    result = CliRunner().invoke(isotherm, ["--version"])
    assert result.exit_code == 0
    assert re.search(r"\d+\.\d+", result.stdout)


def test_help_imports_nothing_heavy() -> None:
    heavy = ["celery", "kombu", "alembic", "sqlalchemy", "stevedore", "pydantic", "rich", "structlog", "yaml"]
    code = (
        "import sys; from orchestrator.cli.main import isotherm; "
        "isotherm(['--help'], standalone_mode=False); "
        f"sys.exit(' '.join(sorted(set({heavy}) & set(sys.modules))))"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True)
    assert done.stderr.strip() == ""


@pytest.mark.parametrize(
    ("words", "hint"),
    [
        ("create web", "stack create"),
        ("updat web", "stack update"),
        ("list", "stack list"),
        ("purge", "db purge"),
        ("node create", "stack create"),
        ("stack lst", "list"),
        ("stak", "stack"),
    ],
)
def test_a_command_of_another_group_is_suggested(words: str, hint: str) -> None:
    result = CliRunner().invoke(isotherm, words.split(), prog_name="isotherm")
    assert result.exit_code == 2
    suggested = hint if hint in ("list", "stack") else f"isotherm {hint}"
    assert f"Did you mean '{suggested}'?" in result.stderr


def test_nothing_is_suggested_for_what_is_like_no_command() -> None:
    result = CliRunner().invoke(isotherm, ["xyzzy"])
    assert (result.exit_code, "mean" in result.stderr) == (2, False)
