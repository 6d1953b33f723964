"""The bare machine of ``.ci/fresh``: what it can say without making one."""

import re
import shutil
import subprocess
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
SCRIPT = ROOT / ".ci" / "fresh"


def fresh(programs: Path, *arguments: str) -> subprocess.CompletedProcess[str]:
    """Run the script where there are no other programs than those of a directory and a few of any system."""
    for tool in ("bash", "cat", "sed", "grep", "dirname"):
        (programs / tool).symlink_to(str(shutil.which(tool)))
    environment = {
        "PATH": str(programs),
        "HOME": str(programs / "home"),
        "TMPDIR": str(programs / "temporary"),
    }
    return subprocess.run(
        [str(shutil.which("bash")), str(SCRIPT), *arguments],
        capture_output=True,
        text=True,
        env=environment,
        check=False,
    )


def put(directory: Path, name: str, script: str) -> None:
    (directory / name).write_text(f"#!{shutil.which('bash')}\n{script}\n")
    (directory / name).chmod(0o755)


def test_help_lists_every_option_and_has_an_example(tmp_path: Path) -> None:
    result = fresh(tmp_path, "--help")
    assert (result.returncode, result.stderr) == (0, "")
    read = re.findall(r"^ +(--[a-z-]+)\)", SCRIPT.read_text(), flags=re.MULTILINE)
    listed = re.findall(r"^  (--[a-z-]+) ", result.stdout, flags=re.MULTILINE)
    assert sorted(read) == sorted(listed)
    (example,) = re.findall(r"Example:\n  sudo \.ci/fresh (.*)", result.stdout)
    assert set(re.findall(r"--\S+", example)) <= set(listed)


@pytest.mark.parametrize(
    ("arguments", "sentence"),
    [(("--ful",), "there is no option '--ful'"), (("--release",), "--release needs a value")],
)
def test_wrong_option_is_named(arguments: tuple[str, ...], sentence: str, tmp_path: Path) -> None:
    result = fresh(tmp_path, *arguments)
    assert (result.returncode, result.stdout) == (1, "")
    assert sentence in result.stderr


@pytest.mark.parametrize(
    ("user", "programs", "sentence"),
    [
        (1000, ("debootstrap", "git"), "only root can make a system in a directory: sudo .ci/fresh"),
        (0, ("git",), "debootstrap is not installed: apt-get install debootstrap"),
        (0, ("debootstrap",), "git is not installed: apt-get install git"),
    ],
)
def test_unfit_machine_is_told_in_a_sentence_what_is_missing(
    user: int, programs: tuple[str, ...], sentence: str, tmp_path: Path
) -> None:
    put(tmp_path, "id", f"echo {user}")
    for name in programs:
        put(tmp_path, name, f"touch {tmp_path}/was-run")
    before = {*tmp_path.iterdir()}
    result = fresh(tmp_path)
    assert (result.returncode, result.stdout) == (1, "")
    assert result.stderr == f"fresh: {sentence}\n"
    # Nothing was run, and no directory was made.
    assert not [path for path in {*tmp_path.iterdir()} - before if not path.is_symlink()]


def test_readme_names_the_packages_that_a_bare_machine_lacks() -> None:
    (pattern,) = re.findall(r"grep -oE -m 1 '(`[^']*`)'", SCRIPT.read_text())
    found = re.search(pattern, (ROOT / "README.md").read_text())
    assert found is not None
    # The first two fetch and start what follows; without the third, Debian's Python makes no virtual environments.
    assert {"git", "make", "python3-venv"} <= set(found[0].strip("`").split())
