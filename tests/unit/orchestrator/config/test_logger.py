"""The engine's logger: structlog is imported with the first line that is written, and is configured then."""

import subprocess
import sys

import pytest
import structlog
from structlog.testing import capture_logs

from orchestrator.config.logger import get_logger

#: What each program begins with: a process whose log is configured for warnings.
CONFIGURED = """
import sys
from orchestrator.cli.logs import configure_logs
from orchestrator.config.log_context import about_job
from orchestrator.config.log_masking import masking_logs
from orchestrator.config.logger import get_logger, is_configured
from orchestrator.config.settings import Settings
configure_logs(Settings(), quiet=True)
assert is_configured()
assert "structlog" not in sys.modules
"""


def lines_of(program: str) -> list[str]:
    done = subprocess.run(
        [sys.executable, "-c", CONFIGURED + program], capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stderr
    return done.stderr.splitlines()


def test_what_is_not_written_imports_nothing() -> None:
    program = "get_logger().info('begun', stack='web'); assert 'structlog' not in sys.modules"
    assert lines_of(program) == []


def test_the_first_line_that_is_written_is_written_as_configured() -> None:
    (line,) = lines_of("""
with about_job("task", job_id="7", stack="web"), masking_logs(lambda line: line.replace("horse", "***")):
    get_logger().warning("lost", password="horse")
get_logger().info("begun")
assert "rich" not in sys.modules
import rich
""")
    assert "[warning  ] lost" in line
    assert "stack_name=web" in line
    assert "password=***" in line


@pytest.mark.parametrize("way", ["import structlog", "from structlog import get_logger, dev"])
def test_whoever_imports_structlog_finds_it_configured(way: str) -> None:
    (line,) = lines_of(f"""
{way}
import inspect, structlog
assert structlog.is_configured() and is_configured()
assert "def get_logger" in inspect.getsource(structlog._config)
assert inspect.getsource(structlog)
structlog.get_logger().info("asked")
with about_job("task", job_id="7", stack="web"):
    structlog.get_logger().warning("refused", stack="other")
""")
    assert "stack_name=other" in line


def test_the_last_configuration_counts() -> None:
    (line,) = lines_of("""
configure_logs(Settings(log_level="INFO"), quiet=True)
get_logger().debug("asked")
assert "structlog" not in sys.modules
get_logger().info("begun")
""")
    assert "[info     ] begun" in line


def test_an_exception_is_logged_with_its_traceback() -> None:
    lines = lines_of("""
try:
    1 / 0
except ZeroDivisionError:
    get_logger().exception("a plugin raised")
""")
    assert "[error    ] a plugin raised" in lines[0]
    assert lines[-1] == "ZeroDivisionError: division by zero"


def test_the_colors_are_those_of_the_terminal_at_the_start() -> None:
    (line,) = lines_of("""
import io
class Terminal(io.StringIO):
    isatty = lambda _: True
shown, sys.stderr = sys.stderr, Terminal()
get_logger().warning("lost")
shown.write(sys.stderr.getvalue())
""")
    assert "\\x1b" not in repr(line)


def test_lines_are_captured_as_those_of_structlog() -> None:
    with capture_logs() as captured:
        get_logger().bind(who="ann").info("begun", stack="web")
        structlog.get_logger().info("ended")
    assert captured == [
        {"who": "ann", "event": "begun", "stack": "web", "log_level": "info"},
        {"event": "ended", "log_level": "info"},
    ]
