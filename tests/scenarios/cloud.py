"""The cloud of the simulated engine: what exists in it, and one resource type whose methods may crash anywhere."""

import traceback
from collections.abc import Mapping
from pathlib import Path
from typing import Any, ClassVar

from orchestrator.plugins.properties import Attribute, Property, PropertyType
from orchestrator.plugins.resource import Resource
from orchestrator.plugins.steps import PropertyChanges, ResourceFailure, RetryableFailure, Wait

ROOT = Path(__file__).parents[2]
#: Whose lines below it are not the engine's.
OTHERS = {"tests", "site-packages"}
#: How many lines tell where a process died.
LINES = 4


class Crash(BaseException):
    """The process dies here."""


class Cloud:
    """What exists in the world, and what was done to it, in order."""

    #: Where processes died, in any world, as the lines of the engine that led there.
    deaths: ClassVar[list[str]] = []

    def __init__(self) -> None:
        #: Live objects: physical id -> (the row that made it, its value).
        self.objects: dict[str, tuple[str, str]] = {}
        #: Of each object: its size, which can be changed.
        self.sizes: dict[str, str] = {}
        self.log: list[tuple[str, str]] = []
        self.made = 0
        #: The resources whose next deletion fails.
        self.failing_deletes: dict[str, bool] = {}
        #: What users have put into each object, and what images of objects hold, by image.
        self.contents: dict[str, str] = {}
        self.images: dict[str, str] = {}
        #: The resources of which the next image cannot be made, brought back or deleted.
        self.failing_images: dict[str, bool] = {}
        #: The resources whose next adoption fails.
        self.failing_adoptions: dict[str, bool] = {}
        #: The resources whose next update fails.
        self.failing_updates: dict[str, bool] = {}
        #: The objects at rest.
        self.resting: set[str] = set()
        #: The steps that fail the next time: (action, resource).
        self.failing_operations: set[tuple[str, str]] = set()
        #: How often making the resource of a name fails: negative for ever, positive so many times, retryably.
        self.failing: dict[str, int] = {}
        #: How many polls the resource of a name takes.
        self.polls: dict[str, int] = {}
        #: The snapshots that deletions left behind, by the row, and the seconds at which they are complete.
        self.last_images: dict[str, float] = {}
        #: The resources whose next snapshot before a deletion fails.
        self.failing_last_images: dict[str, bool] = {}
        self._count = 0
        self.crash_at: int | None = None

    def instruction(self) -> None:
        """One instruction passes; the process may die at it."""
        self._count += 1
        if self.crash_at is not None and self._count == self.crash_at:
            self.crash_at = None
            self.deaths.append(_lines_of_the_engine())
            raise Crash

    def crash_after(self, instructions: int) -> None:
        """Let the process die that many instructions from now."""
        self.crash_at = self._count + instructions

    def make(self, row: str, name: str, value: str) -> str:
        """Make an object."""
        self.made += 1
        physical_id = f"{name}-{self.made}"
        self.objects[physical_id] = (row, value)
        self.log.append(("make", name))
        return physical_id

    def resize(self, physical_id: str | None, name: str, size: str) -> None:
        """Change an object."""
        assert physical_id in self.objects
        assert physical_id not in self.resting, "what rests was changed"
        self.sizes[physical_id] = size
        self.log.append(("change", name))

    def hand_over(self, physical_id: str | None, row: str) -> None:
        """Let an object belong to another row."""
        assert physical_id in self.objects
        self.objects[physical_id] = (row, self.objects[physical_id][1])

    def lull(self, physical_id: str | None, name: str) -> None:
        """Bring an object to rest; one at rest stays so."""
        assert physical_id in self.objects
        if physical_id not in self.resting:
            self.resting.add(physical_id)
            self.log.append(("suspend", name))

    def rouse(self, physical_id: str | None, name: str) -> None:
        """Bring an object back from rest; one that is not at rest stays so."""
        assert physical_id in self.objects
        if physical_id in self.resting:
            self.resting.remove(physical_id)
            self.log.append(("resume", name))

    def owned_by(self, row: str) -> list[str]:
        """Return the objects that a row made."""
        return [physical_id for physical_id, (maker, _) in self.objects.items() if maker == row]


def _lines_of_the_engine() -> str:
    """Return where the engine is just now, the innermost line first."""
    lines = []
    for frame, number in traceback.walk_stack(None):
        path = Path(frame.f_code.co_filename)
        if path.is_relative_to(ROOT) and OTHERS.isdisjoint(path.relative_to(ROOT).parts):
            lines.append(f"{path.relative_to(ROOT)}:{number} in {frame.f_code.co_name}")
    return " < ".join(lines[:LINES]) or "not in the engine"


def cloud_type(cloud: Cloud) -> type[Resource]:  # noqa: C901  # one class, whose methods are one step each
    """Return a resource type whose objects live in ``cloud``."""

    class CloudObject(Resource):
        """An object that takes polls to build, may fail, and can be found by its row's id."""

        properties_schema: ClassVar[Mapping[str, Property]] = {
            "value": Property(type=PropertyType.STRING, default=""),
            "size": Property(type=PropertyType.STRING, default="", update_allowed=True),
        }
        attributes_schema: ClassVar[Mapping[str, Attribute]] = {
            "value": Attribute(description="its value"),
            "measure": Attribute(description="the first part of its size, which changes in place"),
        }

        def handle_create(self) -> Any:
            cloud.instruction()
            failing = cloud.failing.get(self.name, 0)
            if failing < 0:
                raise ResourceFailure("no luck")
            if failing > 0:
                cloud.failing[self.name] = failing - 1
                raise RetryableFailure("busy")
            self.state.physical_id = cloud.make(self.state.uuid, self.name, self.properties["value"])
            cloud.sizes[self.state.physical_id] = self.properties["size"]
            cloud.instruction()
            return cloud.polls.get(self.name, 0)

        def check_create_complete(self, token: Any) -> bool | Wait:
            cloud.instruction()
            if self.now < self.state.started_at + token:
                return Wait(1)
            return True

        def find(self) -> str | None:
            cloud.instruction()
            owned = cloud.owned_by(self.state.uuid)
            return owned[0] if owned else None

        def resume_create(self) -> Any:
            return cloud.polls.get(self.name, 0)

        def observe(self) -> Mapping[str, Any] | None:
            cloud.instruction()
            physical_id = self.state.physical_id
            if physical_id not in cloud.objects:
                return None
            return {"value": cloud.objects[physical_id][1], "size": cloud.sizes[physical_id]}

        def handle_adopt(self) -> Any:
            cloud.instruction()
            if cloud.failing_adoptions.pop(self.name, None):
                raise ResourceFailure("no luck")
            cloud.hand_over(self.state.physical_id, self.state.uuid)
            cloud.instruction()
            return cloud.polls.get(self.name, 0)

        def check_adopt_complete(self, token: Any) -> bool | Wait:
            cloud.instruction()
            if self.now < self.state.started_at + token:
                return Wait(1)
            return True

        def handle_snapshot(self) -> Any:
            cloud.instruction()
            if cloud.failing_images.pop(self.name, None):
                raise ResourceFailure("no luck")
            image = f"{self.state.uuid}@{self.state.started_at}"
            cloud.images[image] = cloud.contents.get(self.state.physical_id or "", "")
            cloud.instruction()
            return {"image": image, "seconds": cloud.polls.get(self.name, 0)}

        def check_snapshot_complete(self, token: Any) -> bool | Wait:
            cloud.instruction()
            return Wait(1) if self.now < self.state.started_at + token["seconds"] else True

        def handle_restore(self, entry: Any) -> Any:
            cloud.instruction()
            if cloud.failing_images.pop(self.name, None):
                raise ResourceFailure("no luck")
            assert self.state.physical_id in cloud.objects
            cloud.contents[self.state.physical_id] = cloud.images[entry["image"]]
            cloud.log.append(("restore", self.name))
            cloud.instruction()
            return cloud.polls.get(self.name, 0)

        def check_restore_complete(self, token: Any) -> bool | Wait:
            cloud.instruction()
            return Wait(1) if self.now < self.state.started_at + token else True

        def handle_delete_snapshot(self, entry: Any) -> None:
            cloud.instruction()
            if cloud.failing_images.pop(self.name, None):
                raise ResourceFailure("stuck")
            cloud.images.pop(entry["image"], None)
            cloud.instruction()

        def handle_update(self, changes: PropertyChanges) -> Any:
            cloud.instruction()
            if cloud.failing_updates.pop(self.name, None):
                raise ResourceFailure("no luck")
            cloud.resize(self.state.physical_id, self.name, self.properties["size"])
            cloud.instruction()
            return cloud.polls.get(self.name, 0)

        def check_update_complete(self, token: Any) -> bool | Wait:
            cloud.instruction()
            if self.now < self.state.started_at + token:
                return Wait(1)
            return True

        def handle_delete(self) -> None:
            cloud.instruction()
            if cloud.failing_deletes.pop(self.name, None):
                raise ResourceFailure("stuck")
            if self.state.physical_id in cloud.objects:
                del cloud.objects[self.state.physical_id]
                cloud.resting.discard(self.state.physical_id)
                cloud.log.append(("unmake", self.name))
            cloud.instruction()

        def handle_snapshot_delete(self) -> str | None:
            cloud.instruction()
            if self.state.physical_id not in cloud.objects:
                return None
            if cloud.failing_last_images.pop(self.name, None):
                raise ResourceFailure("no film")
            row = self.state.uuid
            if row not in cloud.last_images:
                cloud.last_images[row] = self.now + cloud.polls.get(self.name, 0)
                cloud.log.append(("picture", self.name))
            cloud.instruction()
            return f"of {row}"

        def check_snapshot_delete_complete(self, token: Any) -> bool | Wait:
            cloud.instruction()
            assert self.state.physical_id in cloud.objects, "it was deleted before its snapshot was complete"
            return Wait(1) if self.now < cloud.last_images[token.removeprefix("of ")] else True

        def handle_check(self) -> Any:
            self._fail_if_told("check")
            return cloud.polls.get(self.name, 0)

        def check_check_complete(self, token: Any) -> bool | Wait:
            return self._waited(token)

        def handle_suspend(self) -> Any:
            self._fail_if_told("suspend")
            cloud.lull(self.state.physical_id, self.name)
            cloud.instruction()
            return cloud.polls.get(self.name, 0)

        def check_suspend_complete(self, token: Any) -> bool | Wait:
            return self._waited(token)

        def handle_resume(self) -> Any:
            self._fail_if_told("resume")
            cloud.rouse(self.state.physical_id, self.name)
            cloud.instruction()
            return cloud.polls.get(self.name, 0)

        def check_resume_complete(self, token: Any) -> bool | Wait:
            return self._waited(token)

        def _fail_if_told(self, action: str) -> None:
            cloud.instruction()
            if (action, self.name) in cloud.failing_operations:
                cloud.failing_operations.remove((action, self.name))
                raise ResourceFailure("no luck")

        def _waited(self, seconds: float) -> bool | Wait:
            cloud.instruction()
            return Wait(1) if self.now < self.state.started_at + seconds else True

        def attribute(self, name: str) -> Any:
            return self.properties["value"] if name == "value" else self.properties["size"].partition("+")[0]

    return CloudObject
