"""What the example ``examples/events`` keeps of a stack is whole, in whatever order and how often events come."""

import importlib.util
import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.unit.docs.pages import ROOT

_spec = importlib.util.spec_from_file_location("example_record", ROOT / "examples" / "events" / "record.py")
assert _spec is not None
assert _spec.loader is not None
example = importlib.util.module_from_spec(_spec)
_spec.loader.exec_module(example)


def told(
    number: int, before: int | None, resource: str, status: str, action: str = "CREATE"
) -> dict[str, Any]:
    return {
        "id": number,
        "previous_id": before,
        "stack_id": "stack-1",
        "resource": resource,
        "resource_id": resource and f"{resource}-1",
        "action": action,
        "status": status,
    }


HISTORY = [
    told(3, None, "", "IN_PROGRESS"),
    told(5, 3, "disk", "IN_PROGRESS"),
    told(6, 5, "port", "IN_PROGRESS"),
    told(9, 6, "disk", "COMPLETE"),
    told(10, 9, "port", "FAILED"),
    told(11, 10, "disk", "COMPLETE", "DELETE"),
    told(13, 11, "port", "COMPLETE", "SIGNAL"),
    told(14, 13, "", "FAILED"),
]


def picture(record: Any) -> tuple[str, list[tuple[str, str]]]:
    return record.stack_state, [(event["resource"], example.state(event)) for event in record.resources()]


@given(data=st.data())
def test_every_order_of_arrival_gives_the_same_picture(
    data: st.DataObject, tmp_path_factory: pytest.TempPathFactory
) -> None:
    file = tmp_path_factory.mktemp("record") / "seen"
    arriving = data.draw(
        st.permutations([*HISTORY, *data.draw(st.lists(st.sampled_from(HISTORY), max_size=4))])
    )
    record = example.Record(file)
    for event in arriving:
        record.add(event)
        if data.draw(st.booleans(), label="killed"):
            with file.open("ab") as torn:
                torn.write(b'{"id": 99, "prev')
            record = example.Record(file)
    assert picture(record) == ("CREATE_FAILED", [("port", "CREATE_FAILED")])
    assert record.gaps == []
    assert sorted(json.loads(line)["id"] for line in file.read_text().splitlines()) == [
        e["id"] for e in HISTORY
    ]


@given(lost=st.sets(st.sampled_from([event["id"] for event in HISTORY[1:-1]])))
def test_what_is_lost_is_noticed_and_what_the_history_tells_fills_it(
    lost: set[int], tmp_path_factory: pytest.TempPathFactory
) -> None:
    record = example.Record(tmp_path_factory.mktemp("record") / "seen")
    for event in HISTORY:
        if event["id"] not in lost:
            record.add(event)
    covered = {number for after, before in record.gaps for number in range(after + 1, before)}
    assert covered & {event["id"] for event in HISTORY} == lost
    for event in HISTORY:
        if event["id"] in lost:
            # The history does not say what came before.
            record.add({name: value for name, value in event.items() if name != "previous_id"})
    assert record.gaps == []
    assert picture(record) == ("CREATE_FAILED", [("port", "CREATE_FAILED")])


def test_what_was_before_it_began_is_not_missing(tmp_path: Path) -> None:
    record = example.Record(tmp_path / "seen")
    record.add(HISTORY[3])
    assert record.gaps == []
    record.add(told(12, None, "disk", "COMPLETE"))
    assert record.gaps == [(9, 12)]


@pytest.mark.parametrize("history_is_away", [False, True], ids=["told", "away-at-first"])
def test_the_last_event_is_missed_by_nobody_who_was_killed_when_he_took_it(
    tmp_path: Path, history_is_away: bool
) -> None:
    file = tmp_path / "seen"
    record = example.Record(file)
    for event in HISTORY[:-1]:
        record.add(event)
    last = told(14, 13, "", "FAILED")
    views = [{**last, "at": 0.0, "type": "stack", "reason": "no", "physical_id": None}]
    views[0] |= {"traversal_id": "t", "resource_uuid": None}
    program = tmp_path / "isotherm"
    program.write_text(
        "#!/bin/sh\n"
        f'if [ ! -e "{tmp_path}/asked" ] && {str(history_is_away).lower()}; then touch "{tmp_path}/asked"; exit 1; fi\n'
        f'test "$*" = "stack event list stack-1 --marker 13 -f json" && cat "{tmp_path}/views"\n'
    )
    program.chmod(0o755)
    (tmp_path / "views").write_text(json.dumps(views))
    follow = ROOT / "examples" / "events" / "follow.py"
    command = [sys.executable, str(follow), "memory://", "s", "--record", str(file), "--until-done"]
    command += ["--history", str(program), "--patience", "0.2"]
    ended = subprocess.run(command, capture_output=True, text=True, timeout=300, check=True)
    assert ended.stdout.splitlines()[-2:] == ["s CREATE_FAILED", "port CREATE_FAILED"]
