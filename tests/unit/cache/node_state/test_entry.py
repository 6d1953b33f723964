"""What a node said, as it is kept and told."""

import msgpack

from cache.node_state.entry import Entry
from cache.node_state.requests import OK, HypervisorSection, MachineState, MachineStateRequest, Section

HV = HypervisorSection("fake")
REQUEST = MachineStateRequest(hypervisors=frozenset({HV}))


def kept(data: object) -> Entry:
    said = MachineState(
        node="n1",
        taken_at=1.0,
        incarnation="i",
        boot_id="b",
        sections={HV.key: Section(status=OK, data=data)},
    )
    entry = Entry.from_bytes(Entry.of(said, REQUEST).to_bytes())
    assert entry is not None
    return entry


def told(entry: Entry) -> object:
    return entry.machine_state("n1", REQUEST, age_seconds=0.0, stale=False).sections[HV.key].data


def test_whoever_changes_what_he_was_told_changes_it_for_nobody_else() -> None:
    data = {
        "web": {"memory_mib": 64, "details": {"log": "/x", "exit_code": None}},
        "ärger": [1, 2.5, b"\0", True],
    }
    entry = kept(data)
    for _ in range(3):
        mine = told(entry)
        assert mine == data
        assert isinstance(mine, dict)
        mine["web"]["details"]["log"] = "/y"
        mine.clear()


def test_what_the_interpreter_has_no_form_for_is_told_all_the_same() -> None:
    data = {"odd": msgpack.ExtType(7, b"x"), "at": msgpack.Timestamp(1, 2)}
    entry = kept(data)
    assert told(entry) == data
    assert told(entry) == data
