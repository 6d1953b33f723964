"""The Celery application: queues, routes, transport, beat, and the processes that Celery runs.

``orchestrator.queue:app`` is the application for the ``celery`` command; it is made at the first access.
"""


def __getattr__(name: str) -> object:
    """Return the Celery application for the ``celery`` command, which looks for ``app`` here.

    Raises:
        AttributeError: any other name.
    """
    if name != "app":
        message = f"module {__name__!r} has no attribute {name!r}"
        raise AttributeError(message)
    from orchestrator.queue.celery_app import default_app

    return default_app()
