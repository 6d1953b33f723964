"""What newcomers get wrong: each message names the mistake and what to do, and none blames Isotherm."""

import os
import re
import subprocess
import sys
from dataclasses import dataclass, field
from pathlib import Path

import pytest
from click.testing import CliRunner

from orchestrator.cli.main import isotherm
from orchestrator.store.retrying import impatient
from tests.migrated import migrate

HELLO = """\
heat_template_version: 2021-04-16
resources: {password: {type: OS::Heat::RandomString}}
outputs: {password: {value: {get_attr: [password, value]}}}
"""
SIZED = """\
heat_template_version: 2021-04-16
parameters: {size: {type: number}}
resources: {password: {type: OS::Heat::RandomString, properties: {length: {get_param: size}}}}
"""
CREATE = "stack create shop -t"


@dataclass(frozen=True)
class Mistake:
    """A command line that is wrong, and the message that it gets; ``#`` in texts is the working directory."""

    words: str
    #: Regular expressions that the message on stderr matches, each somewhere.
    says: tuple[str, ...]
    code: int = 2
    #: The text of the file ``t.yaml``.
    template: str = HELLO
    variables: dict[str, str] = field(default_factory=dict)
    standard_input: str = ""


MISTAKES = {
    "a template that is not there": Mistake(
        f"{CREATE} tt.yaml", (r"^tt\.yaml: the file does not exist$", r"did you mean 't\.yaml'")
    ),
    "a directory in place of a template": Mistake(f"{CREATE} .", (r"^\.: the file cannot be read",)),
    "no template": Mistake("stack create shop", (r"Missing option '-t'",)),
    "no name": Mistake("stack create -t t.yaml", (r"Missing argument 'NAME'",)),
    "a command without its group": Mistake("delete shop", (r"Did you mean 'isotherm stack delete'\?",)),
    "a misspelled command": Mistake("stack creat shop -t t.yaml", (r"Did you mean 'create'\?",)),
    "a misspelled option": Mistake(
        "stack list --formt json", (r"Did you mean one of: '--format', '--sort'\?",)
    ),
    "a format there is not": Mistake("stack list -f jsn", (r"'jsn' is not one of 'table', 'json'",)),
    "a timeout that is no number": Mistake(
        f"{CREATE} t.yaml --timeout soon", (r"'--timeout'.*'soon' is not a valid number of minutes",)
    ),
    "a name that is none": Mistake(
        "stack create 9shop -t t.yaml", (r"'9shop' is no stack name", "a letter first")
    ),
    "tabs": Mistake(
        f"{CREATE} t.yaml",
        (r"^t\.yaml:3:1: not valid YAML", "indent with spaces, not tabs"),
        template="heat_template_version: 2021-04-16\nresources:\n\ta: {type: OS::Heat::None}\n",
    ),
    "an empty template": Mistake(
        f"{CREATE} t.yaml", (r"^t\.yaml:1:1: expected a template.*found nothing",), template=""
    ),
    "no version": Mistake(
        f"{CREATE} t.yaml", ("no 'heat_template_version'", "the latest is"), template="resources: {}\n"
    ),
    "a misspelled section": Mistake(
        f"{CREATE} t.yaml",
        (r"^t\.yaml:2:1: resource: ", r"did you mean 'resources'\?"),
        template="heat_template_version: 2021-04-16\nresource: {}\n",
    ),
    "a misspelled type": Mistake(
        f"{CREATE} t.yaml",
        (r"^t\.yaml:2:.*: resources\.password\.type", r"did you mean 'OS::Heat::RandomString'\?"),
        template=HELLO.replace("RandomString", "RandomStrin"),
    ),
    "a misspelled key of a resource": Mistake(
        f"{CREATE} t.yaml",
        (r"did you mean 'depends_on'\?",),
        template=HELLO.replace("RandomString", "RandomString, depend_on: b"),
    ),
    "a parameter without a value": Mistake(
        f"{CREATE} t.yaml", ("'size' has no value", "give it on the command line"), template=SIZED
    ),
    "a parameter that is not declared": Mistake(
        f"{CREATE} t.yaml -P sise=3", (r"did you mean 'size'\?",), template=SIZED
    ),
    "a parameter's value of another type": Mistake(
        f"{CREATE} t.yaml -P size=three", (r"^parameters\.size: expected a number",), template=SIZED
    ),
    "a parameter without =": Mistake(f"{CREATE} t.yaml -P size", ("expected NAME=VALUE",), template=SIZED),
    "an environment that is not there": Mistake(
        f"{CREATE} t.yaml -e site.yaml", (r"^site\.yaml: the file does not exist",)
    ),
    "a template in place of an environment": Mistake(
        f"{CREATE} t.yaml -e t.yaml", ("no section 'heat_template_version' in an environment",)
    ),
    "a template at an address": Mistake(
        f"{CREATE} http://localhost:1/t.yaml", ("set ISOTHERM_FETCH_URLS=true",)
    ),
    "a stack that is not there": Mistake("stack show shop", ("has no stack 'shop'", "isotherm stack list")),
    "a misspelled variable": Mistake(
        "stack show shop",
        (r"ISOTHERM_BROKER: there is no such setting", r"did you mean ISOTHERM_BROKER_URL\?"),
        variables={"ISOTHERM_BROKER": "redis://localhost"},
    ),
    "a variable of another type": Mistake(
        "stack list",
        (r"^settings\.lease_seconds: expected a number, found a text \(in ISOTHERM_LEASE_SECONDS\)",),
        variables={"ISOTHERM_LEASE_SECONDS": "soon"},
    ),
    "a worker without a broker": Mistake("worker", (r"^settings\.broker_url", "set ISOTHERM_BROKER_URL")),
    "a database of another make": Mistake(
        "stack list",
        (r"^settings\.database_url: .*found 'mysql'", r"postgresql\+psycopg://"),
        variables={"ISOTHERM_DATABASE_URL": "mysql://localhost/x"},
    ),
    "a database that is no URL": Mistake(
        "stack list",
        (r"^settings\.database_url: not a database URL", "sqlite:////"),
        variables={"ISOTHERM_DATABASE_URL": "/var/lib/isotherm.db"},
    ),
    "a state directory that is a file": Mistake(
        "stack list",
        (r"cannot make the state directory #/t\.yaml: File exists",),
        code=3,
        variables={"ISOTHERM_STATE_DIRECTORY": "#/t.yaml"},
    ),
    "a file that is no database": Mistake(
        "stack list",
        (r"file is not a database: #/t\.yaml; .*correct ISOTHERM_DATABASE_URL",),
        code=3,
        variables={"ISOTHERM_DATABASE_URL": "sqlite:///#/t.yaml"},
    ),
    "a database in a directory that is not there": Mistake(
        "stack list",
        (r"#/lost/x\.db; make the directory",),
        code=3,
        variables={"ISOTHERM_DATABASE_URL": "sqlite:///#/lost/x.db"},
    ),
    "a database server that is down": Mistake(
        "stack list",
        ("the database does not answer", r"hint: start the database, or correct ISOTHERM_DATABASE_URL"),
        code=3,
        variables={"ISOTHERM_DATABASE_URL": "postgresql://ann:SECRET@localhost:1/x"},
    ),
    "a broker without a scheme": Mistake(
        "stack list",
        (r"^settings\.broker_url: expected a URL that begins with a scheme, for example redis://",),
        variables={"ISOTHERM_BROKER_URL": "localhost:6379"},
    ),
    "a broker with a misspelled scheme": Mistake(
        "stack list",
        (r"the scheme 'redsi' is no transport for messages; did you mean redis://",),
        variables={"ISOTHERM_BROKER_URL": "redsi://:SECRET@localhost"},
    ),
    "a broker and no database": Mistake(
        f"{CREATE} t.yaml",
        (r"^settings\.database_url: there is a broker, and no database", "set ISOTHERM_DATABASE_URL"),
        variables={"ISOTHERM_BROKER_URL": "redis://localhost:1"},
    ),
    "a database that was never set up": Mistake(
        f"{CREATE} t.yaml",
        ("has no schema yet", "run: isotherm db upgrade"),
        code=3,
        variables={
            "ISOTHERM_BROKER_URL": "redis://localhost:1",
            "ISOTHERM_DATABASE_URL": "sqlite:///#/shared.db",
        },
    ),
    "an option of the dashboard after a space": Mistake(
        "dashboard --port 8080", (r"^--port: an option is expected, found a value", "write --port=VALUE")
    ),
}


@pytest.mark.parametrize("mistake", [pytest.param(each, id=name) for name, each in MISTAKES.items()])
def test_the_message_says_what_to_do(
    mistake: Mistake, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("ISOTHERM_STATE_DIRECTORY", str(tmp_path / "state"))
    for name, value in mistake.variables.items():
        monkeypatch.setenv(name, value.replace("#", str(tmp_path)))
    (tmp_path / "t.yaml").write_text(mistake.template)
    with impatient(1):
        ended = CliRunner().invoke(
            isotherm, mistake.words.split(), prog_name="isotherm", input=mistake.standard_input
        )
    assert ended.exit_code == mistake.code, ended.output
    for expected in mistake.says:
        assert re.search(expected.replace("#", re.escape(str(tmp_path))), ended.stderr, re.M), ended.stderr
    assert not re.search(r"\bbug\b|Traceback|Errno|SECRET", ended.output), ended.output
    assert not ended.stdout


def test_the_template_may_come_from_standard_input(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("ISOTHERM_STATE_DIRECTORY", str(tmp_path / "state"))
    ended = CliRunner().invoke(isotherm, [*CREATE.split(), "-"], prog_name="isotherm", input=HELLO)
    assert ended.exit_code == 0, ended.output
    assert "shop CREATE_COMPLETE" in ended.output


def test_a_broker_that_is_down_is_named_with_what_to_do(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    database = f"sqlite:///{tmp_path / 'shared.db'}"
    migrate(database)
    monkeypatch.setenv("ISOTHERM_DATABASE_URL", database)
    monkeypatch.setenv("ISOTHERM_BROKER_URL", "redis://:SECRET@localhost:1")
    (tmp_path / "t.yaml").write_text(HELLO)
    ended = CliRunner().invoke(isotherm, [*CREATE.split(), str(tmp_path / "t.yaml")], prog_name="isotherm")
    assert ended.exit_code == 3
    assert "the broker does not answer" in ended.stderr
    assert "hint: start the broker, or correct ISOTHERM_BROKER_URL" in ended.stderr
    assert "SECRET" not in ended.output


def test_a_reader_that_goes_away_and_a_full_disk_are_no_bug(tmp_path: Path) -> None:
    environment = {**os.environ, "ISOTHERM_STATE_DIRECTORY": str(tmp_path), "ISOTHERM_CONFIG": os.devnull}
    environment.pop("PYTHONUNBUFFERED", None)
    command = f"{sys.executable} -m isotherm resource-type list"
    read = subprocess.run(
        ["bash", "-c", f"{command} | head -0"], env=environment, capture_output=True, text=True, check=False
    )
    assert read.stderr == ""
    full = subprocess.run(
        ["bash", "-c", f"{command} > /dev/full"], env=environment, capture_output=True, text=True, check=False
    )
    assert full.returncode == 3, full.stderr
    assert "No space left on device" in full.stderr
    assert not re.search("bug|Exception|: :", full.stderr), full.stderr
