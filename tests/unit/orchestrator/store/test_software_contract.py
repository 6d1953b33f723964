"""What every store promises about software configs and deployments: whose they are, their order, and what stays."""

from collections.abc import Callable
from typing import Any

import pytest
import sqlalchemy as sa

from orchestrator.errors import Conflict, NotFound
from orchestrator.model.project_limits import SOFTWARE
from orchestrator.store import tables
from orchestrator.store.installation.software import Software
from tests.unit.orchestrator.store.conftest import Bench
from tests.unit.orchestrator.store.test_project_limits_contract import AT_ONCE, refused_at_once

SECRET = "plum-4711"


def add_config(
    bench: Bench, config_id: str, *, name: str = "web", project: str = "p", most: int | None = None
) -> None:
    content = {
        "config": SECRET,
        "inputs": [{"name": "who", "default": SECRET}],
        "outputs": [],
        "options": {"a": 1},
    }
    bench.store.software.add_config(
        config_id, project, {"name": name, "group": "script", **content}, limits={SOFTWARE: most}
    )


def add_deployment(
    bench: Bench, deployment_id: str, config_id: str, *, project: str = "p", **given: Any
) -> None:
    fields = {"config_id": config_id, "server_id": "s", **given}
    bench.store.software.add_deployment(deployment_id, project, fields)


def test_config_is_as_it_was_given_and_listed_without_its_content(bench: Bench) -> None:
    add_config(bench, "c1")
    found = bench.store.software.config("c1", "p")
    assert (found.id, found.name, found.group, found.created_at) == ("c1", "web", "script", bench.clock.now)
    assert (found.config, found.inputs, found.outputs, found.options) == (
        SECRET,
        [{"name": "who", "default": SECRET}],
        [],
        {"a": 1},
    )
    (item,) = bench.store.software.configs("p")
    assert item.to_dict().keys() == {"id", "name", "group", "created_at"}


def test_configs_are_listed_in_parts_the_newest_first(bench: Bench) -> None:
    for each in "cab":
        add_config(bench, each)
    bench.clock.pass_(1)
    add_config(bench, "0")
    add_config(bench, "z", project="q")
    software, whole = bench.store.software, ["0", "c", "b", "a"]
    assert [each.id for each in software.configs("p")] == whole
    parts, after = [], ""
    while part := software.configs("p", after=after, limit=3):
        parts.append([each.id for each in part])
        after = parts[-1][-1]
    assert parts == [whole[:3], whole[3:]]
    with pytest.raises(NotFound, match="'z'"):
        software.configs("p", after="z")


def test_config_stays_while_a_deployment_uses_it(bench: Bench) -> None:
    software = bench.store.software
    add_config(bench, "c1")
    add_config(bench, "c2")
    add_deployment(bench, "d", "c1")
    with pytest.raises(Conflict, match="used by the deployment 'd'"):
        software.delete_config("c1", "p")
    software.change_deployment("d", "p", {"config_id": "c2"})
    software.delete_config("c1", "p")
    with pytest.raises(Conflict):
        software.delete_config("c2", "p")
    software.delete_deployment("d", "p")
    software.delete_config("c2", "p")
    assert software.configs("p") == []


def test_config_is_not_deleted_while_deployments_to_it_are_made(bench: Bench) -> None:
    add_config(bench, "c")

    def act(number: int) -> None:
        try:
            if number:
                add_deployment(bench, f"d{number}", "c")
            else:
                bench.store.software.delete_config("c", "p")
        except NotFound as error:
            raise Conflict("it was deleted first") from error

    refused = refused_at_once(act)
    is_kept = bool(bench.store.software.configs("p"))
    made = len(bench.store.software.deployments("p"))
    assert (made > 0) == is_kept
    assert refused == (AT_ONCE - made if is_kept else AT_ONCE - 1)


def test_deployment_changes_where_it_is_told_to(bench: Bench) -> None:
    software = bench.store.software
    add_config(bench, "c")
    add_deployment(bench, "d", "c", action="CREATE", status="IN_PROGRESS", input_values={"who": SECRET})
    before = software.deployment("d", "p")
    assert (before.output_values, before.status_reason, before.updated_at) == ({}, "", None)
    bench.clock.pass_(1)
    software.change_deployment(
        "d", "p", {"status": "FAILED", "status_reason": SECRET, "output_values": {"x": [1]}}
    )
    after = software.deployment("d", "p")
    assert (after.action, after.status, after.status_reason) == ("CREATE", "FAILED", SECRET)
    assert (after.input_values, after.output_values) == ({"who": SECRET}, {"x": [1]})
    assert (after.created_at, after.updated_at) == (before.created_at, bench.clock.now)


def test_server_has_its_configs_by_name(bench: Bench) -> None:
    for name in ("b", "a", "c"):
        add_config(bench, f"c-{name}", name=name)
        bench.clock.pass_(1)
        add_deployment(bench, f"d-{name}", f"c-{name}", server_id="t" if name == "c" else "s")
    add_config(bench, "theirs", project="q")
    add_deployment(bench, "d-theirs", "theirs", project="q")
    software = bench.store.software
    assert [(each.id, config.id) for each, config in software.deployed("p", "s")] == [
        ("d-a", "c-a"),
        ("d-b", "c-b"),
    ]
    assert software.deployed("p", "none") == []
    assert [each.id for each in software.deployments("p")] == ["d-b", "d-a", "d-c"]
    assert [each.id for each in software.deployments("p", server_id="t")] == ["d-c"]


OTHERS: dict[str, Callable[[Software, Bench], object]] = {
    "config": lambda software, _: software.config("c", "q"),
    "delete_config": lambda software, _: software.delete_config("c", "q"),
    "deployment": lambda software, _: software.deployment("d", "q"),
    "delete_deployment": lambda software, _: software.delete_deployment("d", "q"),
    "change_deployment": lambda software, _: software.change_deployment("d", "q", {"status": "x"}),
    "deploy": lambda _, bench: add_deployment(bench, "e", "c", project="q"),
    "redeploy": lambda software, _: software.change_deployment("f", "q", {"config_id": "c"}),
}


@pytest.mark.parametrize("what", OTHERS)
def test_what_another_project_has_is_not_there(bench: Bench, what: str) -> None:
    software = bench.store.software
    add_config(bench, "c")
    add_deployment(bench, "d", "c")
    add_config(bench, "own", project="q")
    add_deployment(bench, "f", "own", project="q")
    before = software.deployment("d", "p")
    with pytest.raises(NotFound, match="there is no software"):
        OTHERS[what](software, bench)
    assert software.deployment("d", "p") == before
    assert software.config("c", "p")
    assert [each.id for each in software.configs("q")] == ["own"]
    assert [each.id for each in software.deployments("q")] == ["f"]


def test_project_has_no_more_than_it_may(bench: Bench) -> None:
    assert refused_at_once(lambda number: add_config(bench, f"c{number}", most=3)) == AT_ONCE - 3
    (config, *_) = bench.store.software.configs("p")
    with pytest.raises(Conflict, match="'software': project 'p' may have 3 software configs and deployments"):
        bench.store.software.add_deployment(
            "d", "p", {"config_id": config.id, "server_id": "s"}, limits={SOFTWARE: 3}
        )
    assert bench.store.project_limits.used("p")[SOFTWARE] == 3
    add_config(bench, "theirs", project="q", most=3)


@pytest.mark.parametrize("bench", ["sqlite-encrypted"], indirect=True)
def test_nothing_in_them_is_readable_in_an_encrypted_database(bench: Bench) -> None:
    add_config(bench, "c")
    add_deployment(bench, "d", "c", input_values={"who": SECRET}, output_values={"x": SECRET})
    bench.store.software.change_deployment("d", "p", {"status_reason": SECRET})
    for table in (tables.software_config, tables.software_deployment):
        columns = ", ".join(column.name for column in table.c)
        for row in bench.store.database.rows(sa.text(f"SELECT {columns} FROM {table.name}")):
            assert SECRET not in repr(tuple(row))
