"""Read parts of a template that have a fixed shape, and gather everything that is wrong with them."""

from collections.abc import Collection, Mapping
from typing import Any

from hooks.values.nearest import Nearest
from orchestrator.errors import Problem
from orchestrator.template.dialects import dialect_of
from orchestrator.template.document import Path, Positions
from orchestrator.template.functions.base import kind_of
from orchestrator.template.versions import TemplateVersion


class SectionReader:
    """What the readers of all sections share: the version, the positions, and the problems found."""

    def __init__(self, version: TemplateVersion, positions: Positions, problems: list[Problem]) -> None:
        self.version, self.positions, self.problems = version, positions, problems
        self.dialect = dialect_of(version)
        self.nearest = Nearest()

    def fault(self, path: Path, message: str, hint: str = "") -> None:
        """Take down a problem with what stands at ``path``."""
        self.problems.append(self.positions.problem(path, message, hint))

    def as_map(self, raw: Any, path: Path, what: str) -> dict[str, Any]:
        """Return a map as it is, an empty one for null, and for anything else after taking down a problem."""
        if raw is None:
            return {}
        if isinstance(raw, dict):
            return raw
        self.fault(path, f"expected {what}, a map, found {kind_of(raw)}")
        return {}

    def as_text(self, raw: Any, path: Path) -> str:
        """Return a text as it is, an empty one for null, a number in words; else take down a problem."""
        if raw is None:
            return ""
        if isinstance(raw, (str, int, float)):
            return str(raw)
        self.fault(path, f"expected text, found {kind_of(raw)}")
        return ""

    def check_keys(
        self,
        raw: Mapping[str, Any],
        path: Path,
        *,
        known: Collection[str],
        later: Mapping[str, TemplateVersion] | None = None,
    ) -> None:
        """Take down a problem for each key that is not ``known``.

        ``later`` are keys that the version does not have yet, with the version that brings them.
        """
        for key in raw:
            if key in known:
                continue
            since = (later or {}).get(key)
            if since is not None:
                self.fault((*path, key), f"{key!r} needs heat_template_version {since} or later")
            else:
                hint = self.nearest.hint(key, known, f"expected one of: {', '.join(known)}")
                self.fault((*path, key), f"there is no key {key!r} here", hint)
