"""What the tasks say to the broker about a job that could not be done."""

import pytest
from celery.exceptions import Reject

from orchestrator import tasks
from orchestrator.errors import Unavailable
from orchestrator.queue import default_app


def test_a_job_goes_back_to_the_queue_while_the_database_is_out_of_reach() -> None:
    with pytest.raises(Reject) as rejected:
        tasks._refuse({"job_id": "1"}, Unavailable("the database does not answer"))
    assert rejected.value.requeue


@pytest.mark.parametrize("task", ["stack.create", "stack.delete"])
def test_a_job_is_acknowledged_when_it_is_done_and_not_before(task: str) -> None:
    registered = default_app().tasks[task]
    assert registered.acks_late
    assert registered.reject_on_worker_lost
