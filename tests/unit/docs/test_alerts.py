"""The alert rules for Prometheus: on metrics that there are, described, and firing where they should."""

import re
import shutil
import subprocess
from pathlib import Path
from typing import Any

import pytest
import yaml

from tests.services.fixtures import or_skip
from tests.services.process import MissingServer
from tests.unit.orchestrator.dashboard.test_metrics import ADDED, known_samples, selectors

DOCS = Path(__file__).parents[3] / "docs"
RULES: list[dict[str, Any]] = [
    rule for group in yaml.safe_load((DOCS / "alerts.yaml").read_text())["groups"] for rule in group["rules"]
]
CASES = Path(__file__).with_name("alerts_test.yaml")
NAMES = [rule["alert"] for rule in RULES]


def promtool() -> str:
    """Return the path of the tool.

    Raises:
        MissingServer: it is not installed.
    """
    found = shutil.which("promtool")
    if found is None:
        raise MissingServer("promtool not found: run .ci/servers, or apt-get install prometheus")
    return found


def test_prometheus_takes_the_rules_and_fires_them_where_they_should() -> None:
    done = subprocess.run(
        [or_skip(promtool), "test", "rules", str(CASES)], capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stdout + done.stderr


def test_each_rule_is_seen_to_fire_and_to_be_quiet() -> None:
    cases = [case for test in yaml.safe_load(CASES.read_text())["tests"] for case in test["alert_rule_test"]]
    assert {case["alertname"] for case in cases if case.get("exp_alerts")} == set(NAMES)
    assert {case["alertname"] for case in cases if not case.get("exp_alerts")} == set(NAMES)


@pytest.mark.parametrize("rule", RULES, ids=NAMES)
def test_a_rule_is_about_metrics_that_there_are(rule: dict[str, Any]) -> None:
    known = known_samples()
    for name, labels in selectors(rule["expr"]):
        assert name in known
        assert labels <= known[name] | ADDED
    # What a description names of a series must be left of it.
    used = set(re.findall(r"\$labels\.(\w+)", str(rule["annotations"])))
    assert used <= set.union(*(known[name] for name, _ in selectors(rule["expr"])))
    assert set(rule["annotations"]) == {"summary", "description"}
    assert rule["labels"]["severity"] in {"critical", "warning", "info"}


def test_the_manual_says_what_to_do_about_each_alert() -> None:
    page = (DOCS / "operations.md").read_text()
    assert re.findall(r"^\| `(Isotherm\w+)` \|", page, re.MULTILINE) == NAMES
