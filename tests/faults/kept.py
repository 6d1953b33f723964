"""Resource types that keep account, outside of the database, of the steps taken and of the objects that there are.

Processes find them by an entry point, in a directory on their path; a variable tells where the account is kept.
"""

import hashlib
import os
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any, ClassVar, Final

from orchestrator.plugins.properties import Attribute, Property, PropertyType
from orchestrator.plugins.resource import Resource
from tests.faults import stops
from tests.unit.packages import install
from workers.resources.core.value import Value

#: A type with objects, and one that only computes.
KEPT: Final = "Test::Kept"
COMPUTED: Final = "Test::Computed"
#: Where the account is kept.
VARIABLE: Final = "KEPT_OUTSIDE"
HEAD: Final = "heat_template_version: 2021-04-16\nresources:"

Requires = Mapping[str, Sequence[str]]


class Outside:
    """Objects, each a file named by its idempotency token, and a list of all that was ever done, in one more file."""

    def __init__(self, directory: Path) -> None:
        self._objects, self._done = directory / "objects", directory / "done"

    @classmethod
    def begin(cls, directory: Path) -> "Outside":
        """Make an account without objects or steps in a directory, and return it."""
        outside = cls(directory)
        outside._objects.mkdir(parents=True)
        outside._done.touch()
        return outside

    @classmethod
    def here(cls) -> "Outside":
        """Return what is outside for this process."""
        return cls(Path(os.environ[VARIABLE]))

    def note(self, what: str, name: str) -> None:
        """Add a line to the list, whole even if others add theirs, and certain even if this process is killed next."""
        file = os.open(self._done, os.O_WRONLY | os.O_APPEND)
        try:
            os.write(file, f"{what} {name}\n".encode())
        finally:
            os.close(file)

    def make(self, token: str, name: str) -> None:
        """Make the object with a token, unless it is there: another system might then make a second one."""
        try:
            file = os.open(self._objects / token, os.O_CREAT | os.O_EXCL | os.O_WRONLY)
        except FileExistsError:
            self.note("second", name)
            return
        os.write(file, name.encode())
        os.close(file)
        self.note("made", name)

    def has(self, token: str) -> bool:
        """Return whether the object with a token is there."""
        return (self._objects / token).exists()

    def remove(self, token: str, name: str) -> None:
        """Let the object with a token be gone."""
        try:
            (self._objects / token).unlink()
        except FileNotFoundError:
            return
        self.note("removed", name)

    def objects(self) -> dict[str, list[str]]:
        """Return the tokens of the objects that there are, by name."""
        found: dict[str, list[str]] = {}
        for each in self._objects.iterdir():
            found.setdefault(each.read_text(), []).append(each.name)
        return found

    def times(self, what: str) -> Counter[str]:
        """Return how often something was done, by name."""
        lines = [line.split() for line in self._done.read_text().splitlines()]
        return Counter(name for each, name in lines if each == what)


class Kept(Resource):
    """Has an object outside, and a value that is made of its name and those of others."""

    properties_schema: ClassVar[Mapping[str, Property]] = {
        "parts": Property(type=PropertyType.LIST, default=())
    }
    attributes_schema: ClassVar[Mapping[str, Attribute]] = {
        "value": Attribute("What it is made of, digested.")
    }

    def handle_create(self) -> None:
        """Make the object."""
        outside = Outside.here()
        outside.note("create", self.name)
        outside.make(self.state.uuid, self.name)
        self.state.physical_id = self.state.uuid

    def find(self) -> str | None:
        """Look for the object by the token."""
        return self.state.uuid if Outside.here().has(self.state.uuid) else None

    def resume_create(self) -> None:
        """Note that the step was taken before."""
        Outside.here().note("create", self.name)

    def handle_delete(self) -> None:
        """Remove the object."""
        outside = Outside.here()
        outside.note("delete", self.name)
        outside.remove(self.state.uuid, self.name)

    def attribute(self, name: str) -> Any:
        """Return the value."""
        return digested(self.name, self.properties["parts"])


class Computed(Value):
    """A value of which every computation is counted."""

    pure: ClassVar[bool] = True

    def handle_create(self) -> None:
        """Compute."""
        Outside.here().note("compute", self.name)
        super().handle_create()


if stops.VARIABLE in os.environ:
    # A process that has the types is one of those that are to stop.
    stops.put_in(Outside.here().note)


def digested(name: str, parts: Iterable[str]) -> str:
    """Return the value of a resource with an object."""
    return hashlib.sha256("+".join([name, *parts]).encode()).hexdigest()[:12]


def put_on_path(directory: Path) -> None:
    """Write the entry points into a directory that is there."""
    entries = [f"{KEPT} = {__name__}:Kept", f"{COMPUTED} = {__name__}:Computed"]
    install(directory, "kept_types", "", {"isotherm.resources": entries})


def template_of(requires: Requires) -> str:
    """Return a template of objects, each with a value made of those that it requires; all values are outputs."""
    lines, outputs = [HEAD], ["outputs:"]
    for name, others in requires.items():
        parts = ", ".join(f"{{get_attr: [{other}, value]}}" for other in others)
        lines.append(f"  {name}: {{type: '{KEPT}', properties: {{parts: [{parts}]}}}}")
        outputs.append(f"  {name}: {{value: {{get_attr: [{name}, value]}}}}")
    return "\n".join([*lines, *outputs, ""])


def values_of(requires: Requires) -> dict[str, str]:
    """Return the values that the outputs of that template must have; what is required comes first."""
    values: dict[str, str] = {}
    for name, others in requires.items():
        values[name] = digested(name, [values[other] for other in others])
    return values


def chain_of(size: int) -> str:
    """Return a template of a chain of computed values, each the digest of the one before; the last is the output."""
    lines = [HEAD, f"  r0: {{type: '{COMPUTED}', properties: {{value: r0}}}}"]
    for number in range(1, size):
        value = f"{{digest: [sha256, {{get_attr: [r{number - 1}, value]}}]}}"
        lines.append(f"  r{number}: {{type: '{COMPUTED}', properties: {{value: {value}}}}}")
    output = f"  last: {{value: {{get_attr: [r{size - 1}, value]}}}}"
    return "\n".join([*lines, "outputs:", output, ""])


def last_of_chain(size: int) -> str:
    """Return the value of the output of that template."""
    value = "r0"
    for _ in range(1, size):
        value = hashlib.sha256(value.encode()).hexdigest()
    return value
