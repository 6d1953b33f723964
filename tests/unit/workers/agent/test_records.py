"""Records of node resources."""

import os
import stat
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.unit.workers.agent.killing import killed_after
from workers.agent.records import read_record, write_record

#: What a file system can hold as a name comes back as it was, bytes that are no UTF-8 too.
TEXTS = st.text() | st.binary().map(os.fsdecode)
RECORDS = st.dictionaries(TEXTS, st.none() | st.booleans() | st.integers() | TEXTS | st.lists(TEXTS))


@given(record=RECORDS)
def test_a_record_comes_back_as_it_was_written(
    record: dict[str, Any], tmp_path_factory: pytest.TempPathFactory
) -> None:
    path = tmp_path_factory.getbasetemp() / "records" / "it.json"
    write_record(path, record)
    assert read_record(path) == record
    assert [file.name for file in path.parent.iterdir()] == ["it.json"]


def test_records_are_for_their_own_user_alone(tmp_path: Path) -> None:
    path = tmp_path / "row/it.json"
    write_record(path, {"secret": "value"})
    assert stat.S_IMODE(path.stat().st_mode) == 0o600
    assert stat.S_IMODE(path.parent.stat().st_mode) == 0o700


def test_no_record_is_none_and_a_damaged_one_an_error_that_names_it(tmp_path: Path) -> None:
    path = tmp_path / "it.json"
    assert read_record(path) is None
    for damage in ("{", "[]"):
        path.write_text(damage)
        with pytest.raises(ValueError, match=r"it\.json is damaged"):
            read_record(path)


def test_a_record_is_the_old_or_the_new_one_wherever_its_writer_is_killed(tmp_path: Path) -> None:
    path, seen = tmp_path / "it.json", set()
    for lines in range(100):
        write_record(path, {"version": "old"})
        killed = killed_after(lines, lambda: write_record(path, {"version": "new"}))
        record = read_record(path)
        assert record is not None
        seen.add(record["version"])
        if not killed:
            break
    assert seen == {"old", "new"}
