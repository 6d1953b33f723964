"""How many jobs wait in a broker, unread, whichever broker that is."""

import pytest
from kombu.entity import Queue

from orchestrator.config.settings import Settings
from orchestrator.model.messages import STACKS_QUEUE, DeleteJob
from orchestrator.queue.celery_app import UnreadJobs, announce_job, make_app, send_job
from tests.services.process import free_port
from tests.services.servers import RedisServer
from tests.waiting import until

BROKERS = ("redis_server", "rabbit_server")


@pytest.mark.parametrize("server", BROKERS)
def test_jobs_are_counted_until_they_are_read(server: str, request: pytest.FixtureRequest) -> None:
    url = request.getfixturevalue(server).url
    with make_app(Settings(broker_url=url)) as app, app.connection_for_write() as connection:
        unread = UnreadJobs(app)
        queue = Queue(STACKS_QUEUE, channel=connection.default_channel)
        queue.delete()
        # A queue that is not there yet holds none.
        assert [unread.count(), unread.count()] == [0, 0]
        for number in range(2):
            send_job(app, DeleteJob(name="s", job_id=f"{number}"), stack="s")
        until(lambda: unread.count() == 2)
        message = queue.get(no_ack=True)
        assert message
        until(lambda: unread.count() == 1)
        # The connection is lost in between.
        assert unread._connection
        unread._connection.close()
        assert unread.count() == 1
        queue.delete()


def test_counting_an_empty_queue_keeps_the_connection_and_asks_redis_once(redis_server: RedisServer) -> None:
    with make_app(Settings(broker_url=redis_server.empty_database())) as app, redis_server.client() as client:
        unread = UnreadJobs(app)
        assert unread.count() == 0
        before = client.info("stats")
        assert [unread.count(), unread.count()] == [0, 0]
        after = client.info("stats")
    assert after["total_connections_received"] == before["total_connections_received"]
    # The first is INFO itself.
    assert after["total_commands_processed"] - before["total_commands_processed"] == 1 + 2


@pytest.mark.parametrize("scheme", ["redis", "amqp"])
def test_broker_out_of_reach_has_none_and_takes_no_announcement(scheme: str) -> None:
    with make_app(Settings(broker_url=f"{scheme}://127.0.0.1:{free_port()}")) as app:
        assert UnreadJobs(app).count() == 0
        announce_job(app)
