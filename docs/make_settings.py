"""Write ``docs/settings.md`` from the settings themselves: ``python docs/make_settings.py``."""

import json
from pathlib import Path
from typing import Any

import annotated_types
from pydantic.fields import FieldInfo

from orchestrator.settings import Settings

PAGE = Path(__file__).with_name("settings.md")

INTRODUCTION = """\
# Settings

<!-- Written by docs/make_settings.py from orchestrator/settings.py: change it there. -->

Each setting has a name in `isotherm.toml` (in the working directory, or where `ISOTHERM_CONFIG` points) and a
variable, which wins. In a variable a list is written as JSON: `ISOTHERM_NODE_DIRECTORIES='["/srv/a", "/srv/b"]'`.
Everything has a default; with none of it set, `isotherm` works by itself in one process.

| Setting | Variable | Default | Meaning |
|---|---|---|---|
"""

#: Defaults that are found out at start-up.
FOUND_OUT = {"state_directory": "`$XDG_STATE_HOME/isotherm`, or `~/.local/state/isotherm`"}


def page() -> str:
    """Return the page's text."""
    rows = [_row(name, field) for name, field in Settings.model_fields.items()]
    return INTRODUCTION + "".join(rows)


def _row(name: str, field: FieldInfo) -> str:
    meaning = " ".join([field.description or "", *_limits(field)])
    cells = [f"`{name}`", f"`ISOTHERM_{name.upper()}`", _default(name, field), meaning.replace("|", r"\|")]
    return f"| {' | '.join(cells)} |\n"


def _default(name: str, field: FieldInfo) -> str:
    if field.default_factory:
        return FOUND_OUT[name]
    default: Any = field.default
    if default in ("", ()):
        return "empty"
    return f"`{default if isinstance(default, str) else json.dumps(default)}`"


def _limits(field: FieldInfo) -> list[str]:
    sentences = []
    for limit in field.metadata:
        if isinstance(limit, annotated_types.Gt):
            sentences.append(f"More than {limit.gt}.")
        elif isinstance(limit, annotated_types.Ge):
            sentences.append(f"At least {limit.ge}.")
    return sentences


if __name__ == "__main__":
    PAGE.write_text(page())
