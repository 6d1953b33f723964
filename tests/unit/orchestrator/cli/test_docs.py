"""``isotherm docs build``, on what is really installed."""

from pathlib import Path

import pytest

from tests.unit.orchestrator.cli.fake_service import Terminal


@pytest.mark.parametrize(("form", "ending"), [("html", "html"), ("markdown", "md")])
def test_a_site_is_written_and_its_first_page_is_named(
    terminal: Terminal, tmp_path: Path, form: str, ending: str
) -> None:
    site = tmp_path / "site"
    result = terminal.run("docs", "build", "--output", str(site), "--format", form)
    assert result.exit_code == 0, result.stderr
    assert result.stdout.endswith(f"begin with {site}/index.{ending}\n")
    assert "RandomString" in (site / "types" / f"os-heat-randomstring.{ending}").read_text(encoding="utf-8")
    count = sum(path.is_file() for path in site.rglob("*")) - 1
    assert result.stdout.startswith(f"{count} files; ")


def test_only_the_types_that_are_named_have_pages(terminal: Terminal, tmp_path: Path) -> None:
    terminal.run("docs", "build", "-o", str(tmp_path / "site"), "OS::Heat::Value", "OS::Heat::Delay")
    pages = sorted(path.name for path in (tmp_path / "site" / "types").iterdir())
    assert pages == ["os-heat-delay.html", "os-heat-value.html"]


def test_nothing_is_written_for_a_type_that_is_not_there(terminal: Terminal, tmp_path: Path) -> None:
    result = terminal.run("docs", "build", "-o", str(tmp_path / "site"), "OS::Heat::Vale")
    assert result.exit_code == 2
    assert "'OS::Heat::Value'" in result.stderr
    assert not (tmp_path / "site").exists()


def test_a_directory_of_something_else_is_refused(terminal: Terminal, tmp_path: Path) -> None:
    (tmp_path / "notes.txt").write_text("mine")
    result = terminal.run("docs", "build", "-o", str(tmp_path))
    assert result.exit_code == 2
    assert f"{tmp_path}: is not empty, and no documentation was written into it" in result.stderr
    assert [path.name for path in tmp_path.iterdir() if path.suffix == ".html"] == []
