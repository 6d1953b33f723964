"""``Load::Entry``: a resource whose object is a file outside, to compare what exists with what rows say."""

import json
import os
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from isotherm.properties import Attribute, Property, PropertyType
from isotherm.resources import PropertyChanges, Resource, ResourceFailure, RetryableFailure, Wait

#: The environment variable that names the directory of the book.
BOOK = "ISOTHERM_TEST_BOOK"
#: The file of the book that has what never should have been done.
VIOLATIONS = "violations"


class Entry(Resource):
    """A file with the name of its row, which takes some time, and fails where it is to."""

    properties_schema = {
        "value": Property(type=PropertyType.STRING, default="", update_allowed=True),
        "kind": Property(type=PropertyType.STRING, default=""),
        "fail": Property(type=PropertyType.BOOLEAN, default=False, update_allowed=True),
        "busy": Property(type=PropertyType.BOOLEAN, default=False, update_allowed=True),
        "seconds": Property(type=PropertyType.NUMBER, default=0, update_allowed=True),
    }
    attributes_schema = {"value": Attribute("Its value.", PropertyType.STRING)}

    def handle_create(self) -> Any:
        """Write the file, which must not exist."""
        self.state.physical_id = self.state.uuid
        return self._write(exists=False)

    def check_create_complete(self, token: Any) -> bool | Wait:
        """Complete or fail when the time is over."""
        if (remaining := self.state.started_at + token - self.now) > 0:
            return Wait(remaining)
        if self.properties["fail"]:
            raise ResourceFailure("failed, as its property asks")
        return True

    def find(self) -> str | None:
        """Return the row's id if its file exists."""
        return self.state.uuid if self._file.exists() else None

    def resume_create(self) -> Any:
        """Wait as long as at first."""
        return self.properties["seconds"]

    def handle_update(self, changes: PropertyChanges) -> Any:
        """Write the file again, which must exist."""
        return self._write(exists=True)

    check_update_complete = check_create_complete

    def handle_delete(self) -> None:
        """Remove the file."""
        self._file.unlink(missing_ok=True)

    def observe(self) -> Mapping[str, Any] | None:
        """Return what the file says."""
        said = json.loads(self._file.read_text()) if self._file.exists() else None
        return said and {"value": said["value"], "kind": said["kind"]}

    def attribute(self, name: str) -> Any:
        """Return the value."""
        return self.properties["value"]

    @property
    def _file(self) -> Path:
        return Path(os.environ[BOOK]) / f"{self.state.uuid}.json"

    def _write(self, *, exists: bool) -> Any:
        """Write the file, and return the seconds to wait; the first time, a busy one is not ready."""
        mark, part = self._file.with_suffix(".busy"), self._file.with_suffix(f".{os.getpid()}")
        if self.properties["busy"] and not mark.exists():
            mark.touch()
            raise RetryableFailure("busy, as its property asks")
        if self._file.exists() != exists:
            with (Path(os.environ[BOOK]) / VIOLATIONS).open("a") as file:
                what = "was updated and did not exist" if exists else "was made twice"
                file.write(f"{self.name} ({self.state.uuid}) {what}\n")
        said = {name: self.properties[name] for name in ("value", "kind")}
        part.write_text(json.dumps(said))
        part.replace(self._file)
        return self.properties["seconds"]


def install(directory: Path) -> None:
    """Make a package in ``directory``, to be on the path of every process, that brings the type."""
    info = directory / "load_entry-1.dist-info"
    info.mkdir(parents=True)
    (info / "METADATA").write_text("Metadata-Version: 2.1\nName: load-entry\nVersion: 1\n")
    (info / "entry_points.txt").write_text("[isotherm.resources]\nLoad::Entry = tests.load.book:Entry\n")
