"""A process has a name that no other ever has, and by which others of its machine tell whether it is gone."""

import os
import subprocess
import sys

import psutil

from orchestrator.processes.runtime import is_dead_here, process_name


def test_a_process_that_lives_is_not_dead() -> None:
    assert not is_dead_here(process_name("worker"))
    assert not is_dead_here(process_name("worker", "w1@some-other-name"))


def test_a_process_is_called_as_celery_calls_its_worker() -> None:
    assert process_name("worker", "w1@some-other-name").startswith(f"w1@{os.uname().nodename}:{os.getpid()}:")
    assert process_name("worker").startswith(f"worker@{os.uname().nodename}:{os.getpid()}:")


def test_a_process_knows_its_start_as_others_see_it() -> None:
    started = psutil.Process().create_time()
    assert process_name("worker").endswith(f":{started:.2f}")


def test_a_process_has_a_name_without_the_library_that_looks_at_others() -> None:
    program = "import sys; from orchestrator.processes.runtime import process_name; process_name('worker')"
    done = subprocess.run([sys.executable, "-c", f"{program}; sys.exit('psutil' in sys.modules)"])
    assert done.returncode == 0


def test_a_process_that_has_ended_is_dead_before_anybody_has_looked_for_it() -> None:
    process = subprocess.Popen([sys.executable, "-c", "import sys; sys.stdin.read()"], stdin=subprocess.PIPE)
    started = psutil.Process(process.pid).create_time()
    name = process_name("worker").rpartition("@")[0] + f"@{os.uname().nodename}:{process.pid}:{started:.2f}"
    assert not is_dead_here(name)
    process.kill()
    # It has ended, and is still in the table of processes.
    os.waitid(os.P_PID, process.pid, os.WEXITED | os.WNOWAIT)
    assert is_dead_here(name)
    process.wait()
    assert is_dead_here(name)
    assert process.stdin
    process.stdin.close()


def test_another_process_under_an_old_number_is_not_the_one_that_was_there() -> None:
    assert is_dead_here(f"worker@{os.uname().nodename}:{os.getpid()}:12.00")


def test_nobody_can_tell_of_other_machines() -> None:
    assert not is_dead_here("worker@elsewhere:1:12.00")
    assert not is_dead_here("somebody")
