"""Every command of the openstack client about stacks, with every option: a table of commands and what each says."""

import json
import re
import shlex
import subprocess
from collections.abc import Iterator
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from typing import Final

import pytest

from tests.services.api_process import serving
from tests.services.openstack_client import PYTHON, Openstack, Said
from tests.services.process import free_port
from tests.services.test_openstack_client import ENVIRONMENT, INNER, NESTING, TEMPLATE, WAITING
from tests.waiting import until

pytestmark = pytest.mark.slow

FAILING = """
heat_template_version: 2018-08-31
resources: {broken: {type: OS::Heat::TestResource, properties: {fail: true}}}
"""
SIGNAL: Final = '{"status": "SUCCESS", "id": "1"}'
FILES: Final = {
    "plain.yaml": TEMPLATE,
    "nesting.yaml": NESTING,
    "inner.yaml": INNER,
    "environment.yaml": ENVIRONMENT,
    "more.yaml": "parameters: {who: more}\n",
    "length.yaml": "parameters: {length: 5}\n",
    "note.txt": "a note",
    "waiting.yaml": WAITING,
    "failing.yaml": FAILING,
    "signal.json": SIGNAL,
    "length": "6",
    "held.env": "resource_registry: {resources: {copy: {hooks: pre-delete}}}\n",
    "script.sh": "#!/bin/sh\necho hello\n",
    "definition.yaml": "inputs: [{name: who}]\noutputs: [{name: said}]\noptions: {shell: sh}\n",
}


@dataclass(frozen=True)
class Row:
    """A command, and a part of what it says; ``{names}`` in it are of what commands before it said."""

    command: str
    says: str = ""
    #: Whether it is refused, for the reason that it says.
    is_refused: bool = False
    #: Whether it may take a while until it says so, for what it is about is still made.
    is_soon: bool = False
    #: The state that a stack reaches after it.
    then: tuple[str, str] | None = None
    #: What to keep of the JSON that it writes, by name.
    keeps: dict[str, str] = field(default_factory=dict)


def refused(command: str, says: str) -> Row:
    return Row(command, says, is_refused=True)


def then(command: str, stack: str, state: str, says: str = "") -> Row:
    return Row(command, says, then=(stack, state))


def soon(command: str, stack: str, state: str) -> Row:
    return Row(command, is_soon=True, then=(stack, state))


#: In an order in which each finds what it is about.
TABLE: Final = (
    # Create.
    Row(
        "stack create --wait --poll 1 -t plain.yaml --tags a,b --timeout 9 --enable-rollback web",
        "CREATE_COMPLETE",
    ),
    then("stack create -t plain.yaml --parameter length=5 five", "five", "CREATE_COMPLETE"),
    then("stack create -t plain.yaml --parameter-file length=length six", "six", "CREATE_COMPLETE"),
    then("stack create -t nesting.yaml -e environment.yaml -e more.yaml nested", "nested", "CREATE_COMPLETE"),
    Row("stack create --dry-run -t plain.yaml never", "OS::Heat::RandomString"),
    refused("stack create -t plain.yaml -s here never", "files_container is not supported"),
    refused("stack create -t plain.yaml web", "has a stack 'web' already"),
    then("stack create -t failing.yaml broken", "broken", "CREATE_FAILED"),
    then("stack create -t failing.yaml --enable-rollback undone", "undone", "ROLLBACK_COMPLETE"),
    Row("stack create -t plain.yaml --pre-create copy held"),
    # Hooks.
    Row("stack hook poll held", "copy", is_soon=True),
    Row("stack hook poll --nested-depth 2 held", "copy"),
    then("stack hook clear --pre-create held copy", "held", "CREATE_COMPLETE"),
    Row("stack update -t plain.yaml --pre-update text --parameter length=9 held"),
    soon("stack hook clear --pre-update held text", "held", "UPDATE_COMPLETE"),
    # Lists.
    Row("stack list", "web"),
    Row("stack list --short", "web"),
    Row("stack list --long --all-projects", "Project"),
    Row("stack list --nested", "nested-inner"),
    Row("stack list --hidden --property name=six --limit 5", "six"),
    Row("stack list --deleted --tags a,b --tag-mode any", "web"),
    Row("stack list --tags a --tag-mode not", "six"),
    Row("stack list --tags a,b --tag-mode not-any", "six"),
    # The client sorts what it got: the server gives the newest first.
    Row("stack list --sort stack_name:asc --limit 1 -f json", "held", keeps={"first": "0.ID"}),
    Row("stack list --sort stack_name:asc --marker {first} --limit 1", "undone"),
    # Show.
    Row("stack show web", "output_value"),
    Row("stack show --no-resolve-outputs web", "CREATE_COMPLETE"),
    Row("stack output list web", "word"),
    Row("stack output show web word", "output_value"),
    Row("stack output show --all web", "word"),
    Row("stack template show nested", "get_file"),
    Row("stack environment show nested", "more"),
    Row("stack file list nested", "inner.yaml"),
    Row("stack failures list broken", "broken"),
    Row("stack failures list --long broken", "broken"),
    # Resources.
    Row("stack resource list web", "OS::Heat::RandomString"),
    Row("stack resource list --long -n 3 nested", "word"),
    Row("stack resource list --filter type=OS::Heat::RandomString web", "text"),
    Row("stack resource show --with-attr value web text", "value"),
    Row("stack resource metadata web text", "{}"),
    Row("stack resource mark unhealthy web copy smoke"),
    Row("stack resource list web", "CHECK_FAILED"),
    Row("stack resource mark unhealthy --reset web copy"),
    # Events.
    Row("stack event list web", "CREATE_COMPLETE"),
    Row("stack event list --resource text --limit 1 -f json web", "text", keeps={"event": "0.id"}),
    Row("stack event list --marker {event} --sort event_time:desc web", "CREATE_IN_PROGRESS"),
    Row("stack event list --filter resource_status=CREATE_COMPLETE web", "CREATE_COMPLETE"),
    Row("stack event list --nested-depth 3 nested", "word"),
    Row("stack event show web text {event}", "OS::Heat::RandomString"),
    # Update.
    Row(
        "stack update --wait -t plain.yaml --parameter length=7 --timeout 8 --rollback enabled web",
        "UPDATE_COMPLETE",
    ),
    Row("stack update --existing --dry-run --show-nested --parameter length=9 web", "replaced"),
    then(
        "stack update --existing --parameter-file length={here}/length --tags c web", "web", "UPDATE_COMPLETE"
    ),
    then("stack update --existing --clear-parameter length --converge web", "web", "UPDATE_COMPLETE"),
    then("stack update -t nesting.yaml -e environment.yaml nested", "nested", "UPDATE_COMPLETE"),
    refused("stack update -t plain.yaml -s here web", "files_container is not supported"),
    # Actions.
    Row("stack check --wait web", "CHECK_COMPLETE"),
    Row("stack suspend --wait web", "SUSPEND_COMPLETE"),
    Row("stack resume --wait web", "RESUME_COMPLETE"),
    Row("stack create -t waiting.yaml waits"),
    # A create that is cancelled has failed.
    refused("stack cancel --wait --no-rollback waits", "Stack waits CREATE_FAILED"),
    Row("stack create -t waiting.yaml signalled"),
    Row("stack create -t waiting.yaml signalled-too"),
    # Signals.
    soon(f"stack resource signal --data '{SIGNAL}' signalled handle", "signalled", "CREATE_COMPLETE"),
    soon(
        "stack resource signal --data-file signal.json signalled-too handle",
        "signalled-too",
        "CREATE_COMPLETE",
    ),
    # Snapshots.
    then("stack snapshot create --name first web", "web", "SNAPSHOT_COMPLETE", "first"),
    Row("stack snapshot list web -f json", "first", keeps={"snapshot": "0.id"}),
    Row("stack snapshot show web {snapshot}", "COMPLETE"),
    then("stack snapshot restore web {snapshot}", "web", "RESTORE_COMPLETE"),
    Row("stack snapshot delete --yes web {snapshot}"),
    # Documents.
    Row("stack export --output-file exported.json five"),
    Row("stack export five", "template"),
    Row("stack abandon --output-file abandoned.json five"),
    Row(
        "stack adopt --wait --adopt-file abandoned.json --timeout 5 --enable-rollback five-again",
        "ADOPT_COMPLETE",
    ),
    Row("stack abandon --output-file six.json six"),
    then(
        "stack adopt --adopt-file six.json -e length.yaml --parameter length=5 adopted",
        "adopted",
        "ADOPT_COMPLETE",
    ),
    # Software.
    Row(
        "software config create --config-file script.sh --definition-file definition.yaml --group script -f json hello",
        "script",
        keeps={"config": "id"},
    ),
    Row("software config list --limit 1", "hello"),
    Row("software config list --marker {config}"),
    Row("software config show {config}", "echo hello"),
    Row("software config show --config-only {config}", "echo hello"),
    Row(
        "software deployment create --config {config} --server s1 --input-value who=me --action UPDATE "
        "--signal-transport NO_SIGNAL -f json said",
        "s1",
        keeps={"deployment": "id"},
    ),
    refused(
        "software deployment create --config {config} --server s1 --signal-transport TEMP_URL_SIGNAL "
        "--container c --timeout 5 unsaid",
        "",
    ),
    Row("software deployment list --server s1", "{deployment}"),
    Row("software deployment list --long", "{deployment}"),
    Row("software deployment show --long {deployment}", "input_values"),
    Row("software deployment metadata show s1", "echo hello"),
    Row("software deployment output show --all --long {deployment}"),
    Row("software deployment output show {deployment} said"),
    Row("software deployment delete {deployment}"),
    Row("software config delete {config}"),
    # The language.
    Row("orchestration template validate -t plain.yaml --parameter length=3", "length"),
    Row(
        "orchestration template validate -t nesting.yaml -e environment.yaml --show-nested --ignore-errors 99001",
        "NestedParameters",
    ),
    refused("orchestration template validate -t plain.yaml -s here", "files_container is not supported"),
    refused(
        "orchestration template validate -t plain.yaml --ignore-errors all", "expected numbers of errors"
    ),
    Row("orchestration template version list", "heat_template_version.rocky"),
    Row("orchestration template function list --with_conditions heat_template_version.rocky", "equals"),
    Row("orchestration resource type list --filter name=OS::Heat::Random.* --long", "RandomString"),
    Row("orchestration resource type show --long OS::Heat::RandomString", "properties"),
    Row("orchestration resource type show --template-type cfn OS::Heat::RandomString", "Resources"),
    Row("orchestration build info", "engine"),
    Row("orchestration service list", "up"),
    # Delete.
    then("stack create -t plain.yaml -e held.env doomed", "doomed", "CREATE_COMPLETE"),
    Row("stack delete --yes doomed"),
    Row("stack hook clear --pre-delete doomed copy", is_soon=True),
    Row("stack delete -y --wait five-again adopted broken"),
    refused("stack show five-again", "Stack not found: five-again"),
    refused("stack delete --yes five-again", "five-again"),
)
#: Options that need other services, and where they are tried.
ELSEWHERE: Final = {
    "--project": "names of projects are looked up in keystone: it is tried with that, in test_api_keystone.py",
    "--project-domain": "the same",
    "--follow": "it ends by no means but Ctrl-C: tried below",
}
#: Lists the options of all commands, by the client's own parsers; arguments are not in it.
PROGRAM: Final = """
import argparse, importlib.metadata, json
from unittest import mock
found = {}
for each in importlib.metadata.entry_points(group="openstack.orchestration.v1"):
    parser = each.load()(mock.Mock(), argparse.Namespace()).get_parser("openstack")
    foreign = [g for g in parser._action_groups if "formatter" in (g.title or "").lower()]
    hidden = {id(a) for g in foreign for a in g._group_actions}
    own = [a for a in parser._actions if a.option_strings and a.dest != "help" and id(a) not in hidden]
    found[each.name.replace("_", " ")] = [a.option_strings for a in own]
print(json.dumps(found))
"""


def write_files(directory: Path) -> None:
    """Write the files that the commands of the table name."""
    for name, text in FILES.items():
        (directory / name).write_text(text)


@pytest.fixture(scope="module")
def openstack(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Openstack]:
    directory = tmp_path_factory.mktemp("options")
    write_files(directory)
    port = free_port()
    with serving(directory, f"--auth none --port {port}") as (url, _):
        client = Openstack(directory, "--os-auth-type", "none", "--os-endpoint", f"{url}/default")
        yield client
        client.close()


def test_every_command_says_what_it_should(openstack: Openstack) -> None:
    type_all(openstack)


def type_all(openstack: Openstack) -> None:
    """Type every command of the table, in a directory that has the files."""
    # An update takes the address of a parameter's file, and no path.
    kept = {"here": openstack.directory.as_uri()}

    def filled(text: str) -> str:
        return re.sub(r"\{(\w+)\}", lambda found: kept[found[1]], text)

    def does(row: Row) -> Said | None:
        said = openstack.type(*shlex.split(filled(row.command)))
        fits = (said.code != 0) == row.is_refused and filled(row.says) in said.err + said.out
        assert fits or row.is_soon, (filled(row.command), said)
        return said if fits else None

    def is_in(stack: str, state: str) -> bool:
        # A create that is rolled back has failed for a moment.
        return state in openstack.run("stack", "show", stack)

    for row in TABLE:
        said = until(partial(does, row))
        for name, where in row.keeps.items():
            found = json.loads(said.out)
            for part in where.split("."):
                found = found[int(part) if part.isdigit() else part]
            kept[name] = found
        if row.then:
            until(partial(is_in, *row.then))


def test_table_has_every_command_with_every_option() -> None:
    said = subprocess.run([str(PYTHON), "-c", PROGRAM], capture_output=True, text=True, check=True).stdout
    commands = [shlex.split(row.command) for row in TABLE]
    for name, options in json.loads(said).items():
        words = name.split()
        found = [each[len(words) :] for each in commands if each[: len(words)] == words]
        assert found, f"no row has the command {name}"
        given = {word for each in found for word in each}
        for spellings in options:
            assert given & {*spellings} or {*spellings} & {*ELSEWHERE}, f"no row has {name} {spellings}"


def test_events_are_followed_until_the_client_is_interrupted(openstack: Openstack) -> None:
    openstack.run("stack", "create", "-t", "waiting.yaml", "followed")
    with openstack.following("stack", "event", "list", "--follow", "followed") as lines:
        next(line for line in lines if "followed" in line and "CREATE_IN_PROGRESS" in line)
        data = ["stack", "resource", "signal", "--data-file", "signal.json", "followed", "handle"]
        until(lambda: openstack.type(*data).code == 0)
        next(line for line in lines if "followed" in line and "CREATE_COMPLETE" in line)
