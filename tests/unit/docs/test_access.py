"""The page about roles is the one that the policy makes."""

import runpy

from orchestrator.model.policy import Policy
from tests.unit.docs.pages import ROOT, blocks

PAGE = ROOT / "docs" / "access.md"


def test_page_is_the_one_that_the_policy_makes() -> None:
    made = runpy.run_path(str(ROOT / "docs" / "make_access.py"))["page"]()
    assert made == PAGE.read_text(), "run: PYTHONPATH=. .venv/bin/python docs/make_access.py"


def test_example_of_a_policy_is_one() -> None:
    (example,) = [block.text for block in blocks(PAGE) if "stack.delete" in block.text]
    assert Policy.of(dict(line.split(": ") for line in example.splitlines()), file="policy.yaml").overrides
