"""The sandbox: questions whose cost nobody can foretell cost no more than was allowed, and disturb nobody."""

import contextlib
import os
import signal
import subprocess
import sys
import textwrap
import threading
import time
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import psutil
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from orchestrator.errors import Unavailable
from orchestrator.sandbox import process
from orchestrator.sandbox.child import (
    FAILED,
    LONGEST_ANSWER,
    LONGEST_QUESTION,
    TOO_DEEP,
    TOO_LONG,
    TOO_MUCH_MEMORY,
    Fault,
)
from orchestrator.sandbox.process import DIED, TOO_LATE, UNFIT, Sandbox
from tests.waiting import PATIENCE_SECONDS

MIB = 1024 * 1024
#: Answers questions by name, some of them badly.
ANSWERS = """
import os, sys
from orchestrator.sandbox.child import Fault, serve

def forever():
    while True:
        pass

def deep(levels):
    return deep(levels - 1) if levels else None

def nested(levels):
    value = []
    for _ in range(levels):
        value = [value]
    return value

def refuse(detail):
    raise Fault("refused", detail)

answers = {
    "echo": lambda value: value,
    "forever": lambda _: forever(),
    "die": lambda status: os._exit(status),
    "fail": lambda value: [][value],
    "refuse": refuse,
    "memory": lambda mib: len(bytearray(mib * 1024 * 1024)),
    "deep": deep,
    "long": lambda length: "x" * length,
    "nest": nested,
    "print": lambda text: print(text, flush=True),
    "variables": lambda _: sorted(os.environ),
    "modules": lambda _: sorted(sys.modules),
    "set": lambda items: list(set(items)),
    "object": lambda _: object(),
}

serve(lambda question: answers[question[0]](question[1]), memory_mib=int(sys.argv[1]))
"""

Ask = Callable[..., Any]


@pytest.fixture(scope="module")
def module(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    path = tmp_path_factory.mktemp("answers")
    (path / "bad_answers.py").write_text(ANSWERS)
    sys.path.insert(0, str(path))
    yield "bad_answers"
    sys.path.remove(str(path))


@pytest.fixture
def sandbox(module: str) -> Iterator[Sandbox]:
    made = Sandbox(module)
    yield made
    made.close()


@pytest.fixture
def ask(sandbox: Sandbox) -> Ask:
    def asking(kind: str, value: Any = None, *, seconds: float = 300.0, memory_mib: int = 128) -> Any:
        return sandbox.ask([kind, value], seconds=seconds, memory_mib=memory_mib)

    return asking


def fault_of(ask: Ask, *question: Any, **bounds: Any) -> Fault:
    with pytest.raises(Fault) as caught:
        ask(*question, **bounds)
    return caught.value


def child_of(sandbox: Sandbox) -> psutil.Process:
    assert sandbox._child
    return psutil.Process(sandbox._child._process.pid)


plain_data = st.recursive(
    st.none() | st.booleans() | st.integers(-(2**63), 2**64 - 1) | st.floats(allow_nan=False) | st.text(),
    lambda inner: st.lists(inner) | st.dictionaries(st.text() | st.integers(-9, 9), inner),
)


@given(value=plain_data)
@settings(suppress_health_check=[HealthCheck.function_scoped_fixture])
def test_plain_data_goes_there_and_back(ask: Ask, value: Any) -> None:
    assert ask("echo", value) == value


def test_one_child_answers_question_after_question(sandbox: Sandbox, ask: Ask) -> None:
    assert ask("echo", 1) == 1
    child = child_of(sandbox)
    assert ask("echo", {"a": [None, 1.5, "ä"]}) == {"a": [None, 1.5, "ä"]}
    assert child_of(sandbox) == child


def test_what_takes_too_long_is_ended_and_leaves_nothing_behind(sandbox: Sandbox, ask: Ask) -> None:
    ask("echo", 1)
    child = child_of(sandbox)
    assert fault_of(ask, "forever", seconds=0.2).kind == TOO_LATE
    assert not psutil.pid_exists(child.pid)
    assert ask("echo", 2) == 2
    assert child_of(sandbox) != child


def test_what_takes_too_much_memory_is_ended(sandbox: Sandbox, ask: Ask) -> None:
    assert ask("memory", 32, memory_mib=128) == 32 * MIB
    child = child_of(sandbox)
    assert fault_of(ask, "memory", 256, memory_mib=128).kind == TOO_MUCH_MEMORY
    assert not psutil.pid_exists(child.pid)
    assert ask("memory", 32, memory_mib=128) == 32 * MIB


def test_bounds_are_the_kernels(sandbox: Sandbox, ask: Ask) -> None:
    ask("echo", seconds=7.0, memory_mib=96)
    child = child_of(sandbox)
    assert child.rlimit(psutil.RLIMIT_AS) == (96 * MIB, 96 * MIB)
    assert child.rlimit(psutil.RLIMIT_CORE) == (0, 0)
    soft, _ = child.rlimit(psutil.RLIMIT_CPU)
    assert 7 < soft < 60


def test_another_bound_of_memory_is_kept_by_another_child(sandbox: Sandbox, ask: Ask) -> None:
    ask("echo", memory_mib=96)
    child = child_of(sandbox)
    ask("echo", memory_mib=128)
    assert child_of(sandbox).rlimit(psutil.RLIMIT_AS)[0] == 128 * MIB
    assert not psutil.pid_exists(child.pid)


@pytest.mark.parametrize(
    ("question", "kind", "detail"),
    [
        (("refuse", ["why", 1]), "refused", ["why", 1]),
        (("refuse", None), "refused", None),
        (("fail", 7), FAILED, "IndexError"),
        (("object",), FAILED, "TypeError"),
        (("deep", 10**6), TOO_DEEP, None),
        (("long", LONGEST_ANSWER), TOO_LONG, None),
        (("nest", 2000), FAILED, "ValueError"),
    ],
)
def test_what_has_no_answer_has_a_reason(
    sandbox: Sandbox, ask: Ask, question: Any, kind: str, detail: Any
) -> None:
    ask("echo")
    child = child_of(sandbox)
    fault = fault_of(ask, *question)
    assert (fault.kind, fault.detail) == (kind, detail)
    assert child_of(sandbox) == child


def test_the_longest_answer_is_one(ask: Ask) -> None:
    assert len(ask("long", LONGEST_ANSWER - 8)) == LONGEST_ANSWER - 8


@pytest.mark.parametrize(
    ("value", "kind"),
    [
        (object(), UNFIT),
        (2**64, UNFIT),
        ("\ud800", UNFIT),
        ("x" * LONGEST_QUESTION, TOO_LONG),
    ],
    ids=["object", "large number", "surrogate", "long"],
)
def test_what_cannot_be_asked_is_not_asked(sandbox: Sandbox, ask: Ask, value: Any, kind: str) -> None:
    assert fault_of(ask, "echo", value).kind == kind
    assert sandbox._child is None


def test_a_long_question_is_asked_whole(ask: Ask) -> None:
    assert ask("echo", "x" * 3 * MIB) == "x" * 3 * MIB


def test_a_child_that_dies_of_a_question_is_replaced(ask: Ask) -> None:
    assert fault_of(ask, "die", 3).kind == DIED
    assert ask("echo", 1) == 1


def test_a_child_that_died_meanwhile_is_not_noticed(sandbox: Sandbox, ask: Ask) -> None:
    ask("echo")
    child = child_of(sandbox)
    child.kill()
    child.wait()
    assert ask("echo", 1) == 1


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM, signal.SIGHUP])
def test_signals_that_ask_a_group_to_end_leave_it_to_its_parent(
    sandbox: Sandbox, ask: Ask, number: signal.Signals
) -> None:
    ask("echo")
    child = child_of(sandbox)
    child.send_signal(number)
    assert ask("echo", 1) == 1
    assert child_of(sandbox) == child


def test_what_is_printed_is_no_answer(ask: Ask) -> None:
    assert ask("print", "not an answer") is None
    assert ask("echo", 1) == 1


def test_it_knows_nothing_of_its_parents_environment(ask: Ask, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("ISOTHERM_DATABASE_URL", "postgresql://user:secret@db/isotherm")
    assert set(ask("variables")) <= {
        "LC_CTYPE",
        "LD_LIBRARY_PATH",
        "PYTHONHASHSEED",
        "PYTHONHOME",
        "PYTHONPATH",
    }


def test_it_imports_nothing_that_it_does_not_need(ask: Ask) -> None:
    modules = set(ask("modules"))
    assert not modules & {
        "pydantic",
        "yaml",
        "stevedore",
        "sqlalchemy",
        "celery",
        "orchestrator.config.settings",
    }
    ours = {
        name
        for name in modules
        if name.partition(".")[0] in ("isotherm", "orchestrator", "workers", "cache", "hooks")
    }
    assert ours == {"orchestrator", "orchestrator.sandbox", "orchestrator.sandbox.child"}


def test_a_set_has_the_same_order_in_every_child(sandbox: Sandbox, ask: Ask) -> None:
    words = ["north", "east", "south", "west", "up", "down"]
    first = ask("set", words)
    sandbox.close()
    assert ask("set", words) == first


def test_threads_take_turns_and_get_their_own_answers(ask: Ask) -> None:
    with ThreadPoolExecutor(8) as threads:
        assert list(threads.map(lambda number: ask("echo", number), range(400))) == list(range(400))


class Interruption(Exception):
    pass


def test_an_interrupted_question_does_not_get_the_next_its_answer(ask: Ask) -> None:
    def interrupt(*_: object) -> None:
        raise Interruption

    ask("echo")
    before = signal.signal(signal.SIGALRM, interrupt)
    try:
        signal.setitimer(signal.ITIMER_REAL, 0.1)
        with pytest.raises(Interruption):
            ask("forever")
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, before)
    assert ask("echo", 1) == 1


def test_closing_leaves_no_child_and_no_zombie(sandbox: Sandbox, ask: Ask) -> None:
    ask("echo")
    child = child_of(sandbox)
    sandbox.close()
    sandbox.close()
    assert not psutil.pid_exists(child.pid)


def test_a_copy_of_the_process_starts_a_child_of_its_own(sandbox: Sandbox, ask: Ask) -> None:
    ask("echo")
    child = child_of(sandbox)
    reading, writing = os.pipe()
    with sandbox._lock:
        # As if another thread were asking: the copy must not wait for a thread that it does not have.
        copy = os.fork()
        if not copy:
            try:
                assert ask("echo", "copy") == "copy"
                os.write(writing, str(child_of(sandbox).pid).encode())
                sandbox.close()
            finally:
                os._exit(0)
    os.close(writing)
    with os.fdopen(reading) as answer:
        other = int(answer.read())
    os.waitpid(copy, 0)
    assert other != child.pid
    assert not psutil.pid_exists(other)
    assert ask("echo", 1) == 1
    assert child_of(sandbox) == child


def test_a_copy_of_the_process_keeps_no_child_of_its_parent_alive(sandbox: Sandbox, ask: Ask) -> None:
    ask("echo")
    child = child_of(sandbox)
    reading, writing = os.pipe()
    copy = os.fork()
    if not copy:
        os.close(writing)
        os.read(reading, 1)
        os._exit(0)
    os.close(reading)
    assert sandbox._child
    sandbox._child._close()
    # Its input ends although the copy still lives, so it does.
    child.wait(timeout=PATIENCE_SECONDS)
    os.close(writing)
    os.waitpid(copy, 0)


def parent_that(does: str, module: str) -> "subprocess.Popen[str]":
    """Start a process with a sandbox, which prints the child's number and then does something."""
    script = f"""
    import os, signal, sys, threading
    sys.path[:] = {sys.path!r}
    from orchestrator.sandbox.process import Sandbox
    sandbox = Sandbox({module!r})
    sandbox.ask(["echo", 1], seconds=20.0, memory_mib=128)
    print(sandbox._child._process.pid, flush=True)
    """
    source = textwrap.dedent(script) + textwrap.dedent(does)
    return subprocess.Popen([sys.executable, "-c", source], stdout=subprocess.PIPE, text=True)


@pytest.mark.parametrize(
    "does",
    [
        "",
        "raise SystemExit(1)",
        "os._exit(0)",
        "os.kill(os.getpid(), signal.SIGKILL)",
        'sandbox.ask(["forever", None], seconds=0.1, memory_mib=128)',
    ],
    ids=["ends", "exits", "exits at once", "is killed", "fails"],
)
def test_it_ends_with_its_parent(module: str, does: str) -> None:
    parent = parent_that(does, module)
    assert parent.stdout
    child = int(parent.stdout.readline())
    # It may be over already: then there is nothing to wait for.
    with contextlib.suppress(psutil.NoSuchProcess):
        psutil.Process(child).wait(timeout=PATIENCE_SECONDS)
    parent.communicate()


def test_it_does_not_work_on_for_a_parent_that_was_killed(module: str) -> None:
    asking = """
    ask = lambda: sandbox.ask(["forever", None], seconds=0.5, memory_mib=128)
    threading.Thread(target=ask, daemon=True).start()
    # The question is sent when the child's processor is busy.
    import psutil
    child = psutil.Process(sandbox._child._process.pid)
    begun = child.cpu_times().user
    while child.cpu_times().user - begun < 0.05:
        pass
    os.kill(os.getpid(), signal.SIGKILL)
    """
    parent = parent_that(asking, module)
    assert parent.stdout
    number = int(parent.stdout.readline())
    parent.communicate()
    with contextlib.suppress(psutil.NoSuchProcess):
        psutil.Process(number).wait(timeout=PATIENCE_SECONDS)


def test_a_module_that_cannot_be_started_is_named(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.syspath_prepend(str(tmp_path))
    (tmp_path / "no_answers.py").write_text("raise SystemExit(1)\n")
    broken = Sandbox("no_answers")
    with pytest.raises(Unavailable, match="no_answers did not become ready and wrote why"):
        broken.ask(1, seconds=1.0, memory_mib=128)
    assert broken._child is None


def test_a_module_that_never_becomes_ready_is_named(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.syspath_prepend(str(tmp_path))
    monkeypatch.setattr(process, "_START_SECONDS", 0.2)
    (tmp_path / "late_answers.py").write_text("import threading\nthreading.Event().wait()\n")
    before = {child.pid for child in psutil.Process().children()}
    with pytest.raises(Unavailable, match="late_answers did not become ready in time"):
        Sandbox("late_answers").ask(1, seconds=1.0, memory_mib=128)
    assert {child.pid for child in psutil.Process().children()} == before


def test_an_interpreter_that_is_not_there_is_told(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "executable", "/nowhere/python")
    with pytest.raises(Unavailable, match="cannot be started: No such file"):
        Sandbox("bad_answers").ask(1, seconds=1.0, memory_mib=128)


class Turn:
    """A sandbox's lock that tells when it is wanted."""

    def __init__(self) -> None:
        self.lock, self.wanted = threading.Lock(), threading.Event()

    def __enter__(self) -> None:
        self.wanted.set()
        self.lock.acquire()

    def __exit__(self, *_: object) -> None:
        self.lock.release()


class Clock:
    """The real one, moved on."""

    def __init__(self) -> None:
        self.ahead = 0.0

    def monotonic(self) -> float:
        return time.monotonic() + self.ahead


def test_a_question_waits_for_its_turn_without_losing_its_time(
    sandbox: Sandbox, ask: Ask, monkeypatch: pytest.MonkeyPatch
) -> None:
    clock, turn = Clock(), Turn()
    monkeypatch.setattr(process, "time", clock)
    monkeypatch.setattr(sandbox, "_lock", turn)
    with ThreadPoolExecutor(1) as threads:
        with turn.lock:
            waiting = threads.submit(ask, "echo", 1, seconds=PATIENCE_SECONDS)
            assert turn.wanted.wait(PATIENCE_SECONDS)
            clock.ahead = 2 * PATIENCE_SECONDS
        assert waiting.result(PATIENCE_SECONDS) == 1
