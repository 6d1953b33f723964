"""Write ``docs/settings.md`` from the settings themselves: ``python docs/make_settings.py``."""

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any, TypeGuard, get_args

import annotated_types
from pydantic import BaseModel
from pydantic.fields import FieldInfo

from orchestrator.config.problems import variable_of
from orchestrator.config.settings import Settings

PAGE = Path(__file__).with_name("settings.md")

INTRODUCTION = """\
# Settings

<!-- Written by docs/make_settings.py from orchestrator/config/settings.py: change it there. -->

Each setting has a name in `isotherm.toml` (in the working directory, or the file of `ISOTHERM_CONFIG`, which must
exist then) and a variable, which takes precedence. Unknown names in the file are refused; `isotherm doctor` reports
misspelt variables.
In a variable a list is written as JSON: `ISOTHERM_NODE_DIRECTORIES='["/srv/a", "/srv/b"]'`.
A setting with dots in its name is in a table of the file: `constraint_cache.enabled` is `enabled` below
`[constraint_cache]`. NAME stands for any name of its kind.
Every setting has a default; with the defaults, `isotherm` does all work in one process.

| Setting | Variable | Default | Meaning |
|---|---|---|---|
"""

#: Defaults that are found out at start-up.
FOUND_OUT = {"state_directory": "`$XDG_STATE_HOME/isotherm`, or `~/.local/state/isotherm`"}


def page() -> str:
    """Return the page's text."""
    return INTRODUCTION + "".join(_row(path, field) for path, field in leaves(Settings))


def leaves(model: type[BaseModel], *path: str) -> Iterator[tuple[tuple[str, ...], FieldInfo]]:
    """Yield each setting with its path; those of models in models instead of these themselves."""
    for name, field in model.model_fields.items():
        arguments = [argument for argument in get_args(field.annotation) if _is_model(argument)]
        if _is_model(field.annotation):
            yield from leaves(field.annotation, *path, name)
        elif arguments:
            yield from leaves(arguments[0], *path, name, "NAME")
        else:
            yield (*path, name), field


def _is_model(kind: Any) -> TypeGuard[type[BaseModel]]:
    return isinstance(kind, type) and issubclass(kind, BaseModel)


def _row(path: tuple[str, ...], field: FieldInfo) -> str:
    meaning = " ".join([field.description or "", *_limits(field)])
    name, variable = ".".join(path), variable_of(path)
    cells = [f"`{name}`", f"`{variable}`", _default(name, field), meaning.replace("|", r"\|")]
    return f"| {' | '.join(cells)} |\n"


def _default(name: str, field: FieldInfo) -> str:
    if field.default_factory:
        return FOUND_OUT[name]
    default: Any = field.default
    if default is None:
        return "as for all" if ".NAME." in name else "empty"
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
