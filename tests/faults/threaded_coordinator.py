"""A coordinator that works on many jobs at once in one process: ``python -m tests.faults.threaded_coordinator``.

It is the one that ``isotherm coordinator`` runs, but for its threads; there a process for each would have to load all
that a coordinator needs.
"""

import sys

from orchestrator import tasks
from orchestrator.model.messages import COORDINATOR_QUEUE, STACKS_QUEUE
from orchestrator.queue.celery_app import BEAT, default_app
from orchestrator.queue.celery_process import run

if __name__ == "__main__":
    # Before there are threads that would each want one.
    tasks.runtime()
    app = default_app()
    app.conf.worker_prefetch_multiplier = 1
    run(
        app,
        [STACKS_QUEUE, COORDINATOR_QUEUE],
        "coordinator@test",
        log_level="INFO",
        concurrency=int(sys.argv[1]),
        pool="threads",
        beat=True,
        scheduler=BEAT,
        schedule_filename="",
    )
