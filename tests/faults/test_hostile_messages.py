"""Who may write to the broker ends no process and changes nothing; each message is counted under its reason."""

from pathlib import Path

import pytest

from tests.load.siege import Siege, besieged
from tests.services.rabbit import RabbitServer

pytestmark = pytest.mark.slow

#: How many messages are sent: each way to each place about ten times.
AMOUNT = 1_000


def withstands(siege: Siege) -> None:
    """Send messages, and see that every process lives, nothing has changed, and all are counted."""
    target = siege.besieged
    before = target.state()
    for _ in siege.attack(AMOUNT):
        assert target.are_unharmed()
    assert target.are_unharmed()
    assert target.state() == before
    assert set(target.refused()) <= siege.allowed
    assert target.refused().total() <= siege.sent.total()
    assert siege.works()
    assert "Traceback" not in siege.installation.log


def test_what_an_attacker_sends_by_redis_changes_nothing(
    tmp_path: Path, redis_url: str, postgres_url: str
) -> None:
    with besieged(tmp_path, redis_url, postgres_url, redis_url) as siege:
        withstands(siege)


def test_what_an_attacker_sends_by_rabbitmq_changes_nothing(
    tmp_path: Path, rabbit_server: RabbitServer, redis_url: str, postgres_url: str
) -> None:
    with besieged(tmp_path, rabbit_server.url, postgres_url, redis_url) as siege:
        withstands(siege)
