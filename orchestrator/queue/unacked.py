"""Unacknowledged messages on Redis, kept apart by owner."""

from celery import Celery


def keep_apart(app: Celery, owner: str) -> None:
    """Keep what an app has received and not acknowledged in keys of ``owner``, if its broker is Redis.

    kombu keeps the unacknowledged messages of all queues in the same keys. Whoever consumes any queue could read and
    remove there what coordinators and workers have received, and access lists could not tell them apart.
    """
    # Only for Redis there are any.
    if options := app.conf.broker_transport_options:
        kept = f"unacked.{owner}"
        app.conf.broker_transport_options = {
            **options,
            "unacked_key": kept,
            "unacked_index_key": f"{kept}.index",
            "unacked_mutex_key": f"{kept}.mutex",
        }
