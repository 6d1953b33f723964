"""What a command shows while it waits."""

import pytest

from orchestrator.cli.waiting import LINE_SECONDS, Waiting


def test_a_line_is_written_now_and_then_where_there_is_no_terminal(
    capsys: pytest.CaptureFixture[str],
) -> None:
    now = 0.0
    with Waiting("observing", clock=lambda: now) as waiting:
        for _ in range(3 * int(LINE_SECONDS)):
            now += 1
            waiting.go_on("1 of 2" if now > 2 * LINE_SECONDS else "")
    assert capsys.readouterr().err.splitlines() == ["observing: 10 s", "observing: 20 s", "observing: 1 of 2"]


def test_a_short_wait_writes_nothing(capsys: pytest.CaptureFixture[str]) -> None:
    with Waiting("observing") as waiting:
        waiting.go_on()
    assert capsys.readouterr().err == ""
