"""What commands import and start: most of the time of a short command.

An import too many fails here. If it is needed, raise the number, or add the package, and say why in the commit.
"""

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import NamedTuple

import pytest

#: Runs a command, and writes what was imported and started meanwhile.
PROGRAM = """
import gc, json, sys, threading
before, threads, programs, collections = {*sys.modules}, [], [], []
# The first modules are imported before the collector is told to look rarely.
gc.callbacks.append(lambda phase, _: collections.append(phase) if "click" in sys.modules else None)
sys.addaudithook(lambda event, _: programs.append(event) if event in
    ("subprocess.Popen", "os.fork", "os.forkpty", "os.posix_spawn", "os.exec", "os.system") else None)
start = threading.Thread.start
threading.Thread.start = lambda thread: (threads.append(thread.name), start(thread))[1]
from orchestrator.cli.start import main
sys.argv[:] = ["isotherm", *sys.argv[2:]]
report = sys.orig_argv[3]
try:
    main()
except SystemExit as end:
    assert not end.code, end.code
with open(report, "w") as file:
    modules = sorted({*sys.modules} - before)
    standard = sys.modules["dataclasses"].dataclass
    eager = [name for name in modules if vars(sys.modules[name]).get("dataclass") is standard]
    found = {"modules": modules, "threads": threads, "programs": programs, "collections": collections}
    found["eager"] = eager
    json.dump(found, file)
"""
OURS = ("isotherm", "orchestrator", "workers", "cache", "hooks")
#: Those of ours that may define dataclasses by the standard library: they may not import what compiles on demand.
GROUND = {"hooks.errors", "orchestrator.errors"}
TEMPLATE = """
heat_template_version: 2021-04-16
parameters:
  length: {type: number, default: 12, constraints: [{range: {min: 4, max: 40}}]}
resources:
  password: {type: OS::Heat::RandomString, properties: {length: {get_param: length}}}
  copy: {type: OS::Heat::Value, properties: {value: {get_attr: [password, value]}}}
outputs:
  out: {value: {get_attr: [copy, value]}}
"""

#: Of everything that reads settings.
SETTINGS = {"click"}
#: Of everything that opens the database, as long as all statements are textual: SQLAlchemy takes longest of all.
DATABASE = {"cython_runtime", "msgpack"}
#: Of everything that reads templates; msgpack as above.
LANGUAGE = {"msgpack", "yaml"}


class Limits(NamedTuple):
    #: The packages of others that may be imported.
    packages: set[str]
    #: How many modules of ours may be.
    ours: int
    #: How many modules may be in all, with those of Python, which versions of it differ in.
    modules: int
    #: The threads that may be started.
    threads: tuple[str, ...] = ()


WORKERS = ("worker-0", "worker-1", "worker-2", "worker-3")

COMMANDS = {
    "--help": Limits({"click"}, 61, 123),
    "--version": Limits({"click"}, 22, 122),
    "stack --help": Limits({"click"}, 74, 140),
    "stack list": Limits(SETTINGS | DATABASE, 112, 210),
    "stack list -f json": Limits(SETTINGS | DATABASE, 112, 210),
    "stack show web": Limits(SETTINGS | DATABASE | LANGUAGE, 201, 325),
    "stack resource list web": Limits(SETTINGS | DATABASE, 136, 210),
    "template validate -t web.yaml": Limits(SETTINGS | LANGUAGE | {"cython_runtime"}, 180, 295),
    "stack create other -t web.yaml": Limits(
        SETTINGS | DATABASE | LANGUAGE,
        398,
        530,
        ("attendance", "sweeper", *WORKERS, "heartbeat", "lease of an end"),
    ),
    # It changes nothing.
    "stack update web -t web.yaml": Limits(
        SETTINGS | DATABASE | LANGUAGE,
        384,
        498,
        ("attendance", "sweeper", *WORKERS, "lease of an end"),
    ),
    "stack delete old --yes": Limits(
        SETTINGS | DATABASE | LANGUAGE,
        398,
        530,
        ("attendance", "sweeper", *WORKERS, "heartbeat", "lease of an end"),
    ),
}


class Report(NamedTuple):
    modules: list[str]
    threads: list[str]
    programs: list[str]
    collections: list[str]
    #: The modules that define dataclasses whose methods are compiled at once.
    eager: list[str]


def run(words: str, directory: Path, tmp_path: Path) -> Report:
    kept = {name: value for name, value in os.environ.items() if not name.startswith("ISOTHERM_")}
    report = tmp_path / "report.json"
    done = subprocess.run(
        [sys.executable, "-c", PROGRAM, str(report), *words.split()],
        cwd=directory,
        env={**kept, "ISOTHERM_STATE_DIRECTORY": str(directory / "state")},
        capture_output=True,
        text=True,
    )
    assert done.returncode == 0, done.stderr
    return Report(**json.loads(report.read_text()))


@pytest.fixture(scope="module")
def directory(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A directory with a template and two stacks, of which one may be deleted."""
    made = tmp_path_factory.mktemp("imports")
    (made / "web.yaml").write_text(TEMPLATE)
    for name in ("web", "old"):
        run(f"stack create {name} -t web.yaml", made, made)
    return made


@pytest.mark.parametrize("words", COMMANDS)
def test_a_command_imports_no_more_than_it_needs(words: str, directory: Path, tmp_path: Path) -> None:
    limits, found = COMMANDS[words], run(words, directory, tmp_path)
    roots = {name.partition(".")[0] for name in found.modules}
    packages = {name for name in roots - {*OURS} - sys.stdlib_module_names if not name.startswith("_")}
    ours = [name for name in found.modules if name.partition(".")[0] in OURS]
    print(f"{words}: {len(ours)} of ours, {len(found.modules)} in all; {sorted(packages)}; {found.threads}")
    assert packages <= limits.packages
    assert len(ours) <= limits.ours, ours
    assert len(found.modules) <= limits.modules
    assert found.programs == []
    # Next to nothing that they make is garbage.
    assert found.collections == []
    # Others take dataclass from hooks.values.dataclass.
    assert {name for name in found.eager if name in ours and not name.startswith("cache.")} <= GROUND
    assert sorted(found.threads) == sorted(limits.threads)


def test_an_update_that_changes_nothing_needs_no_checker(directory: Path, tmp_path: Path) -> None:
    found = run("stack update web -t web.yaml", directory, tmp_path)
    assert [name for name in found.modules if name.startswith("workers.check.")] == []
    assert "heartbeat" not in found.threads
