"""Child process of a sandbox: answers questions on its standard input, one at a time, within bounds.

A question is its length in bytes and the seconds that its answer may take, then so many bytes of msgpack. An answer is
its length, then a pair in msgpack: the kind of fault or null, and, packed once more, the answer or the fault's detail.
The process first sends an empty answer: it is ready. It ends at the end of its input, that is, with its parent.

Few modules are imported here, so that it starts fast.
"""

import math
import os
import resource
import signal
import struct
import time
from collections.abc import Callable
from typing import Any, BinaryIO, Final

import msgpack

#: The headers of a question (length and seconds) and of an answer (length).
QUESTION_HEADER, ANSWER_HEADER = struct.Struct(">Id"), struct.Struct(">I")
#: In bytes. Answers are unpacked by the parent, whose memory has no bound.
LONGEST_QUESTION, LONGEST_ANSWER = 16 * 1024 * 1024, 4 * 1024 * 1024

#: Kinds of faults of all questions; each kind of question may have more.
TOO_MUCH_MEMORY: Final = "memory"
TOO_DEEP: Final = "depth"
TOO_LONG: Final = "length"
FAILED: Final = "failed"


class Fault(Exception):
    """A question has no answer: ``kind`` is the reason; ``detail``, plain data, may contain parts of the question."""

    def __init__(self, kind: str, detail: Any = None) -> None:
        super().__init__(kind, detail)
        self.kind, self.detail = kind, detail


def serve(answer: Callable[[Any], Any], *, memory_mib: int) -> None:
    """Answer questions until the standard input ends, in no more than ``memory_mib`` MiB of address space.

    ``answer`` returns plain data or raises :class:`Fault`. Other exceptions are converted to faults.
    """
    _outlive_signals()
    questions, answers = _take_over_pipes()
    _bound(resource.RLIMIT_CORE, 0)
    _bound(resource.RLIMIT_AS, memory_mib * 1024 * 1024)
    _write(answers, b"")
    while len(header := questions.read(QUESTION_HEADER.size)) == QUESTION_HEADER.size:
        length, seconds = QUESTION_HEADER.unpack(header)
        _bound_processor(seconds)
        kind, packed = _answered(answer, questions, length)
        _write(answers, msgpack.packb([kind, packed]))


def _answered(answer: Callable[[Any], Any], questions: BinaryIO, length: int) -> tuple[str | None, bytes]:
    """Return the kind of fault or None, and the packed answer or detail."""
    kind, detail = None, None
    try:
        packed: bytes = msgpack.packb(answer(msgpack.unpackb(questions.read(length), strict_map_key=False)))
        if len(packed) <= LONGEST_ANSWER:
            return None, packed
        kind = TOO_LONG
    except Fault as fault:
        kind, detail = fault.kind, fault.detail
    except MemoryError:
        kind = TOO_MUCH_MEMORY
    except RecursionError:
        kind = TOO_DEEP
    except Exception as error:  # noqa: BLE001 (a hostile question must not end the process)
        kind, detail = FAILED, type(error).__name__
    return kind, msgpack.packb(detail, unicode_errors="replace")


def _outlive_signals() -> None:
    """Ignore signals to the process group: the parent ends this process after it has finished its own work."""
    for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
        signal.signal(number, signal.SIG_IGN)


def _take_over_pipes() -> tuple[BinaryIO, BinaryIO]:
    """Return the standard input and output, and redirect their descriptors to the null device."""
    questions, answers = os.fdopen(os.dup(0), "rb"), os.fdopen(os.dup(1), "wb")
    nowhere = os.open(os.devnull, os.O_RDWR)
    for descriptor in (0, 1, 2):
        os.dup2(nowhere, descriptor)
    return questions, answers


def _bound(kind: int, most: int) -> None:
    _, hard = resource.getrlimit(kind)
    most = _lower(most, hard)
    resource.setrlimit(kind, (most, most))


def _bound_processor(seconds: float) -> None:
    """Let the kernel end this process soon after ``seconds`` more of CPU time, in case the parent does not."""
    _, hard = resource.getrlimit(resource.RLIMIT_CPU)
    most = math.ceil(time.process_time() + seconds) + 1
    resource.setrlimit(resource.RLIMIT_CPU, (_lower(most, hard), hard))


def _lower(most: int, hard: int) -> int:
    return most if hard == resource.RLIM_INFINITY else min(most, hard)


def _write(answers: BinaryIO, packed: bytes) -> None:
    answers.write(ANSWER_HEADER.pack(len(packed)) + packed)
    answers.flush()
