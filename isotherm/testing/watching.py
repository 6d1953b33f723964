"""Stands before and after each call of a resource type: counts them, lets the process die there, makes them twice."""

from collections.abc import Callable
from functools import wraps
from typing import Any, Final

from orchestrator.plugins.resource import Resource

#: Calls that do nothing to the world by themselves, or come from elsewhere than the engine's steps.
_APART: Final = frozenset({"handle_signal", "handle_delete_snapshot"})
#: Calls that are not repeated: what was made is looked for by ``find``, and a snapshot is another one.
_ONCE: Final = frozenset({"handle_create", "handle_adopt", "handle_snapshot"})
_STEPS: Final = tuple(
    name
    for name in dir(Resource)
    if name in ("find", "resume_create", "observe", "attribute", "prepare_for_replace")
    or (name.startswith("handle_") and name not in _APART)
    or (name.startswith("check_") and name.endswith("_complete"))
)


class Crash(BaseException):
    """The process dies here."""


class Watch:
    """What a type's calls pass."""

    def __init__(self) -> None:
        #: The calls that passed, each twice: ``before handle_create``, ``after handle_create``.
        self.passed: list[str] = []
        #: Whether calls that may come twice do.
        self.twice = False
        #: The physical ids that creates of each row came to.
        self.made: dict[str, set[str]] = {}
        #: The resource that was called last.
        self.last: Resource | None = None
        self.crashed = ""
        self._crash_at: int | None = None

    def crash_after(self, calls: int) -> None:
        """Let the process die at so many instants from now; none is left over from before."""
        self.crashed, self._crash_at = "", len(self.passed) + calls

    def disarm(self) -> None:
        """Let no process die any more."""
        self._crash_at = None

    def instant(self, words: str) -> None:
        """Pass an instant at which a process may die."""
        self.passed.append(words)
        if self._crash_at is not None and len(self.passed) > self._crash_at:
            self._crash_at, self.crashed = None, words
            raise Crash(words)

    def over(self, kind: type[Resource]) -> type[Resource]:
        """Return a type that is another, watched: of what it does not say itself, nothing is."""
        own = [name for name in _STEPS if getattr(kind, name) is not getattr(Resource, name)]
        members: dict[str, Any] = {name: self._step(name, getattr(kind, name)) for name in own}
        members |= {"__module__": kind.__module__, "__qualname__": kind.__qualname__, "__doc__": kind.__doc__}
        return type(kind.__name__, (kind,), members)

    def _step(self, name: str, method: Callable[..., Any]) -> Callable[..., Any]:
        @wraps(method)
        def step(resource: Resource, *arguments: Any) -> Any:
            self.last = resource
            self.instant(f"before {name}")
            answer = method(resource, *arguments)
            if name == "handle_create" and resource.state.physical_id is not None:
                self.made.setdefault(resource.state.uuid, set()).add(resource.state.physical_id)
            if self.twice and name.startswith("handle_") and name not in _ONCE:
                answer = method(resource, *arguments)
            if self.twice and name.startswith("check_") and answer is True:
                again = method(resource, *arguments)
                assert again is True, f"{name} was asked again after it was complete, and returned {again!r}"
            self.instant(f"after {name}")
            return answer

        return step
