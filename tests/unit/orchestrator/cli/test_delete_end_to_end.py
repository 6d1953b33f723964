"""Deletions by the command line on the real service: what they would do, and several at once."""

import json
from pathlib import Path
from typing import Any

import pytest

from tests.unit.orchestrator.cli.commands import TEMPLATE, run

KEPT = TEMPLATE.replace(
    "  second:\n    type: OS::Heat::TestResource\n",
    "  second:\n    type: OS::Heat::TestResource\n    deletion_policy: Retain\n",
)


@pytest.fixture(autouse=True)
def stacks(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Make two stacks, one of which keeps a resource, in a state directory of their own."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("ISOTHERM_STATE_DIRECTORY", str(tmp_path / "state"))
    for name in ("ISOTHERM_BROKER_URL", "ISOTHERM_DATABASE_URL"):
        monkeypatch.delenv(name, raising=False)
    for name, text in (("web", KEPT), ("shop", TEMPLATE)):
        (tmp_path / "template.yaml").write_text(text)
        assert run("stack", "create", name, "-t", "template.yaml").exit_code == 0


def states() -> dict[str, str]:
    return {each["name"]: each["state"] for each in json.loads(run("stack", "list", "-f", "json").stdout)}


def planned(*words: str) -> Any:
    done = run("stack", "delete", *words, "--dry-run", "-f", "json")
    assert done.exit_code == 0, done.output
    return json.loads(done.stdout)


def test_a_dry_run_shows_the_order_what_is_kept_and_what_is_refused() -> None:
    plan = planned("web")
    assert [(each["name"], each["action"], each["after"]) for each in plan["resources"]] == [
        ("second", "DELETE", []),
        ("first", "DELETE", ["second"]),
    ]
    assert "its deletion policy is Retain" in plan["resources"][0]["reason"]
    run("stack", "protect", "web", "first")
    assert planned("web")["counts"] == {"DELETE": 1, "REFUSE": 1}
    assert planned("web", "--unprotect")["counts"] == {"DELETE": 2}
    assert [each["name"] for each in planned("web", "shop")] == ["web", "shop"]
    table = run("stack", "delete", "web", "shop", "--dry-run", "--exit-code")
    assert table.exit_code == 4
    assert "1 to delete, 1 refused" in table.stdout
    run("stack", "protect", "shop")
    warned = run("stack", "delete", "shop", "--dry-run")
    assert "stack 'shop' is protected: its deletion will be refused" in warned.stderr
    assert states() == {"web": "CREATE_COMPLETE", "shop": "CREATE_COMPLETE"}


def test_an_update_that_drops_a_resource_shows_what_its_deletion_policy_keeps(tmp_path: Path) -> None:
    (tmp_path / "first.yaml").write_text(TEMPLATE.partition("  second:")[0])
    done = run("stack", "update", "web", "-t", "first.yaml", "--dry-run", "-f", "json")
    (dropped,) = [each for each in json.loads(done.stdout)["resources"] if each["name"] == "second"]
    assert (dropped["action"], "its deletion policy is Retain" in dropped["reason"]) == ("DELETE", True)


def test_an_unknown_name_among_several_keeps_all_from_being_deleted() -> None:
    assert run("stack", "delete", "web", "shap", "--yes").exit_code == 2
    assert states() == {"web": "CREATE_COMPLETE", "shop": "CREATE_COMPLETE"}


def test_several_are_deleted_and_each_is_reported_also_where_one_is_refused() -> None:
    run("stack", "protect", "web")
    done = run("stack", "delete", "web", "shop", "web", "--yes", "-f", "json")
    assert done.exit_code == 2
    assert "stack 'web' is protected" in done.stderr
    reported = json.loads(done.stdout)
    assert [(each["name"], each["state"], bool(each["refused"])) for each in reported] == [
        ("web", "CREATE_COMPLETE", True),
        ("shop", "DELETE_COMPLETE", False),
    ]
    assert states() == {"web": "CREATE_COMPLETE"}
    run("stack", "create", "shop", "-t", "template.yaml")
    done = run("stack", "delete", "web", "shop", "--yes", "--unprotect")
    assert done.exit_code == 0, done.output
    assert done.stdout.count("DELETE_COMPLETE") == 2
    assert states() == {}


def test_lists_are_filtered_sorted_and_cut() -> None:
    def listed(*words: str) -> list[str]:
        done = run("stack", "list", *words, "-f", "json")
        assert done.exit_code == 0, done.output
        return [each["name"] for each in json.loads(done.stdout)]

    assert listed() == ["web", "shop"]
    assert listed("--sort", "name") == ["shop", "web"]
    assert listed("--reverse", "--limit", "1") == ["shop"]
    assert listed("--name", "w*", "--state", "complete", "--newer-than", "1h") == ["web"]
    assert listed("--state", "FAILED") == listed("--older-than", "1h") == []
    refused = run("stack", "list", "--state", "CRETE_COMPLETE")
    assert refused.exit_code == 2
    assert "did you mean 'CREATE_COMPLETE'?" in refused.stderr


def test_a_plan_lists_what_is_in_nested_stacks_but_for_those_that_stay(tmp_path: Path) -> None:
    (tmp_path / "kept.yaml").write_text(KEPT)
    (tmp_path / "middle.yaml").write_text(
        "heat_template_version: 2021-04-16\n"
        "resources:\n"
        "  inner: {type: kept.yaml}\n"
        "  spared: {type: kept.yaml, deletion_policy: Retain}\n"
    )
    (tmp_path / "outer.yaml").write_text(
        "heat_template_version: 2021-04-16\n"
        "resources:\n"
        "  middle: {type: middle.yaml}\n"
        "  last: {type: OS::Heat::TestResource, depends_on: middle}\n"
    )
    assert run("stack", "create", "outer", "-t", "outer.yaml").exit_code == 0
    resources = {each["name"]: each for each in planned("outer")["resources"]}
    assert {name: each["after"] for name, each in resources.items()} == {
        "last": [],
        "middle": ["last"],
        "middle/inner": [],
        "middle/inner/second": [],
        "middle/inner/first": ["middle/inner/second"],
        "middle/spared": [],
    }
    assert list(resources)[:2] == ["last", "middle"]
    kept = {name for name, each in resources.items() if "its deletion policy is Retain" in each["reason"]}
    assert kept == {"middle/inner/second", "middle/spared"}
    assert {each["action"] for each in resources.values()} == {"DELETE"}
    # The same of a deletion by an update.
    (tmp_path / "last.yaml").write_text(
        "heat_template_version: 2021-04-16\nresources: {last: {type: OS::Heat::TestResource}}\n"
    )
    done = run("stack", "plan", "outer", "-t", "last.yaml", "-f", "json")
    dropped = [each for each in json.loads(done.stdout)["resources"] if each["name"].startswith("middle/")]
    assert [(each["name"], each["after"], each["reason"]) for each in dropped] == [
        (name, each["after"], each["reason"])
        for name, each in resources.items()
        if name.startswith("middle/")
    ]

    nested = json.loads(run("stack", "list", "--nested", "-f", "json").stdout)
    inner = next(
        each for each in nested if each["name"].startswith("outer-middle-") and "inner" in each["name"]
    )
    assert run("stack", "protect", inner["name"], "first").exit_code == 0
    assert {each["name"]: each["action"] for each in planned("outer")["resources"]} == {
        "last": "DELETE",
        "middle": "REFUSE",
    }
    filed = ("stack", "plan", "outer", "--delete", "--unprotect", "-o", "delete.plan")
    assert run(*filed).exit_code == 0
    applied = run("stack", "apply", "delete.plan")
    assert applied.exit_code == 0, applied.output
    # What stays of a nested stack is a stack now.
    (spared,) = [
        each for each in json.loads(run("stack", "list", "-f", "json").stdout) if "outer" in each["name"]
    ]
    assert "spared" in spared["name"]
