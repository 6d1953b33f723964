"""The inside of a sandbox: a process that answers questions on its standard input, one at a time, within bounds.

A question is its length in bytes and the seconds that its answer may take, then so many bytes of msgpack. An answer is
its length, then a pair in msgpack: the kind of fault or null, and, packed once more, the answer or the fault's detail.
The process first says that it is ready, by an empty answer. It ends when its input does: when its parent is gone.

Next to nothing is imported here, so that it starts fast.
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

#: What comes before a question: its length and its seconds; and before an answer: its length.
QUESTION_HEADER, ANSWER_HEADER = struct.Struct(">Id"), struct.Struct(">I")
#: In bytes. What the sandbox answers is unpacked by its parent, whose memory has no bound.
LONGEST_QUESTION, LONGEST_ANSWER = 16 * 1024 * 1024, 4 * 1024 * 1024

#: Why there is no answer, whatever was asked; each kind of question has reasons of its own beside these.
TOO_MUCH_MEMORY: Final = "memory"
TOO_DEEP: Final = "depth"
TOO_LONG: Final = "length"
FAILED: Final = "failed"


class Fault(Exception):
    """There is no answer; ``kind`` says why, and ``detail``, plain data, may hold a part of the question."""

    def __init__(self, kind: str, detail: Any = None) -> None:
        super().__init__(kind, detail)
        self.kind, self.detail = kind, detail


def serve(answer: Callable[[Any], Any], *, memory_mib: int) -> None:
    """Answer questions until the standard input ends, in no more than ``memory_mib`` MiB of address space.

    ``answer`` returns plain data or raises :class:`Fault`. Whatever else it raises becomes a fault as well.
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
    """Return the kind of fault or None, and, packed, the answer or the fault's detail."""
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
    except Exception as error:  # noqa: BLE001 (a hostile question is no reason to end)
        kind, detail = FAILED, type(error).__name__
    return kind, msgpack.packb(detail, unicode_errors="replace")


def _outlive_signals() -> None:
    """Let the parent decide when to end: what stops it often reaches its whole group, while it finishes its work."""
    for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
        signal.signal(number, signal.SIG_IGN)


def _take_over_pipes() -> tuple[BinaryIO, BinaryIO]:
    """Return the standard input and output, which nothing else can read or write from now on."""
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
    """Let the kernel end this process soon after ``seconds`` more of the processor's time.

    The parent is faster as long as it lives.
    """
    _, hard = resource.getrlimit(resource.RLIMIT_CPU)
    most = math.ceil(time.process_time() + seconds) + 1
    resource.setrlimit(resource.RLIMIT_CPU, (_lower(most, hard), hard))


def _lower(most: int, hard: int) -> int:
    return most if hard == resource.RLIM_INFINITY else min(most, hard)


def _write(answers: BinaryIO, packed: bytes) -> None:
    answers.write(ANSWER_HEADER.pack(len(packed)) + packed)
    answers.flush()
