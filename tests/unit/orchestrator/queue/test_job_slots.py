"""The slots of a coordinator's processes, which outlive no process that holds one."""

import os
import signal

from orchestrator.queue.job_slots import JobSlots


def child_with_a_slot(slots: JobSlots) -> int:
    """Make a child process that holds a slot until it is killed; return its id when it holds it."""
    reads, writes = os.pipe()
    child = os.fork()
    if child == 0:
        with slots.one() as is_free:
            os.write(writes, b"1" if is_free else b"0")
            while True:
                signal.pause()
    os.close(writes)
    with os.fdopen(reads, "rb") as answer:
        assert answer.read(1) == b"1"
    return child


def kill(child: int) -> None:
    os.kill(child, signal.SIGKILL)
    os.waitpid(child, 0)


def test_slot_is_free_again_when_its_process_is_killed() -> None:
    slots = JobSlots()
    slots.limit(2)
    children = [child_with_a_slot(slots) for _ in range(2)]
    try:
        with slots.one() as is_free:
            assert not is_free
        kill(children.pop())
        with slots.one() as is_free:
            assert is_free
    finally:
        for child in children:
            kill(child)


def test_there_are_any_number_of_slots_without_a_limit() -> None:
    slots = JobSlots()
    with slots.one() as first, slots.one() as second:
        assert first
        assert second
