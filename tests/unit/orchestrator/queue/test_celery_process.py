"""What a process of Celery's logs: no line for what happens all the time."""

import logging
from collections.abc import Iterator

import pytest
from celery.concurrency.solo import TaskPool

from orchestrator.queue.celery_process import WithoutTasks, limit_logs


@pytest.fixture
def logger(caplog: pytest.LogCaptureFixture) -> Iterator[logging.Logger]:
    made, only = logging.getLogger("celery.some"), WithoutTasks({"tick"})
    made.addFilter(only)
    yield made
    made.removeFilter(only)


def log_all(logger: logging.Logger) -> None:
    # As Celery's beat does, and its workers do.
    logger.info("Scheduler: Sending due task %s (%s)", "the clock", "tick")
    logger.info("Task %(name)s[%(id)s] received", {"name": "tick", "id": "1"})
    logger.info("Task %(name)s[%(id)s] received", {"name": "stack.create", "id": "2"})
    logger.error("Task %(name)s[%(id)s] raised unexpected: tick", {"name": "tick", "id": "3"})
    logger.info("tick")


def test_only_faults_of_periodic_tasks_are_logged(
    caplog: pytest.LogCaptureFixture, logger: logging.Logger
) -> None:
    caplog.set_level(logging.INFO)
    log_all(logger)
    assert caplog.messages == [
        "Task stack.create[2] received",
        "Task tick[3] raised unexpected: tick",
        "tick",
    ]


def test_all_is_logged_for_those_who_debug(caplog: pytest.LogCaptureFixture, logger: logging.Logger) -> None:
    caplog.set_level(logging.DEBUG)
    log_all(logger)
    assert len(caplog.messages) == 5


def test_the_pool_does_not_write_what_messages_contain_for_those_who_debug(
    caplog: pytest.LogCaptureFixture,
) -> None:
    caplog.set_level(logging.DEBUG)
    pool = TaskPool(1)
    applied = []
    limit_logs(())
    try:
        pool.on_start = pool.on_stop = lambda: None
        pool.on_apply = lambda target, args, *_, **__: applied.append(args)
        pool.start()
        pool.apply_async(print, ("a secret in a message",))
    finally:
        logging.getLogger("celery.pool").setLevel(logging.NOTSET)
    assert applied == [("a secret in a message",)]
    assert "a secret in a message" not in caplog.text
