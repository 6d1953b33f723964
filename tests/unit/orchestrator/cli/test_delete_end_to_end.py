"""Deletions by the command line on the real service: what they would do, and several at once."""

import json
from pathlib import Path
from typing import Any

import pytest

from tests.unit.orchestrator.cli.test_end_to_end import TEMPLATE, run

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
