"""Celery app: queues, routes, serializers, and the publisher of checks.

Every queue is reached through the broker's default exchange, by its name. There are no bindings that a broker could
lose with its memory: the next message arrives.
"""

from collections import deque
from collections.abc import Callable, Sequence
from dataclasses import replace
from functools import cache
from typing import Any, Final

from celery import Celery
from kombu.connection import Connection
from kombu.entity import Exchange, Queue
from kombu.exceptions import OperationalError
from kombu.messaging import Producer
from kombu.transport import TRANSPORT_ALIASES

from orchestrator.config.logger import get_logger
from orchestrator.config.settings import Settings, load_settings
from orchestrator.errors import typed_message
from orchestrator.keys.key_file import LiveKeys
from orchestrator.model.check_batch import batches_of, summary, to_wire, weight_of
from orchestrator.model.messages import (
    BEGIN_TASK,
    CHECK_TASK,
    CHECKS_QUEUE,
    COORDINATOR_QUEUE,
    END,
    FINISH_TASK,
    JOBS,
    STACKS_QUEUE,
    SWEEP_TASK,
    WATCH_TASK,
    CheckOrder,
    Job,
)
from orchestrator.queue.celery_worker import note_worker_name
from orchestrator.queue.installation import InstallationApp, LazyId
from orchestrator.queue.serializers import EVENT, SEALED, use_keys
from orchestrator.store.retrying import impatient, tried_once
from orchestrator.store.store import Store

log = get_logger()

#: What kombu raises where the broker is out of reach, or refuses a message.
TRANSPORT_ERRORS: Final = (OperationalError, OSError)
#: Node data of so many bytes may be why a broker did not take a message.
SUSPICIOUS_BYTES: Final = 16 * 1024
#: The queue of each task.
ROUTES = {
    **{task: job.queue for task, job in JOBS.items()},
    CHECK_TASK: CHECKS_QUEUE,
    FINISH_TASK: COORDINATOR_QUEUE,
    BEGIN_TASK: COORDINATOR_QUEUE,
    SWEEP_TASK: COORDINATOR_QUEUE,
    WATCH_TASK: COORDINATOR_QUEUE,
}
#: The transports and the beat of this package, by the names under which Celery imports them.
REDIS_TRANSPORT = "orchestrator.queue.redis_transport:Transport"
AMQP_TRANSPORT = "orchestrator.queue.amqp_transport:Transport"
AMQP_TLS_TRANSPORT = "orchestrator.queue.amqp_transport:TlsTransport"
BEAT = "orchestrator.queue.beat:Beat"
# By URL scheme: a transport set in the app would replace the scheme where Flower reads it.
TRANSPORT_ALIASES.update(
    redis=REDIS_TRANSPORT,
    rediss=REDIS_TRANSPORT,
    amqp=AMQP_TRANSPORT,
    pyamqp=AMQP_TRANSPORT,
    amqps=AMQP_TLS_TRANSPORT,
)
#: How many times during the watch interval due machines are looked for.
WATCH_LOOKS = 5
#: Messages that a worker process has at most: the one that it works on. Each may hold many checks, and others are idle.
PREFETCH = 1


def make_app(settings: Settings, installation: Callable[[], str] | None = None) -> InstallationApp:
    """Return the Celery app for these settings; nothing is connected yet.

    ``installation`` returns the id of the installation, for the messages of a process that has a database.
    """
    default = Exchange("", type="direct")
    app = InstallationApp("isotherm", broker=settings.broker_url or None, set_as_current=False)
    app.settings = settings
    app.keys = LiveKeys(settings.effective_key_file)
    use_keys(app.keys)
    if installation is not None:
        app.installation = installation
    app.conf.update(
        task_serializer=SEALED,
        result_serializer=SEALED,
        event_serializer=EVENT,
        accept_content=[SEALED],
        worker_consumer="orchestrator.queue.consumer:VerifyingConsumer",
        task_queues=[
            Queue(name, default, routing_key=name) for name in (STACKS_QUEUE, CHECKS_QUEUE, COORDINATOR_QUEUE)
        ],
        task_routes={task: {"queue": queue} for task, queue in ROUTES.items()},
        task_default_queue=STACKS_QUEUE,
        task_default_exchange="",
        task_default_routing_key=STACKS_QUEUE,
        task_create_missing_queues=False,
        # Results live in the store.
        task_ignore_result=True,
        result_backend=None,
        worker_prefetch_multiplier=PREFETCH,
        # For Flower and other readers of task events.
        worker_send_task_events=True,
        task_send_sent_event=True,
        task_track_started=True,
        worker_hijack_root_logger=False,
        # Log lines go to stderr as structlog renders them, not wrapped by Celery.
        worker_redirect_stdouts=False,
        broker_connection_retry_on_startup=True,
        broker_connection_max_retries=None,
        broker_transport_options=_transport_options(settings),
        task_publish_retry_policy={"max_retries": 2, "interval_start": 0.05, "interval_max": 0.5},
        enable_utc=True,
        timezone="UTC",
        beat_schedule={
            "sweep": {
                "task": SWEEP_TASK,
                "schedule": settings.sweep_seconds,
                # A sweep that was not taken is useless once the next is sent.
                "options": _expiring_after(max(5.0, settings.sweep_seconds * 5)),
            },
            "watch nodes": {
                "task": WATCH_TASK,
                "schedule": settings.node_state_cache.watch_seconds / WATCH_LOOKS,
                "options": _expiring_after(settings.node_state_cache.watch_seconds / WATCH_LOOKS),
            },
        },
        # The default keeps its schedule in a shelve, which is pickle.
        beat_scheduler=BEAT,
    )
    return app


def _expiring_after(seconds: float) -> dict[str, float]:
    return {"expires": seconds}


def _transport_options(settings: Settings) -> dict[str, float]:
    if not settings.broker_url.startswith("redis"):
        return {}
    return {
        "socket_connect_timeout": 5.0,
        # A broker that hangs, or whose machine is gone, must not block senders for ever.
        "socket_timeout": 5.0,
        "socket_keepalive": True,
        "health_check_interval": 30,
        # Redis does not notice that a consumer died: kombu records the unacknowledged messages of each, and any
        # consumer restores those that are older than this, by the clock of its machine. Restoring one whose consumer
        # lives is harmless: jobs are recognized by their ids, and claims refuse.
        "visibility_timeout": settings.job_lease_seconds,
        # kombu restores at every tenth of its ticks, every 100 seconds; here at each.
        "unacked_restore_interval": min(10.0, settings.job_lease_seconds / 4),
        "unacked_restore_throttle": 1,
    }


@cache
def default_app() -> InstallationApp:
    """Return this process's app, from the settings of its environment."""
    note_worker_name()
    settings = load_settings()
    return make_app(settings, LazyId(lambda: read_installation(settings)))


def read_installation(settings: Settings) -> str:
    """Return the id of the installation, from the database; the connection is closed again.

    Raises:
        Unavailable: the database does not answer at once, or lacks the schema.
    """
    store = Store.of(settings)
    try:
        with impatient(0), tried_once():
            return store.identity.read()
    finally:
        store.close()


class QueuePublisher:
    """Sends orders over the broker: checks to the workers, ends to a coordinator."""

    def __init__(self, app: InstallationApp) -> None:
        self._app = app

    def publish(self, orders: Sequence[CheckOrder]) -> list[tuple[CheckOrder, str]]:
        """Send the orders, several of one traversal in one message; return those that fit no message, and why.

        An order that cannot be sent with its node data is sent without: the check reads them from the store.

        Raises:
            OperationalError, OSError: the broker is out of reach, or refused an order. The others were sent, unless
                it refused two messages in a row.
        """
        unfit: list[tuple[CheckOrder, str]] = []
        skipped: Exception | None = None
        is_second = False
        waiting = deque(batches_of(orders, self._app.settings.batch_size))
        with self._app.producer_or_acquire() as producer:
            while waiting:
                batch = waiting.popleft()
                try:
                    self._send(batch, producer)
                    is_second = False
                    continue
                except Exception as error:  # noqa: BLE001  # of a transport, or of what packs a value
                    if len(batch) > 1:
                        # Whatever it is about may be one of them.
                        waiting.extendleft((order,) for order in reversed(batch))
                        continue
                    reason: Exception = error
                try:
                    self._send_without_data(batch[0], producer, reason)
                    is_second = False
                except TRANSPORT_ERRORS as error:
                    if is_second:
                        raise
                    skipped, is_second = error, True
                except Exception as error:
                    log.exception("an order fits no message", resource=batch[0].key)
                    unfit.append((batch[0], typed_message(error)))
        if skipped is not None:
            raise skipped
        return unfit

    def _send_without_data(self, order: CheckOrder, producer: Producer, reason: Exception) -> None:
        """Send an order that could not be sent, if the node data can be why; else raise the reason.

        A broker that refuses a large message often breaks the connection.
        """
        is_refused = isinstance(reason, TRANSPORT_ERRORS)
        if not order.node_data or (is_refused and weight_of(order) < SUSPICIOUS_BYTES):
            raise reason
        self._send((replace(order, node_data=None),), producer)

    def _send(self, batch: Sequence[CheckOrder], producer: Producer) -> None:
        first = batch[0]
        is_end = first.phase == END
        self._app.send_task(
            first.task,
            kwargs={"order": first.to_wire()} if is_end else {"orders": to_wire(batch)},
            # Shown by Celery's tools, which parse it: names only, never a value.
            kwargsrepr=summary(batch),
            producer=producer,
            ignore_result=True,
        )

    def backlog(self) -> int | None:
        """Return how many checks may wait in the broker, with every message full; None when it is out of reach."""
        connection = self._app.connection_for_write()
        try:
            with connection, connection.channel() as channel:
                messages = int(channel.queue_declare(CHECKS_QUEUE, passive=True).message_count)
                return messages * self._app.settings.batch_size
        except (*connection.connection_errors, *connection.channel_errors):
            return None


def announce_job(app: Celery) -> None:
    """Have a coordinator begin the next of the jobs that wait; a lost announcement is repeated by the sweep."""
    try:
        app.send_task(BEGIN_TASK, ignore_result=True)
    except TRANSPORT_ERRORS as error:
        log.warning("a waiting job is announced again by the sweep", reason=str(error))


class UnreadJobs:
    """How many jobs wait in the broker, unread; asked on one channel of a connection that this process keeps."""

    def __init__(self, app: Celery) -> None:
        self._app = app
        self._connection: Connection | None = None
        self._channel: Any = None

    def count(self) -> int:
        """Return how many there are; 0 while the broker is out of reach, or has no queue for them."""
        # What was kept may be closed by now.
        for _ in range(2):
            connection = self._connection or self._app.connection_for_write()
            try:
                if self._channel is None:
                    self._connection = connection.ensure_connection(max_retries=1, interval_start=0)
                    self._channel = connection.channel()
                return int(self._channel.queue_declare(STACKS_QUEUE, passive=True).message_count)
            except (*connection.connection_errors, *connection.channel_errors, *TRANSPORT_ERRORS):
                self._connection = self._channel = None
                connection.close()
        return 0


def send_job(app: Celery, job: Job, *, stack: str) -> None:
    """Submit a stack job.

    Raises:
        OperationalError, OSError: the broker is out of reach.
    """
    app.send_task(
        job.task,
        kwargs={"job": job.to_wire()},
        task_id=job.job_id,
        kwargsrepr=repr({"stack": stack}),
        ignore_result=True,
    )
