"""Outages that a library reports become messages with a remedy: none is called a bug, in any command or process."""

import errno
import os
import re
from pathlib import Path

import click
import pytest
import redis
import sqlalchemy as sa
from amqp.exceptions import AccessRefused, NotAllowed, PreconditionFailed
from click.testing import CliRunner, Result
from kombu.exceptions import OperationalError
from kombu.transport import TRANSPORT_ALIASES

from orchestrator.cli.main import Boundary, isotherm
from orchestrator.config.broker_urls import SCHEMES
from orchestrator.config.settings import Settings


def ended_by(error: Exception, directory: Path) -> Result:
    """Run a command that reads the settings and ends by an error."""

    @click.group(cls=Boundary)
    @click.pass_context
    def group(context: click.Context) -> None:
        context.obj.load = lambda: Settings(state_directory=directory)
        assert context.obj.settings

    @group.command()
    def fail() -> None:
        raise error

    return CliRunner().invoke(group, ["fail"])


@pytest.mark.parametrize(
    ("error", "says"),
    [
        (OperationalError("refused"), "ISOTHERM_BROKER_URL: refused"),
        (AccessRefused("ACCESS_REFUSED - Login was refused"), "ISOTHERM_BROKER_URL: .*Login was refused"),
        (NotAllowed("vhost / not found"), "ISOTHERM_BROKER_URL: .*vhost / not found"),
        (PreconditionFailed("inequivalent arg"), "ISOTHERM_BROKER_URL: .*inequivalent arg"),
        (redis.AuthenticationError("WRONGPASS"), "ISOTHERM_CACHE_URL.*: WRONGPASS"),
        (redis.ConnectionError("Error 111"), "ISOTHERM_CACHE_URL.*: Error 111"),
        (redis.TimeoutError("Timeout reading"), "ISOTHERM_CACHE_URL.*: Timeout reading"),
        (redis.ResponseError("OOM command not allowed"), "ISOTHERM_CACHE_URL.*: OOM command"),
        (sa.exc.OperationalError("SELECT 1", {}, Exception("gone")), "ISOTHERM_DATABASE_URL.*: gone$"),
        (sa.exc.InterfaceError("SELECT 1", {}, Exception("closed")), "ISOTHERM_DATABASE_URL.*: closed$"),
        (
            OSError(errno.ENOSPC, "No space left on device"),
            "^Error: #.*: No space left on device; free space",
        ),
        (
            OSError(errno.ENOSPC, "No space left on device", "/x/y"),
            "^Error: /x/y: No space left on device; free",
        ),
        (OSError(errno.EDQUOT, "Disk quota exceeded", "/x/y"), "^Error: /x/y: Disk quota exceeded; free"),
        (PermissionError(errno.EACCES, "Permission denied", "/x/y"), "^Error: /x/y: Permission denied"),
        (TimeoutError(), "^Error: TimeoutError"),
    ],
    ids=lambda each: type(each).__name__ if isinstance(each, Exception) else "",
)
def test_an_outage_is_no_bug(error: Exception, says: str, tmp_path: Path) -> None:
    result = ended_by(error, tmp_path)
    assert result.exit_code == 3
    message = " ".join(result.stderr.split())
    assert "this is a bug" not in message
    assert "Traceback" not in message
    assert re.search(says.replace("#", str(tmp_path)), message), message


@pytest.mark.parametrize(
    "error", [RuntimeError("oops"), redis.DataError("oops"), sa.exc.ArgumentError("oops")]
)
def test_any_other_error_is_a_bug(error: Exception, tmp_path: Path) -> None:
    result = ended_by(error, tmp_path)
    assert result.exit_code == 1
    assert "this is a bug" in result.stderr


COMMANDS = [
    "stack list",
    "stack delete web --yes",
    "worker",
    "coordinator",
    "agent --node a",
    "dashboard",
    "doctor",
    "node list",
    "cache stats",
    "db current",
]


@pytest.mark.parametrize("command", COMMANDS)
@pytest.mark.parametrize(
    ("url", "says"),
    [
        (
            "localhost:6379",
            "settings.broker_url: expected a URL that begins with a scheme, for example redis://",
        ),
        (":SECRET@localhost", "settings.broker_url: expected a URL that begins with a scheme"),
        (
            "rediz://:SECRET@localhost/0",
            "the scheme 'rediz' is no transport for messages; did you mean redis://",
        ),
        ("http://u:SECRET@localhost", "the scheme 'http' is no transport for messages; for example redis://"),
        ("redis://a/0;amqb://:SECRET@b", "the scheme 'amqb' is no transport for messages; did you mean amqp"),
    ],
)
def test_a_wrong_broker_url_is_refused(
    command: str, url: str, says: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("ISOTHERM_CONFIG", os.devnull)
    monkeypatch.setenv("ISOTHERM_STATE_DIRECTORY", str(tmp_path))
    monkeypatch.setenv("ISOTHERM_BROKER_URL", url)
    result = CliRunner().invoke(isotherm, command.split())
    assert result.exit_code == 2, result.output
    assert says in result.stderr
    assert "SECRET" not in result.output


def test_the_schemes_are_those_of_kombu() -> None:
    assert set(TRANSPORT_ALIASES) == SCHEMES
