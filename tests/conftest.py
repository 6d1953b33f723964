"""Fixtures that any test may ask for: one server of each kind, and a clean place on it for each test."""

import functools
import gc
import importlib.util
import json
import os
import signal
import subprocess
import sys
import tempfile
from collections.abc import Callable, Iterator
from pathlib import Path

import hypothesis
import pytest
import structlog
from sqlalchemy import make_url

from tests.keys import forget_keys, provide_keys
from tests.services import cloud_of_the_run
from tests.services.fixtures import or_skip
from tests.services.fresh import set_up, set_up_of
from tests.services.http_api import HttpApi
from tests.services.pgbouncer import PgBouncerServer
from tests.services.rabbit import RabbitServer
from tests.services.servers import MemcachedServer, PostgresServer, RedisServer
from tests.thoroughness import VARIABLE

# How long an example takes is no claim of any test: machines are slow and busy.
# So many examples keep the whole run short; a thorough run looks for longer.
for _profile, _examples in (("isotherm", 20), ("thorough", 500)):
    hypothesis.settings.register_profile(
        _profile,
        max_examples=_examples,
        deadline=None,
        suppress_health_check=[hypothesis.HealthCheck.too_slow],
    )
# For mutants (``make mutants``): always the same examples, and none of them made smaller.
hypothesis.settings.register_profile(
    "mutants",
    parent=hypothesis.settings.get_profile("isotherm"),
    derandomize=True,
    database=None,
    phases=[hypothesis.Phase.explicit, hypothesis.Phase.generate],
)
hypothesis.settings.load_profile("thorough" if VARIABLE in os.environ else "isotherm")


#: A file system in memory, and how much room it must have for temporary files to be there.
MEMORY = Path("/dev/shm")
ROOM_BYTES = 2 * 2**30


def pytest_unconfigure() -> None:
    """Remove what was made for the tests of this process, and with the first one what was made for the run."""
    forget_keys()
    if "PYTEST_XDIST_WORKER" not in os.environ:
        cloud_of_the_run.end()


def pytest_configure() -> None:
    """Let Ctrl-C reach the programs that tests start, and let no test wait for a disk where there is memory.

    A shell starts what it puts in the background with this signal ignored, and ignoring is inherited.
    """
    signal.signal(signal.SIGINT, signal.default_int_handler)
    if "TMPDIR" not in os.environ and is_roomy(MEMORY):
        os.environ["TMPDIR"] = str(MEMORY)
        tempfile.tempdir = None
    provide_keys()


def pytest_xdist_auto_num_workers() -> int:
    """Return how many run at once: twice the processors, for those that drive real processes wait half of the time."""
    return 2 * len(os.sched_getaffinity(0))


def pytest_xdist_setupnodes(config: pytest.Config) -> None:
    """Have the tests read once before many processes read them, where nothing is kept of that yet.

    To rewrite the assertions of all of them takes a process as long as some thousands of tests.
    """
    kept = Path(
        importlib.util.cache_from_source(str(Path(__file__).parent / "scenarios" / "world.py"))
    ).parent
    if sys.dont_write_bytecode or any(kept.glob("test_*-pytest-*.pyc")):
        return
    reading = [sys.executable, "-m", "pytest", "--collect-only", "--quiet", *config.args]
    subprocess.run(reading, cwd=config.invocation_params.dir, stdout=subprocess.DEVNULL, check=False)


def pytest_addoption(parser: pytest.Parser) -> None:
    """Take an option of the tests of OpenStack's types."""
    parser.addoption(
        "--life-table", action="store_true", help="print what was done with each type of OpenStack"
    )


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter, config: pytest.Config) -> None:
    """Print the table that is asked for."""
    if not config.getoption("--life-table"):
        return
    from tests.services.openstack.life import table

    reports = [each for listed in terminalreporter.stats.values() for each in listed]
    told = [value for each in reports for key, value in getattr(each, "user_properties", ()) if key == "life"]
    for line in table([json.loads(value) for value in dict.fromkeys(told)]):
        terminalreporter.write_line(line)


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Leave out what needs a cloud, where there is none."""
    cloud_of_the_run.choose(items)


def pytest_collection_finish(session: pytest.Session) -> None:
    """Let the collector of garbage leave the tests alone: they stay for the run, and are a lot to look through.

    It looks through all that came later once in ten million objects, not once in seventy thousand.
    """
    if not session.config.option.collectonly:
        cloud_of_the_run.begin(session.items)
    gc.collect()
    gc.freeze()
    gc.set_threshold(50_000, 10, 20)


def is_roomy(place: Path) -> bool:
    """Whether tests can keep their temporary files there, programs among them."""
    if not os.access(place, os.W_OK):
        return False
    found = os.statvfs(place)
    return not found.f_flag & os.ST_NOEXEC and found.f_bavail * found.f_frsize >= ROOM_BYTES


def log_plainly() -> None:
    """Log as structlog does by itself, but for tracebacks: to draw those takes longer than most tests do."""
    structlog.reset_defaults()
    plain = structlog.dev.ConsoleRenderer(exception_formatter=structlog.dev.plain_traceback)
    *processors, _ = structlog.get_config()["processors"]
    structlog.configure(processors=[*processors, plain])


log_plainly()


@pytest.fixture(autouse=True)
def plain_logging() -> Iterator[None]:
    """Let no command that a test runs decide what the logs of the next one hold."""
    yield
    log_plainly()


@pytest.fixture(scope="session")
def redis_server() -> Iterator[RedisServer]:
    """One Redis for the run; a test that stops it must launch it again."""
    with or_skip(RedisServer.start) as server:
        yield server


@pytest.fixture(scope="session")
def memcached_server() -> Iterator[MemcachedServer]:
    """One memcached for the run; a test that stops it must launch it again."""
    with or_skip(MemcachedServer.start) as server:
        yield server


@pytest.fixture(scope="session")
def postgres_server() -> Iterator[PostgresServer]:
    """One PostgreSQL for the run; a test that stops it must launch it again."""
    with or_skip(PostgresServer.start) as server:
        yield server


@pytest.fixture(scope="session")
def pgbouncer_server(postgres_server: PostgresServer) -> Iterator[PgBouncerServer]:
    """One PgBouncer for the run, before its PostgreSQL; a test that stops it must launch it again."""
    with or_skip(lambda: PgBouncerServer.before(postgres_server)) as server:
        yield server


@pytest.fixture(scope="session")
def rabbit_server() -> Iterator[RabbitServer]:
    """One RabbitMQ for the run; every test has names of its own on it."""
    with or_skip(RabbitServer.start) as server:
        yield server


@pytest.fixture(scope="session")
def fresh(tmp_path_factory: pytest.TempPathFactory) -> Callable[[Path], Path]:
    """A function that returns the environment of a page's example, which is made once for all with the same needs."""

    @functools.cache
    def made(commands: tuple[str, ...]) -> Path:
        return set_up(tmp_path_factory.mktemp("fresh"), commands, os.environ)

    return lambda page: made(set_up_of(page))


@pytest.fixture
def redis_url(redis_server: RedisServer) -> str:
    """The URL of an empty Redis database."""
    return redis_server.empty_database()


@pytest.fixture
def postgres_url(postgres_server: PostgresServer) -> Iterator[str]:
    """The SQLAlchemy URL of an empty PostgreSQL database, dropped afterwards."""
    url = postgres_server.create_database()
    yield url
    postgres_server.drop_database(str(make_url(url).database))


@pytest.fixture
def pgbouncer_url(postgres_url: str, pgbouncer_server: PgBouncerServer) -> str:
    """The URL of an empty PostgreSQL database through PgBouncer; ``postgres_url`` is the same one's directly."""
    return pgbouncer_server.prepared(postgres_url)


@pytest.fixture
def http_api() -> Iterator[HttpApi]:
    """An empty HTTP API of the test's own."""
    with HttpApi() as api:
        yield api
