"""The commands about stacks: what they ask of the service, what they write, how they end."""

import json
import re
from dataclasses import replace
from pathlib import Path

import pytest
import yaml

from orchestrator.views.stacks import EventView, OutputView, PluginCallView
from tests.unit.orchestrator.cli.fake_service import (
    FakeService,
    Terminal,
    event_view,
    resource_view,
    stack_view,
    traversal_view,
)

ESCAPE = "\x1b"


@pytest.fixture
def template(tmp_path: Path) -> str:
    """A small template on disk."""
    path = tmp_path / "web.yaml"
    path.write_text("heat_template_version: 2021-04-16\nresources: {}\n")
    return str(path)


# -- showing ---------------------------------------------------------------------------------------------------


def test_list_is_aligned_columns_without_colour_when_piped(terminal: Terminal, service: FakeService) -> None:
    service.stacks_held["x"] = stack_view("x", "DELETE", "FAILED")
    result = terminal.run("stack", "list")
    assert result.exit_code == 0
    header, *rows = result.stdout.splitlines()
    assert ESCAPE not in result.output
    column = header.index("STATE")
    assert [row[column:].split()[0] for row in rows] == ["CREATE_COMPLETE", "DELETE_FAILED"]
    assert "2024-03-01T12:00:00Z" in rows[0]


def test_list_in_json_and_yaml_hold_the_same(terminal: Terminal, service: FakeService) -> None:
    as_json = json.loads(terminal.run("stack", "list", "-f", "json").stdout)
    as_yaml = yaml.safe_load(terminal.run("stack", "list", "-f", "yaml").stdout)
    assert (
        as_json
        == as_yaml
        == [
            service.stacks_held["web"].to_dict()
            | {"tags": [], "outputs": [], "warnings": [], "partial": [], "stale_readers": []}
        ]
    )


def test_list_finds_stacks_by_their_tags(terminal: Terminal, service: FakeService) -> None:
    service.stacks_held = {
        name: stack_view(name, tags=tags)
        for name, tags in (("a", ("prod",)), ("b", ("prod", "eu")), ("c", ("test", "us")), ("d", ()))
    }

    def found(*options: str) -> list[str]:
        return [
            each["name"] for each in json.loads(terminal.run("stack", "list", *options, "-f", "json").stdout)
        ]

    assert found("--tags", "prod") == ["a", "b"]
    assert found("--tags", "prod, eu") == ["b"]
    assert found("--tags-any", "eu,us") == ["b", "c"]
    assert found("--tags", "test", "--tags-any", "eu,us") == ["c"]
    assert found("--tags", "") == ["a", "b", "c", "d"]


def test_tags_are_shown_where_there_are_some(terminal: Terminal, service: FakeService) -> None:
    assert "tags" not in terminal.run("stack", "show", "web").stdout
    service.stacks_held["web"] = stack_view("web", tags=("prod", "eu"))
    (told,) = [line for line in terminal.run("stack", "show", "web").stdout.splitlines() if "tags" in line]
    assert told.split(maxsplit=1) == ["tags", "prod, eu"]


def test_what_an_update_in_part_left_is_shown_where_there_is_some(
    terminal: Terminal, service: FakeService
) -> None:
    for words in (("stack", "show", "web"), ("stack", "list")):
        assert "partial" not in terminal.run(*words).stdout.lower()
    service.stacks_held["web"] = replace(stack_view("web"), partial=("db", "page"))
    (told,) = [line for line in terminal.run("stack", "show", "web").stdout.splitlines() if "partial" in line]
    assert told.split(maxsplit=1) == ["partial", "not as defined: db, page"]
    heading, row = terminal.run("stack", "list").stdout.splitlines()
    assert (heading.split()[-1], row.split()[-2:]) == ("PARTIAL", ["2", "left"])


def test_a_new_stack_is_given_tags(terminal: Terminal, service: FakeService, template: str) -> None:
    terminal.run("stack", "create", "shop", "-t", template, "--tags", "prod,eu,prod")
    terminal.run("stack", "create", "other", "-t", template)
    assert [job.tags for job in service.jobs] == [("prod", "eu"), None]


@pytest.mark.parametrize("tags", ["a/b", "a,,b", "x" * 81])
def test_what_is_no_tag_is_a_mistake_of_usage(
    terminal: Terminal, service: FakeService, template: str, tags: str
) -> None:
    result = terminal.run("stack", "create", "shop", "-t", template, "--tags", tags)
    assert result.exit_code == 2
    assert "without comma, slash and NUL" in result.output
    assert not service.jobs


def test_show_has_state_parameters_and_outputs(terminal: Terminal, service: FakeService) -> None:
    service.stacks_held["web"] = replace(service.stacks_held["web"], outputs=service.outputs_held)
    shown = terminal.run("stack", "show", "web").stdout
    for expected in ("CREATE_COMPLETE", "******", "http://10.0.0.7", "[80, 443]", "error: server has no"):
        assert expected in shown


def test_a_folded_description_leaves_no_empty_line(
    terminal: Terminal, service: FakeService, template: str
) -> None:
    folded = "A web site\nin two lines\n"
    service.stacks_held["web"] = stack_view("web", description=folded)
    service.outputs_held = (OutputView(key="url", description=folded, value="http://10.0.0.7"),)
    Path(template).write_text(
        "heat_template_version: 2021-04-16\ndescription: |\n  A web site\n  in two lines\nresources: {}\n"
    )
    for words, following in (
        (["stack", "show", "web"], "state"),
        (["stack", "output", "show", "web", "url"], "value"),
        (["template", "validate", "-t", template], "state"),
    ):
        lines = [line.strip() for line in terminal.run(*words).stdout.splitlines()]
        second = lines.index("in two lines")
        assert lines[second - 1].endswith("A web site")
        assert lines[second + 1].startswith(following)


def test_resources_are_listed_and_shown(terminal: Terminal) -> None:
    listed = json.loads(terminal.run("stack", "resource", "list", "web", "-f", "json").stdout)
    assert [view["name"] for view in listed] == ["disk", "server"]
    shown = terminal.run("stack", "resource", "show", "web", "server").stdout
    assert "10.0.0.7" in shown
    assert "physical-server" in shown


def test_an_unknown_name_is_bad_input(terminal: Terminal) -> None:
    for words in (
        ["stack", "show", "wbe"],
        ["stack", "watch", "wbe"],
        ["stack", "delete", "wbe"],
        ["stack", "graph", "wbe"],
        ["stack", "event", "list", "wbe"],
        ["stack", "output", "list", "wbe"],
        ["stack", "resource", "show", "web", "nobody"],
        ["stack", "output", "show", "web", "nothing"],
    ):
        result = terminal.run(*words)
        assert (result.exit_code, result.stdout) == (2, ""), words
        assert "has no" in result.stderr or "there is no" in result.stderr


def test_the_service_is_closed_however_a_command_ends(terminal: Terminal, service: FakeService) -> None:
    terminal.run("stack", "list")
    terminal.run("stack", "show", "wbe")
    service.interrupt = KeyboardInterrupt()
    terminal.run("stack", "watch", "web")
    assert service.closed == 3


# -- outputs ---------------------------------------------------------------------------------------------------


def test_value_of_an_output_is_bare_for_scripts(terminal: Terminal) -> None:
    assert terminal.run("stack", "output", "show", "web", "url", "-f", "value").stdout == "http://10.0.0.7\n"
    assert terminal.run("stack", "output", "show", "web", "ports", "-f", "value").stdout == "[80, 443]\n"


def test_an_output_without_value_ends_with_one(terminal: Terminal) -> None:
    bare = terminal.run("stack", "output", "show", "web", "lost", "-f", "value")
    assert (bare.exit_code, bare.stdout) == (1, "")
    assert "no attribute 'lost'" in bare.stderr
    assert terminal.run("stack", "output", "show", "web", "lost").exit_code == 1


def test_all_outputs_are_shown_without_a_key(terminal: Terminal) -> None:
    shown = json.loads(terminal.run("stack", "output", "show", "web", "-f", "json").stdout)
    assert [entry["key"] for entry in shown] == ["url", "ports", "lost"]
    assert terminal.run("stack", "output", "show", "web", "-f", "value").exit_code == 2


# -- events ----------------------------------------------------------------------------------------------------


def test_all_pages_of_events_are_listed(terminal: Terminal, service: FakeService) -> None:
    service.events_held = [event_view(number, "disk", "CREATE", "COMPLETE") for number in range(1, 2502)]
    listed = json.loads(terminal.run("stack", "event", "list", "web", "-f", "json").stdout)
    assert [event["id"] for event in listed] == list(range(1, 2502))


def test_following_events_shows_each_once_until_interrupted(terminal: Terminal, service: FakeService) -> None:
    later = iter([[event_view(3, "server", "CREATE", "FAILED", "no room")], []])

    def pause(_seconds: float) -> None:
        new: list[EventView] | None = next(later, None)
        if new is None:
            raise KeyboardInterrupt
        service.events_held += new

    terminal.shell.pause = pause
    result = terminal.run("stack", "event", "list", "web", "--follow", "-f", "json")
    assert result.exit_code == 130
    assert [json.loads(line)["id"] for line in result.stdout.splitlines()] == [1, 2, 3]


def test_following_ends_when_the_stack_is_gone(terminal: Terminal, service: FakeService) -> None:
    def pause(_seconds: float) -> None:
        service.stacks_held["web"] = stack_view("web", "DELETE", "COMPLETE")
        service.events_held.append(event_view(3, "", "DELETE", "COMPLETE"))

    terminal.shell.pause = pause
    result = terminal.run("stack", "event", "list", "web", "--follow")
    assert result.exit_code == 0
    assert result.stdout.splitlines()[1:] == [
        "2024-03-01T12:00:02Z disk CREATE_COMPLETE",
        "2024-03-01T12:00:03Z web DELETE_COMPLETE",
    ]


# -- creating --------------------------------------------------------------------------------------------------


def test_create_hands_everything_to_the_service(
    terminal: Terminal, service: FakeService, template: str, tmp_path: Path
) -> None:
    environment = tmp_path / "prod.yaml"
    environment.write_text("parameters: {a: 1}\n")
    result = terminal.run(
        *("stack", "create", "shop", "-t", template, "-e", str(environment), "--timeout", "1.5"),
        *("-P", "a=b=c", "-P", 'list=["x;y"]', "-P", "empty="),
    )
    assert result.exit_code == 0, result.output
    (job,) = service.jobs
    assert (job.name, job.template_file, job.timeout_minutes, job.project) == (
        "shop",
        template,
        1.5,
        "default",
    )
    assert job.template.startswith("heat_template_version")
    assert job.parameters == {"a": "b=c", "list": '["x;y"]', "empty": ""}
    assert [(source.file, source.source) for source in job.environments] == [
        (str(environment), "parameters: {a: 1}\n")
    ]


def test_progress_goes_to_stderr_and_the_final_word_to_stdout(terminal: Terminal, template: str) -> None:
    result = terminal.run("stack", "create", "shop", "-t", template)
    assert result.exit_code == 0
    assert "disk CREATE_COMPLETE" in result.stderr
    assert result.stdout.splitlines()[0].startswith("shop CREATE_COMPLETE after")
    assert "http://10.0.0.7" in result.stdout
    assert ESCAPE not in result.output


def test_a_failed_stack_ends_with_one_and_names_what_failed(
    terminal: Terminal, service: FakeService, template: str
) -> None:
    service.ending = "FAILED"
    service.resources_held[1] = resource_view("server", "CREATE", "FAILED", reason="quota is used up")
    result = terminal.run("stack", "create", "shop", "-t", template)
    assert result.exit_code == 1
    word, failed = result.stdout.splitlines()
    assert re.search(r"CREATE_FAILED after \d+ ms: no room for server$", word)
    assert failed == "  server CREATE_FAILED: quota is used up"


def test_json_on_stdout_is_the_final_stack_alone(
    terminal: Terminal, service: FakeService, template: str
) -> None:
    result = terminal.run("stack", "create", "shop", "-t", template, "-f", "json")
    final = json.loads(result.stdout)
    assert final["state"] == "CREATE_COMPLETE"
    assert [output["key"] for output in final["outputs"]] == ["url", "ports", "lost"]
    service.ending = "FAILED"
    failed = terminal.run("stack", "create", "other", "-t", template, "-f", "json")
    assert failed.exit_code == 1
    assert json.loads(failed.stdout)["reason"] == "no room for server"


def test_json_has_what_lifecycle_plugins_warned_of(
    terminal: Terminal, service: FakeService, template: str
) -> None:
    asked = PluginCallView(
        plugin="limits", state="told", error="", warnings=("many",), asked_seconds=0.1, told_seconds=0.1
    )
    service.traversals_held = [traversal_view(stack_view("shop").traversal_id, plugins=(asked,))]
    final = json.loads(terminal.run("stack", "create", "shop", "-t", template, "-f", "json").stdout)
    assert [warning["message"] for warning in final["warnings"]] == ["lifecycle plugin 'limits': many"]


def test_no_wait_is_refused_without_a_broker(terminal: Terminal, service: FakeService, template: str) -> None:
    for words in (["create", "shop", "-t", template], ["delete", "web"]):
        result = terminal.run("stack", *words, "--no-wait")
        assert result.exit_code == 2
        assert "no other process would carry on" in result.stderr
    assert service.jobs == []
    assert service.stacks_held["web"].action == "CREATE"


def test_no_wait_returns_at_once_with_a_broker(
    terminal: Terminal, service: FakeService, template: str
) -> None:
    terminal.broker_url = "redis://nowhere"
    result = terminal.run("stack", "create", "shop", "-t", template, "--no-wait", "-f", "json")
    assert result.exit_code == 0
    assert json.loads(result.stdout)["state"] == "CREATE_IN_PROGRESS"
    assert result.stderr == ""


def test_a_taken_name_is_bad_input(terminal: Terminal, template: str) -> None:
    result = terminal.run("stack", "create", "web", "-t", template)
    assert result.exit_code == 2
    assert result.stderr == "Error: there is already a stack 'web'\n"


@pytest.mark.parametrize(
    ("words", "expected"),
    [
        (["-P", "novalue"], "NAME=VALUE"),
        (["-P", "=1"], "NAME=VALUE"),
        (["--timeout", "nan"], "number of minutes"),
        (["--timeout", "0"], "range"),
        (["--timeout", "soon"], "not a valid"),
        (["--tiemout", "1"], "--timeout"),
    ],
)
def test_wrong_options_are_bad_input(
    words: list[str], expected: str, terminal: Terminal, template: str
) -> None:
    result = terminal.run("stack", "create", "shop", "-t", template, *words)
    assert result.exit_code == 2
    assert expected in result.stderr


def test_every_missing_file_is_named_with_a_near_one(
    terminal: Terminal, template: str, tmp_path: Path
) -> None:
    (tmp_path / "prod.yaml").write_text("{}")
    result = terminal.run(
        *("stack", "create", "shop", "-t", template.replace("web", "wbe"), "-e", str(tmp_path / "prd.yaml"))
    )
    assert result.exit_code == 2
    assert "wbe.yaml" in result.stderr
    assert "web.yaml" in result.stderr
    assert "prd.yaml" in result.stderr
    assert "prod.yaml" in result.stderr


# -- deleting, watching ----------------------------------------------------------------------------------------


def test_delete_asks_nobody_when_stdin_is_no_terminal(terminal: Terminal, service: FakeService) -> None:
    result = terminal.run("stack", "delete", "web")
    assert result.exit_code == 0
    assert result.stdout.startswith("web DELETE_COMPLETE")


def test_force_deletes_what_others_read(terminal: Terminal, service: FakeService) -> None:
    service.read_by_others = {"web"}
    refused = terminal.run("stack", "delete", "web")
    assert (refused.exit_code, "read by stack 'shop'" in refused.stderr) == (2, True)
    assert terminal.run("stack", "delete", "web", "--force").exit_code == 0


def test_delete_shows_only_events_of_its_own(terminal: Terminal) -> None:
    result = terminal.run("stack", "delete", "web")
    assert "DELETE_COMPLETE" in result.stderr
    assert "CREATE" not in result.stderr


def test_delete_on_a_terminal_asks_first(terminal: Terminal, service: FakeService) -> None:
    terminal.shell.can_answer = lambda: True
    refused = terminal.run("stack", "delete", "web", answer="n\n")
    assert refused.exit_code == 2
    assert "its 2 resources?" in refused.stderr
    assert service.stacks_held["web"].action == "CREATE"
    assert terminal.run("stack", "delete", "web", answer="y\n").exit_code == 0


def test_yes_asks_nothing_on_a_terminal(terminal: Terminal) -> None:
    terminal.shell.can_answer = lambda: True
    result = terminal.run("stack", "delete", "web", "--yes")
    assert result.exit_code == 0
    assert "?" not in result.stderr


def test_deleting_what_is_deleted_is_the_end_asked_for(terminal: Terminal, service: FakeService) -> None:
    service.stacks_held["web"] = stack_view("web", "DELETE", "COMPLETE")
    result = terminal.run("stack", "delete", "web")
    assert result.exit_code == 0
    assert "already deleted" in result.stdout


@pytest.mark.parametrize(
    ("action", "ending", "code"),
    [("CREATE", "COMPLETE", 0), ("CREATE", "FAILED", 1), ("ROLLBACK", "COMPLETE", 1)],
)
def test_watch_ends_as_the_operation_does(
    action: str, ending: str, code: int, terminal: Terminal, service: FakeService
) -> None:
    service.stacks_held["web"] = stack_view("web", action, "IN_PROGRESS")
    service.ending = ending
    assert terminal.run("stack", "watch", "web").exit_code == code


def test_watching_what_is_over_claims_no_duration(terminal: Terminal) -> None:
    assert terminal.run("stack", "watch", "web").stdout.splitlines()[0] == "web CREATE_COMPLETE"


def test_an_interrupt_says_how_to_go_on(terminal: Terminal, service: FakeService, template: str) -> None:
    service.interrupt = KeyboardInterrupt()
    embedded = terminal.run("stack", "create", "shop", "-t", template)
    assert embedded.exit_code == 130
    assert "stays as it is" in embedded.stderr
    assert "isotherm stack watch shop" in embedded.stderr
    with_broker = Terminal(service, terminal.state_directory, "redis://nowhere")
    assert "workers carry on" in with_broker.run("stack", "watch", "shop").stderr
