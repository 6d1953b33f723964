"""Rules are read at start-up, and again when their files change; wrong ones never take the place of good ones."""

import os
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import structlog
from structlog.testing import capture_logs

from hooks.builtin.policy import files as module
from hooks.builtin.policy.files import RuleFiles

GOOD = "rules:\n- {name: no-x, forbid_types: X}\n"


@pytest.fixture
def log(monkeypatch: pytest.MonkeyPatch) -> Iterator[list[Any]]:
    """What is logged, whoever has used the logger before."""
    monkeypatch.setattr(module, "log", structlog.get_logger())
    with capture_logs() as entries:
        yield entries


def names(rules: RuleFiles) -> list[str]:
    return [rule.name for rule in rules.rules()]


def write(path: Path, text: str) -> None:
    """Write a file as most editors do, so that its mark changes whatever the clock says."""
    other = path.with_suffix(".new")
    other.write_text(text)
    other.replace(path)


def test_rules_of_all_files_hold_in_their_order(tmp_path: Path) -> None:
    first, second = tmp_path / "z.yaml", tmp_path / "a.yaml"
    first.write_text("rules:\n- {name: b, forbid_types: X}\n- {name: a, forbid_types: X}\n")
    second.write_text(GOOD)
    assert names(RuleFiles([first, second])) == ["b", "a", "no-x"]


def test_a_file_that_is_wrong_at_start_up_is_refused_and_so_are_others_beside_it(tmp_path: Path) -> None:
    paths = [tmp_path / f"{number}.yaml" for number in range(5)]
    paths[0].write_text("rules: x\n")
    paths[2].write_bytes(b"rules: \xff")
    paths[3].write_text(f"# {'x' * 1024 * 1024}\n")
    paths[4].mkdir()
    with pytest.raises(ValueError) as error:
        RuleFiles(paths)
    assert str(error.value).splitlines() == [
        f"{paths[0]}:1:8: expected a list of rules, found 'x'",
        f"{paths[1]}: it cannot be read: No such file or directory",
        f"{paths[2]}: it is no UTF-8 (at byte 7)",
        f"{paths[3]}: it has more than 1048576 bytes",
        f"{paths[4]}: it cannot be read: Is a directory",
    ]


def test_no_two_rules_of_all_files_have_one_name(tmp_path: Path) -> None:
    first, second = tmp_path / "1.yaml", tmp_path / "2.yaml"
    for path in (first, second):
        path.write_text(GOOD)
    with pytest.raises(ValueError, match=r"2\.yaml: there is a rule of the name 'no-x' in .*1\.yaml already"):
        RuleFiles([first, second])


def test_what_changes_is_read_again_and_what_does_not_is_not(tmp_path: Path, log: list[Any]) -> None:
    path = tmp_path / "rules.yaml"
    path.write_text(GOOD)
    rules = RuleFiles([path])
    assert rules.rules() is rules.rules()
    write(path, GOOD.replace("no-x", "no-y"))
    assert names(rules) == ["no-y"]
    assert names(rules) == ["no-y"]
    assert log == [{"event": "policy rules were read again", "log_level": "info", "rules": 1}]


def test_what_is_written_in_place_within_a_tick_of_the_clock_is_noticed_by_its_size(tmp_path: Path) -> None:
    path = tmp_path / "rules.yaml"
    path.write_text(GOOD)
    before = path.stat()
    rules = RuleFiles([path])
    path.write_text(GOOD.replace("no-x", "no-xyz"))
    os.utime(path, ns=(before.st_atime_ns, before.st_mtime_ns))
    assert names(rules) == ["no-xyz"]


def test_wrong_rules_keep_the_last_good_ones_of_all_files_and_the_log_says_so_once(
    tmp_path: Path, log: list[Any]
) -> None:
    path, other = tmp_path / "rules.yaml", tmp_path / "other.yaml"
    path.write_text(GOOD)
    other.write_text("rules: []")
    rules = RuleFiles([path, other])
    write(path, "rules: x")
    write(other, GOOD.replace("no-x", "no-y"))
    for _ in range(3):
        assert names(rules) == ["no-x"]
    assert [entry["log_level"] for entry in log] == ["error"]
    assert log[0]["reason"] == f"{path}:1:8: expected a list of rules, found 'x'"
    write(path, "rules: x")
    assert names(rules) == ["no-x"]
    assert len(log) == 1, "what was said is not said again"
    path.unlink()
    assert names(rules) == ["no-x"]
    assert log[1]["reason"].endswith("cannot be read: No such file or directory")
    write(path, GOOD)
    assert names(rules) == ["no-x", "no-y"]
    write(path, "rules: x")
    assert names(rules) == ["no-x", "no-y"]
    assert [entry["log_level"] for entry in log] == ["error", "error", "info", "error"]
