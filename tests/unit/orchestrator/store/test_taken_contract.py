"""What every store promises about jobs that were taken."""

from orchestrator.store.installation.jobs_in_flight import FORGOTTEN_SECONDS
from tests.unit.orchestrator.store.conftest import Bench


def test_a_job_is_taken_once_or_twice_and_forgotten_after_a_day(bench: Bench) -> None:
    taken = bench.store.taken_jobs
    assert not taken.is_taken("1")
    taken.take("1")
    taken.take("1")
    assert taken.is_taken("1")
    assert not taken.is_taken("2")
    bench.clock.pass_(FORGOTTEN_SECONDS - 1)
    taken.take("2")
    assert taken.is_taken("1")
    bench.clock.pass_(2)
    taken.take("2")
    assert (taken.is_taken("1"), taken.is_taken("2")) == (False, True)
