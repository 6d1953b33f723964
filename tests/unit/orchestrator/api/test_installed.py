"""What the API needs is named where it is not installed, and nothing of it is imported before."""

import subprocess
import sys

import pytest

PROGRAM = """
import sys
sys.modules[sys.argv[1]] = None
from click.testing import CliRunner
from orchestrator.cli.main import isotherm
done = CliRunner().invoke(isotherm, ["api", "--auth", sys.argv[2]])
print(done.output)
sys.exit(done.exit_code)
"""


@pytest.mark.parametrize(
    ("missing", "auth", "extra"),
    [
        ("falcon", "none", "api"),
        ("gunicorn", "tokens", "api"),
        ("limits", "tokens", "api"),
        ("keystonemiddleware", "keystone", "keystone"),
    ],
)
def test_missing_package_is_named_with_what_installs_it(missing: str, auth: str, extra: str) -> None:
    done = subprocess.run(
        [sys.executable, "-c", PROGRAM, missing, auth], capture_output=True, text=True, check=False
    )
    assert done.returncode == 2, done.stderr
    assert f"the API needs {missing}" in done.stdout
    assert f"pip install 'isotherm[{extra}]'" in done.stdout
