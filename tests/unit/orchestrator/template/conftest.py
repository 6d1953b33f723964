"""Templates in few lines."""

from collections.abc import Callable, Mapping
from typing import Any

import pytest

from orchestrator.config.limits import Limits
from orchestrator.errors import InvalidInput, Problem
from orchestrator.template.template import Template

LATEST = "2021-04-16"

#: Makes a template of its text after the version, or tells what is wrong with it.
Parse = Callable[..., Template]
ProblemsOf = Callable[..., list[Problem]]


def parse_template(
    body: str = "", *, version: str = LATEST, files: Mapping[str, str] | None = None, **limits: Any
) -> Template:
    source = f"heat_template_version: {version}\n{body}"
    return Template.parse(source, file="t.yaml", files=files or {}, limits=Limits(**limits))


def problems_of_template(body: str = "", **options: Any) -> list[Problem]:
    with pytest.raises(InvalidInput) as caught:
        parse_template(body, **options)
    return list(caught.value.problems)


@pytest.fixture(name="parse")
def _parse() -> Parse:
    return parse_template


@pytest.fixture(name="problems_of")
def _problems_of() -> ProblemsOf:
    return problems_of_template
