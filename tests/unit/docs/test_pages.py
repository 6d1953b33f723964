"""What the documentation says of the code is so: names of files, tables of fields, words in logs."""

import json
import re
import runpy
import tomllib
from dataclasses import MISSING, fields
from pathlib import Path
from typing import Any

import msgpack
import pytest

from cache.node_state.requests import SCHEMA_VERSION
from hooks.builtin.four_eyes import FourEyesOptions
from hooks.options import HookSettings
from orchestrator.config.limits import Limits
from orchestrator.config.settings import Settings
from orchestrator.definition import NodeData
from orchestrator.engine.job_errors import refusal_of
from orchestrator.errors import InvalidInput, NotFound, Problem
from orchestrator.model.check_batch import to_wire
from orchestrator.model.codec import Codec, plain
from orchestrator.model.messages import (
    CHECK_TASK,
    END,
    FINISH_TASK,
    JOBS,
    JOIN,
    NODE_TASK,
    OPERATE_JOBS,
    CancelJob,
    CheckOrder,
    DeleteJob,
    Job,
    SignalJob,
    StackJob,
)
from orchestrator.model.plan import FAN_IN, JOINS
from orchestrator.model.plan_binding import PlanBinding
from orchestrator.nodes.rpc.calls import OPERATION_RPC
from orchestrator.nodes.rpc.kombu_transport import mailbox_address
from orchestrator.nodes.rpc.mailbox import EXCHANGE
from orchestrator.nodes.rpc.messages import Reply, Request, node_queue
from orchestrator.queue.celery_app import ROUTES
from orchestrator.store import tables
from orchestrator.store.nodes.orders import MESSAGE_BYTES, MESSAGE_REQUIREMENTS
from orchestrator.store.repository import Timings
from orchestrator.store.traversals.sweeping import DOUBLINGS
from orchestrator.template.functions.description import describe_functions
from orchestrator.template.versions import VERSIONS
from orchestrator.views.plans import PlannedResource, PlanView
from tests.unit.docs.pages import PAGES, ROOT
from workers.check.checker import CARRY_ON, LINKS

DOCS = ROOT / "docs"
QUEUE, ENGINE, OPERATIONS, JOURNEY, LANGUAGE = (
    (DOCS / f"{name}.md").read_text() for name in ("queue", "engine", "operations", "journey", "language")
)
CODE = [
    path
    for package in ("isotherm", "orchestrator", "workers", "hooks", "cache")
    for path in (ROOT / package).rglob("*.py")
]


def section(page: str, heading: str) -> str:
    """Return what stands below a heading."""
    found = re.search(rf"^## {re.escape(heading)}\n(.*?)(?=^## |\Z)", page, flags=re.MULTILINE | re.DOTALL)
    assert found, f"there is no section {heading!r}"
    return found[1]


def table(text: str) -> list[list[str]]:
    """Return the cells of a table's rows, without its head."""
    rows = [line.strip("|").split("|") for line in text.splitlines() if line.startswith("|")]
    return [[cell.strip().strip("`") for cell in row] for row in rows[2:]]


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_every_file_that_a_page_names_exists(page: Path) -> None:
    named = re.findall(
        r"`((?:orchestrator|workers|hooks|cache|tests|docs|examples)/[\w./]+)`", page.read_text()
    )
    assert [name for name in named if not (ROOT / name).exists()] == []


@pytest.mark.parametrize("page", ["journey.md", "engine.md"])
def test_pages_for_developers_name_files(page: str) -> None:
    assert len(set(re.findall(r"`(\w+/[\w/]+\.py)`", (DOCS / page).read_text()))) >= 5


@pytest.mark.parametrize("page", ["journey.md", "engine.md"])
def test_every_function_that_a_page_names_exists(page: str) -> None:
    code = "\n".join(path.read_text() for path in CODE)
    for owner, name in re.findall(r"`([A-Z]\w+)\.(\w+)`", (DOCS / page).read_text()):
        assert re.search(rf"^class {owner}\b", code, flags=re.MULTILINE), f"{owner} in {page}"
        assert re.search(rf"^    def {name}\(", code, flags=re.MULTILINE), f"{owner}.{name} in {page}"


def test_every_boundary_names_tests_that_exist() -> None:
    named = re.findall(r"`(tests/[^`]+)`", (DOCS / "security.md").read_text())
    assert len(set(named)) > 20
    assert [each for each in named if not (DOCS.parent / each).exists()] == []


def test_the_journey_is_short() -> None:
    assert len(JOURNEY.split()) < 1100


def test_the_page_of_types_is_up_to_date() -> None:
    made = runpy.run_path(str(DOCS / "make_types.py"))["page"]()
    assert made == (DOCS / "types.md").read_text(), "out of date: run python docs/make_types.py"


def test_the_page_of_the_language_is_up_to_date() -> None:
    made = runpy.run_path(str(DOCS / "make_language.py"))["page"]()
    assert made == LANGUAGE, "out of date: run python docs/make_language.py"


def test_the_page_of_the_language_has_a_section_of_every_function_with_its_call_and_its_examples() -> None:
    declared = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]["entry-points"]
    sections = dict(
        re.findall(r"^### (\S+)\n(.*?)(?=^##|^<!--|\Z)", LANGUAGE, flags=re.MULTILINE | re.DOTALL)
    )
    assert sections.keys() == declared["isotherm.functions"].keys()
    for described in describe_functions():
        words = " ".join(sections[described.name].split())
        for call in described.calls:
            assert f"`{' '.join(call.split())}`" in words
        for example in described.examples:
            assert example.call in sections[described.name]
            assert f"# gives {json.dumps(example.result, ensure_ascii=False)}\n" in sections[described.name]


def test_the_page_of_the_language_parts_hot_from_cfn() -> None:
    hot, cfn = section(LANGUAGE, "Functions"), section(LANGUAGE, "Functions of CFN")
    assert not re.search(r"^### (Fn::|Ref|Condition)", hot, flags=re.MULTILINE)
    assert all(name in ("Ref", "Condition") or "::" in name for name in re.findall(r"^### (\S+)", cfn, re.M))


def test_the_page_of_the_language_has_every_version_of_hot() -> None:
    rows = table(section(LANGUAGE, "Versions"))
    named = [[name.strip("` ") for name in row[0].split(",")] for row in rows]
    assert named == [[name for name in (each.date, each.alias) if name] for each in VERSIONS]


def test_the_page_of_the_language_has_every_setting_that_bounds_a_template() -> None:
    class Asked:
        def __init__(self) -> None:
            self.names: list[str] = []

        def __getattr__(self, name: str) -> Any:
            self.names.append(name)
            return Settings.declared[name].default

    asked = Asked()
    Limits.of(asked)  # type: ignore[arg-type]  # it notes what is asked of it
    bounds = set(asked.names) - {"availability_zones"}
    assert {row[0] for row in table(section(LANGUAGE, "Limits"))} == bounds


def test_a_page_without_a_place_for_what_is_written_is_noticed() -> None:
    with_part = runpy.run_path(str(DOCS / "make_language.py"))["_with_part"]
    with pytest.raises(ValueError, match="no place for versions"):
        with_part("# A page\n", "versions", "| ... |\n")


def test_the_readme_counts_the_types_and_says_where_the_functions_are() -> None:
    points = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]["entry-points"]
    text = section((ROOT / "README.md").read_text(), "Limitations")
    counted = re.search(r"There are\s+(\d+) resource types", text)
    assert counted
    assert int(counted[1]) == len(points["isotherm.resources"])
    assert "(docs/language.md)" in text


# -- queue.md ------------------------------------------------------------------------------------------------


def test_tasks_travel_on_the_queues_of_the_table() -> None:
    rows = table(section(QUEUE, "Queues and tasks"))
    assert {task: queue for queue, task, *_ in rows} == {**ROUTES, NODE_TASK: node_queue("NAME")}
    arguments = {task: argument for _, task, argument, *_ in rows}
    assert {arguments[task] for task in JOBS} == {"job"}
    assert (arguments[CHECK_TASK], arguments[FINISH_TASK]) == ("orders", "order")


def test_fields_of_what_is_done_with_a_stack_as_it_is_are_those_of_the_table() -> None:
    rows = table(section(QUEUE, "The jobs of `stack.check`, `stack.suspend` and `stack.resume`"))
    for job in OPERATE_JOBS.values():
        assert {row[0] for row in rows} == {field.name for field in fields(job)}


@pytest.mark.parametrize("job", [StackJob, CancelJob, DeleteJob, SignalJob])
def test_fields_of_a_job_are_those_of_the_table(job: type[Job]) -> None:
    rows = table(section(QUEUE, f"The job of `{job.task}`"))
    assert {row[0] for row in rows} == {field.name for field in fields(job)}
    for field in fields(job):
        shown = next(row[2] for row in rows if row[0] == field.name)
        required = field.default is MISSING and field.default_factory is MISSING
        assert (shown == "required") == required
        if isinstance(field.default, str):
            assert shown == field.default


def test_a_check_is_the_list_that_the_table_says() -> None:
    rows = table(section(QUEUE, "A check"))
    own: dict[str, Any] = {name: f"<{name}>" for _, name, _ in rows} | {"node_data": (b"packed",)}
    order = CheckOrder(stack_id="<id>", traversal_id="<traversal>", stack="<name>", **own)
    assert to_wire((order,)) == ["<id>", "<traversal>", "<name>", [[*list(own.values())[:-1], [b"packed"]]]]
    assert f"more than {MESSAGE_REQUIREMENTS}" in section(QUEUE, "A check")
    assert f"more than {MESSAGE_BYTES // 1024} KiB" in section(QUEUE, "A check")


def test_requests_and_replies_of_nodes_are_those_of_the_tables() -> None:
    text = section(QUEUE, "Node RPCs")
    requests, replies = text.split("A reply is a map:")
    request = Request(id="", node="", rpc="", deadline=0.0)
    assert [row[0] for row in table(requests)] == list(request.to_wire())
    assert all(f"`{key}`" in requests for key in request.life(0.0))
    assert [row[0] for row in table(replies)] == [field.name for field in fields(Reply)]
    said = {EXCHANGE, mailbox_address("NAME"), node_queue("NAME"), NODE_TASK, OPERATION_RPC}
    assert said <= set(re.findall(r"`([^`]+)`", text))
    assert f"the version of this protocol: {SCHEMA_VERSION}" in text


def test_a_check_is_as_small_as_the_page_says() -> None:
    row = "2ee2bd34-a5d5-4f5c-a3ef-fd0a36e0fef8"
    data = NodeData(uuid=row, name="password", action="CREATE", status="COMPLETE", physical_id=row)
    packed = plain(data.to_wire())
    sizes = []
    for requirements in (0, 1, 2):
        order = CheckOrder(
            stack_id=row,
            traversal_id=row,
            no=1200,
            key="configuration",
            stack="site",
            action="CREATE",
            node_data=(packed,) * requirements,
        )
        options = {"callbacks": None, "errbacks": None, "chain": None, "chord": None}
        sizes.append(len(msgpack.packb([[], {"orders": to_wire((order,))}, options])))
    assert 130 <= sizes[0] <= 170
    assert 100 <= sizes[1] - sizes[0] <= 170
    assert sizes[2] - sizes[1] == sizes[1] - sizes[0]


def test_the_answer_has_the_columns_and_the_refusal_that_the_page_says() -> None:
    text = section(QUEUE, "The answer")
    columns = ["id", "status", "stack_id", "traversal_id", "refusal", "created_at", "user_name"]
    assert [row[0] for row in table(text)] == columns
    assert {row[0] for row in table(text)} == set(tables.job.c.keys())
    refused = plain(refusal_of(InvalidInput([Problem(message="no")])))
    assert refused[:1] == b"\x00"
    told = msgpack.unpackb(refused[1:])
    assert set(told) == {"kind", "problems"}
    assert set(told["problems"][0]) == {"message", "path", "position", "hint"}
    assert set(refusal_of(NotFound("gone"))) == {"kind", "message"}
    key = "aXNvdGhlcm1pc290aGVybWlzb3RoZXJtaXNvdGhlcm0="
    assert Codec([key]).pack(told, ("job", "refusal", "j"))[:1] == b"\x02"


# -- engine.md and operations.md -----------------------------------------------------------------------------


def test_numbers_of_the_engine_are_those_in_the_code() -> None:
    engine = " ".join(ENGINE.split())
    assert f"more than {FAN_IN} nodes meet in one" in engine
    assert f"up to {JOINS} **joins**" in engine
    assert f"up to {2**DOUBLINGS} times `redeliver_seconds`" in engine
    assert Timings().locked_seconds == 5
    assert "looks by itself every five seconds" in engine
    assert f"up to {CARRY_ON} times" in " ".join(JOURNEY.split())
    assert f"up to {CARRY_ON} times" in engine
    assert f"up to {(CARRY_ON - 1) * LINKS} times" in engine
    assert f"phase `{END}`" in engine
    assert f"phase `{JOIN}`" in engine


def test_states_of_a_node_are_those_in_the_code() -> None:
    code = "\n".join(path.read_text() for path in CODE)
    states = [row[0] for row in table(section(ENGINE, "A node's states"))]
    assert len(states) == 7
    assert [state for state in states if not re.search(rf"""["']{state}["']""", code)] == []


def test_settings_that_pages_speak_of_exist_with_these_defaults() -> None:
    settings = {row[0]: row[2] for row in table((DOCS / "settings.md").read_text())}
    for name, seconds in [("lease_seconds", "60"), ("redeliver_seconds", "10")]:
        assert float(settings[name]) == float(seconds)
        assert re.search(rf"{seconds} s.*`{name}`", section(OPERATIONS, "Recovery times"))
    spoken = {
        name
        for page in ((ROOT / "README.md").read_text(), ENGINE, OPERATIONS)
        for name in re.findall(r"`(\w+_(?:seconds|minutes|limit|directories|keys|url))`", page)
    }
    assert spoken <= {*settings, *HookSettings.model_fields}


def test_log_lines_to_watch_for_are_written() -> None:
    code = "\n".join(path.read_text() for path in CODE)
    lines = re.findall(r"^\| log lines `([^`]+)`", OPERATIONS, flags=re.MULTILINE)
    assert len(lines) == 26
    assert [line for line in lines if f'"{line}"' not in code] == []


def test_what_is_said_to_be_encrypted_is_packed_and_what_is_said_not_to_be_is_not() -> None:
    packed = {
        column.name
        for each in tables.metadata.tables.values()
        for column in each.c
        if str(column.type) == "BLOB"
    }
    assert packed >= {
        "properties",
        "reference_id",
        "attributes",
        "metadata",
        "data",
        "node_data",
        "context",
        "content",
        "body",
    }
    assert packed.isdisjoint({"name", "physical_id", "reason", "status"})


def test_the_fields_of_a_plan_and_of_its_binding_are_those_that_the_page_says() -> None:
    change = (DOCS / "change.md").read_text()
    document, resource = (
        {
            name
            for row in re.findall(r"^\| (`[^|]*) \|", part, re.MULTILINE)
            for name in re.findall(r"`(\w+)`", row)
        }
        for part in change.split("## What a plan says")[1].split("## When a plan")[0].split("Each of the")
    )
    assert document == {each.name for each in fields(PlanView)}
    assert resource == {each.name for each in fields(PlannedResource)}
    options = re.findall(r"^\| `(\w+)` \|", change.split("## Four eyes")[1], re.MULTILINE)
    assert {*options} == FourEyesOptions.model_fields.keys()
    binding = change.split("The binding is a map")[1].split("It has no values")[0]
    assert {*re.findall(r"`(\w+)`", binding)} == {each.name for each in fields(PlanBinding)}
