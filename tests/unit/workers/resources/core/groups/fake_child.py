"""A stack that a resource is, made of lists: its operations end when a test says so."""

from collections.abc import Mapping, Sequence
from typing import Any, TypeVar

from orchestrator.definition import AttributePath
from orchestrator.plugins.properties import convert_properties
from orchestrator.plugins.stack_resource import Child, ChildState, Member, StackResource
from orchestrator.plugins.steps import ResourceFailure, ResourceState
from tests.unit.workers.resources.core.made import STARTED, UUID, make

S = TypeVar("S", bound=StackResource)


class FakeChild:
    """The stack with the row's id."""

    def __init__(self, *, outputs: Mapping[str, Any] | None = None) -> None:
        self.asked: list[Child] = []
        self.action, self.status, self.reason = "", "", ""
        self.resources: dict[str, Mapping[str, Any]] = {}
        #: Members that failed.
        self.failed: set[str] = set()
        self.seconds_left = 3600.0
        self.refusal = ""
        self.is_deleted = False
        self._outputs = outputs or {}

    @property
    def id(self) -> str:
        return UUID

    def state(self) -> ChildState | None:
        if not self.action:
            return None
        return ChildState(
            name="stack-it-2f1c6d0e",
            action=self.action,
            status=self.status,
            reason=self.reason,
            traversal_id=str(len(self.asked)),
            is_deleted=self.is_deleted,
        )

    def become(self, child: Child) -> str:
        if self.refusal:
            raise ResourceFailure(self.refusal)
        self.asked.append(child)
        self.action, self.status = ("UPDATE" if self.action else "CREATE"), "IN_PROGRESS"
        return str(len(self.asked))

    def adopt(self, child: Child, entries: Mapping[str, Any]) -> str:
        self.asked.append(child)
        self.action, self.status = "ADOPT", "IN_PROGRESS"
        return str(len(self.asked))

    def take_snapshot(self) -> tuple[str, str]:
        self.action, self.status = "SNAPSHOT", "IN_PROGRESS"
        return str(len(self.asked)), "snapshot"

    def has_snapshot(self, snapshot_id: str) -> bool:
        return snapshot_id == "snapshot"

    def restore(self, child: Child, snapshot_id: str) -> str:
        self.asked.append(child)
        self.action, self.status = "RESTORE", "IN_PROGRESS"
        return str(len(self.asked))

    def operate(self, action: str) -> str:
        self.action, self.status = action, "IN_PROGRESS"
        return str(len(self.asked))

    def delete(self) -> str | None:
        self.action, self.status = "DELETE", "IN_PROGRESS"
        return "deletion"

    def release(self) -> None:
        raise AssertionError("nobody asked for that")

    def members(self) -> Sequence[Member]:
        return [
            Member(
                name=name,
                type=str(definition["type"]),
                uuid=f"uuid-{name}",
                action="CREATE",
                status="FAILED" if name in self.failed else "COMPLETE",
                physical_id=f"id-{name}",
                reference_id=f"ref-{name}",
                attributes={path[1:]: self.says(name, path[1:]) for path in self.asks if path[0] == name},
                created_at=1.0,
            )
            for name, definition in self.resources.items()
        ]

    def outputs(self) -> Mapping[str, Any]:
        return self._outputs

    def is_secret(self, path: AttributePath) -> bool:
        return False

    def output(self, name: str) -> Any:
        return self._outputs.get(name)

    @property
    def asks(self) -> tuple[AttributePath, ...]:
        return self.asked[-1].asks if self.asked else ()

    @staticmethod
    def says(name: str, path: AttributePath) -> str:
        return f"{'/'.join(map(str, path))} of {name}"

    # -- what a test says --------------------------------------------------------------------------------------

    def wanted(self) -> dict[str, Mapping[str, Any]]:
        """Return the resources that were asked for last."""
        template = self.asked[-1].template
        assert isinstance(template, Mapping)
        return dict(template["resources"])

    def succeed(self) -> dict[str, Mapping[str, Any]]:
        """End the operation under way well, and return the resources there are then."""
        self.status, self.resources, self.failed = "COMPLETE", self.wanted(), set()
        return self.resources

    def fail(self, *names: str, reason: str = "no luck") -> None:
        """End the operation under way: the members ``names`` failed."""
        self.status, self.reason, self.resources = "FAILED", reason, self.wanted()
        self.failed = set(names)


def make_stack(
    kind: type[S],
    child: FakeChild,
    properties: Mapping[str, Any],
    *,
    wanted: Sequence[AttributePath] = (),
    update_policy: Mapping[str, Any] | None = None,
    state: ResourceState | None = None,
    now: float = STARTED,
) -> S:
    """Return a resource of a type that is a stack, as the engine makes it for a step."""
    resource = make(kind, properties, state=state, now=now)
    resource.stacks, resource.wanted = child, wanted
    resource.update_policy = convert_properties(kind.update_policy_schema, update_policy or {})
    return resource
