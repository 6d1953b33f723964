"""Regular expressions of templates, matched within bounds: a hostile one would otherwise take years."""

from typing import Final

from hooks.values.dataclass import dataclass
from orchestrator.config.limits import Limits
from orchestrator.plugins.constraints import AllowedPattern, CannotEvaluate, shown
from orchestrator.sandbox.budget import too_long
from orchestrator.sandbox.child import TOO_DEEP, TOO_MUCH_MEMORY, Fault
from orchestrator.sandbox.process import TOO_LATE, USED_UP, Sandbox
from orchestrator.template.pattern_matching import SYNTAX

# A process with Python's own expressions, and not a library with timeouts: compiling alone may take years or all
# memory, and no other library agrees with Python on every pattern.
_SANDBOX: Final = Sandbox("orchestrator.template.pattern_matching")


@dataclass(frozen=True)
class BoundedPattern(AllowedPattern):
    """A text matches a regular expression (Python's) as a whole, within ``limits``.

    Raises:
        ValueError: the pattern is no regular expression, or compiling it exceeds the limits.
        Unavailable: the process that compiles it cannot be started.
    """

    limits: Limits

    def compile(self) -> None:
        """Check that the pattern is a regular expression.

        Raises:
            ValueError: it is none.
        """
        try:
            self._ask({"pattern": self.pattern})
        except CannotEvaluate as error:
            raise ValueError(str(error)) from None

    def matches(self, text: str) -> bool:
        """Return whether the whole of ``text`` matches.

        Raises:
            CannotEvaluate: matching exceeds the limits.
        """
        return bool(self._ask({"pattern": self.pattern, "text": text}))

    def _ask(self, question: dict[str, str]) -> object:
        limits = self.limits
        try:
            return _SANDBOX.ask(question, seconds=limits.pattern_seconds, memory_mib=limits.yaql_memory_mib)
        except Fault as fault:
            raise CannotEvaluate(self._sentence(fault)) from None

    def _sentence(self, fault: Fault) -> str:
        pattern, limits = f"the pattern {shown(self.pattern)}", self.limits
        if fault.kind == SYNTAX:
            return f"{pattern} is no regular expression: {fault.detail}"
        if fault.kind == TOO_LATE:
            return f"{pattern} took longer than {limits.pattern_seconds:g} seconds (setting pattern_seconds)"
        if fault.kind == USED_UP:
            return f"{too_long(limits.evaluation_seconds)} (setting evaluation_seconds)"
        if fault.kind == TOO_MUCH_MEMORY:
            return (
                f"{pattern} needs more than {limits.yaql_memory_mib} MiB of memory (setting yaql_memory_mib)"
            )
        if fault.kind == TOO_DEEP:
            return f"{pattern} is nested too deep"
        return f"{pattern} could not be matched"
