"""What was heard of one stack, in a file with one event a line: it outlives every end of the program."""

import json
import os
from pathlib import Path
from typing import Any

Event = dict[str, Any]

#: Happens to a resource, and does not say how it is.
PASSING = frozenset({"SIGNAL", "HOOK", "REPLACE"})


class Record:
    """The events of one stack that were seen; the file is there as soon as the first of them is."""

    def __init__(self, file: Path) -> None:
        self.stack_id = ""
        self.seen: set[int] = set()
        #: The events whose predecessor is not among them: what came before which is missing, perhaps.
        self.loose: dict[int, int | None] = {}
        self._latest: dict[tuple[str, str], Event] = {}
        self._file = file.open("a+b")
        self._file.seek(0)
        whole = 0
        for line in self._file:
            if not line.endswith(b"\n"):
                # The program was killed while it wrote: the event comes again.
                break
            whole += len(line)
            self._take(json.loads(line))
        self._file.truncate(whole)

    def add(self, event: Event) -> bool:
        """Keep an event; False if it is there already. When this returns it is on the disk."""
        if event["id"] in self.seen:
            return False
        self._file.write(json.dumps(event).encode() + b"\n")
        self._file.flush()
        os.fsync(self._file.fileno())
        self._take(event)
        return True

    def _take(self, event: Event) -> None:
        number, subject = event["id"], (event["resource"], event["resource_id"])
        self.stack_id = event["stack_id"]
        self.seen.add(number)
        # Events that came late do not say how things are now.
        if event["action"] not in PASSING and self._latest.get(subject, event)["id"] <= number:
            self._latest[subject] = event
        if "previous_id" in event:
            self.loose[number] = event["previous_id"]
        self.loose = {each: before for each, before in self.loose.items() if before not in self.seen}

    @property
    def gaps(self) -> list[tuple[int, int]]:
        """Between which events something is missing; what was before the first that was seen is not."""
        first = min(self.seen, default=0)
        return [
            (max(seen for seen in self.seen if seen < each), each)
            for each in sorted(self.loose)
            if each > first
        ]

    @property
    def stack_state(self) -> str:
        """What the stack said last of itself; empty if nothing yet."""
        return state(self._latest["", ""]) if ("", "") in self._latest else ""

    def resources(self) -> list[Event]:
        """Return the last event of each resource that is not gone."""
        last = [event for (name, _), event in self._latest.items() if name]
        return sorted(
            (event for event in last if state(event) != "DELETE_COMPLETE"),
            key=lambda event: event["resource"],
        )


def state(event: Event) -> str:
    """Return what an event says, such as CREATE_COMPLETE."""
    return f"{event['action']}_{event['status']}"
