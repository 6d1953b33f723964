"""``journal``: writes every event into a file, one line each, and none twice."""

import json
from collections.abc import Sequence
from dataclasses import asdict
from pathlib import Path

from pydantic import Field

from isotherm.hooks import Event, EventSink, HookOptions


class JournalOptions(HookOptions):
    """What the settings may say below ``[event_sinks.journal]``."""

    file: Path = Field(description="The file to write to.")


class Journal(EventSink):
    """Writes events as lines of JSON."""

    description = "Writes every event into a file, as a line of JSON."
    Options = JournalOptions
    options: JournalOptions

    def consume(self, events: Sequence[Event]) -> None:
        """Write what is not there yet: what was written before a process died may come again."""
        last = self._last()
        with self.options.file.open("a") as file:
            for event in events:
                if event.id > last:
                    file.write(json.dumps(asdict(event)) + "\n")

    def _last(self) -> int:
        """Return the id of the last event that is there as a whole line; what follows it is cut off."""
        file = self.options.file
        if not file.exists():
            return 0
        whole = [line for line in file.read_text().splitlines(keepends=True) if line.endswith("\n")]
        with file.open("r+") as opened:
            opened.truncate(sum(len(line.encode()) for line in whole))
        return int(json.loads(whole[-1])["id"]) if whole else 0
