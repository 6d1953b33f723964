"""Reading of a template's parts with a fixed shape; all problems are gathered."""

from collections.abc import Collection, Mapping

from hooks.values.nearest import Nearest
from orchestrator.errors import Problem
from orchestrator.template.dialects import dialect_of
from orchestrator.template.document import Path, Positions
from orchestrator.template.functions.base import kind_of
from orchestrator.template.versions import TemplateVersion


class SectionReader:
    """The state that the readers of all sections share: version, positions, and the problems found."""

    def __init__(self, version: TemplateVersion, positions: Positions, problems: list[Problem]) -> None:
        self.version, self.positions, self.problems = version, positions, problems
        self.dialect = dialect_of(version)
        self.nearest = Nearest()

    def fault(self, path: Path, message: str, hint: str = "") -> None:
        """Record a problem at ``path``."""
        self.problems.append(self.positions.problem(path, message, hint))

    def as_map(self, raw: object, path: Path, what: str) -> dict[str, object]:
        """Return a map unchanged, an empty map for null; for anything else, too, after recording a problem."""
        if raw is None:
            return {}
        if isinstance(raw, dict):
            return raw
        self.fault(path, f"expected {what}, a map, found {kind_of(raw)}")
        return {}

    def as_text(self, raw: object, path: Path) -> str:
        """Return a text unchanged, an empty text for null, a number as text; for anything else, record a problem."""
        if raw is None:
            return ""
        if isinstance(raw, (str, int, float)):
            return str(raw)
        self.fault(path, f"expected text, found {kind_of(raw)}")
        return ""

    def check_keys(
        self,
        raw: Mapping[str, object],
        path: Path,
        *,
        known: Collection[str],
        later: Mapping[str, TemplateVersion] | None = None,
    ) -> None:
        """Record a problem for each key that is not ``known``.

        ``later`` are keys that the version does not have yet, with the version that introduces them.
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
