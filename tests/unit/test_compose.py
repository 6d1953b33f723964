"""compose.yaml runs what exists: commands that parse, settings that are known, services that can become healthy."""

import json
import re
import shlex
import tomllib
from pathlib import Path
from typing import Any

import click
import pytest
import yaml
from celery.bin.celery import celery
from tornado.options import options as flower_options

from orchestrator.caches.process import COMMON_STORES
from orchestrator.cli.main import isotherm
from orchestrator.config.settings import Settings
from orchestrator.dashboard.access import Mode, Visitor, refusal
from orchestrator.dashboard.options import argument_problems, define_options, problems_of
from orchestrator.nodes.rpc.state_cache import where
from orchestrator.plugins.constraint_caches import make_constraint_cache
from tests.services.servers import MemcachedServer
from tests.unit.orchestrator.dashboard.serving import option_values

ROOT = Path(__file__).parents[2]
COMPOSE: dict[str, Any] = yaml.safe_load((ROOT / "compose.yaml").read_text())
SERVICES: dict[str, dict[str, Any]] = COMPOSE["services"]
OURS = {name: service for name, service in SERVICES.items() if "build" in service}
WITHOUT_DATABASE = {"agent", "keys"}
THE_PASSWORD = "${POSTGRES_PASSWORD:?set it in .env}"

each_service = pytest.mark.parametrize("name", SERVICES)
each_of_ours = pytest.mark.parametrize("name", OURS)


def parse(command: click.Command, arguments: list[str], parent: click.Context | None = None) -> click.Context:
    """Parse arguments as click would, down to the last subcommand, without running anything."""
    context = command.make_context(command.name, list(arguments), parent=parent)
    if not isinstance(command, click.Group):
        return context
    _, subcommand, rest = command.resolve_command(context, [*context._protected_args, *context.args])
    assert subcommand is not None
    return parse(subcommand, rest, context)


def celery_command(words: list[str]) -> tuple[str, click.Context]:
    """Return the name of the celery subcommand in a command line, and what its arguments were parsed to."""
    program, *arguments = words
    assert program == "celery"
    position = next(number for number, word in enumerate(arguments) if word in celery.commands)
    app = [word for word in arguments[:position] if word.startswith(("-A", "--app", "orchestrator"))]
    assert "orchestrator.queue:app" in " ".join(app)
    subcommand = celery.commands[arguments[position]]
    return arguments[position], subcommand.make_context(subcommand.name, arguments[position + 1 :])


def health_check(name: str) -> list[str]:
    kind, *words = SERVICES[name]["healthcheck"]["test"]
    assert kind in ("CMD", "CMD-SHELL")
    return shlex.split(words[0].replace("$$", "$")) if kind == "CMD-SHELL" else words


def test_the_services_are_those_of_an_installation() -> None:
    assert set(OURS) == {"migrate", "keys", "coordinator", "worker", "agent", "dashboard"}
    assert set(SERVICES) - set(OURS) == {"postgres", "redis", "memcached"}
    assert SERVICES["worker"]["deploy"]["replicas"] == 3


@pytest.mark.parametrize(
    ("name", "command"),
    [
        ("migrate", "upgrade"),
        ("coordinator", "coordinator"),
        ("worker", "worker"),
        ("agent", "agent"),
        ("dashboard", "dashboard"),
    ],
)
def test_command_is_one_that_isotherm_has(name: str, command: str) -> None:
    program, *arguments = OURS[name]["command"]
    assert program == "isotherm"
    assert parse(isotherm, arguments).command.name == command


def test_the_keys_are_made_before_any_process_and_the_agent_gets_its_own() -> None:
    shell, option, script = OURS["keys"]["command"]
    assert (shell, option) == ("sh", "-c")
    commands = [shlex.split(line) for line in script.split("&&")]
    parsed = [parse(isotherm, arguments) for _, *arguments in commands]
    assert [program for program, *_ in commands] == ["isotherm"] * 2
    assert [each.command.name for each in parsed] == ["create", "export"]
    assert [each.params["node"] for each in parsed] == ["host1", "host1"]
    mounted = dict(each.split(":") for each in OURS["keys"]["volumes"])
    (agents,) = (each.split(":") for each in OURS["agent"]["volumes"])
    written = Path(parsed[1].params["output"])
    in_agent = Path(agents[1]) / written.relative_to(mounted[agents[0]])
    assert in_agent == settings_of("agent", key_file=None).effective_key_file
    for name in set(OURS) - {"migrate", "keys"}:
        assert OURS[name]["depends_on"]["keys"] == {"condition": "service_completed_successfully"}
        if name != "agent":
            assert set(OURS[name]["volumes"]) <= set(OURS["keys"]["volumes"])
            assert not set(OURS[name]["volumes"]) & set(OURS["agent"]["volumes"])


def test_the_dashboard_knows_its_options_and_is_reached_from_outside_of_its_container() -> None:
    define_options()
    given = OURS["dashboard"]["command"][2:]
    assert list(argument_problems(given)) == []
    assert given == ["--address=0.0.0.0"]
    assert SERVICES["dashboard"]["ports"] == [f"127.0.0.1:{flower_options.port}:{flower_options.port}"]


def test_what_the_header_says_of_the_dashboard_lets_an_operator_act() -> None:
    """The lines that it proposes for .env are options, and go together."""
    header = (ROOT / "compose.yaml").read_text().partition("name: isotherm")[0]
    given = dict(re.findall(r"^#   FLOWER_(\w+)=(\S+)$", header, flags=re.MULTILINE))
    assert set(given) == {"BASIC_AUTH", "STACK_ACTIONS", "STACK_OPERATORS"}
    arguments = [f"--{name.lower()}={value}" for name, value in given.items()]
    define_options()
    assert list(argument_problems(arguments)) == []
    options = option_values(
        basic_auth=[given["BASIC_AUTH"]],
        stack_actions=given["STACK_ACTIONS"] == "true",
        stack_operators=[given["STACK_OPERATORS"]],
    )
    assert list(problems_of(options, embedded=False)) == []
    mode = Mode.of(options, embedded=settings_of("dashboard").embedded)
    assert refusal(mode, Visitor.of(mode, given["STACK_OPERATORS"]), "delete", "web") is None


@pytest.mark.parametrize(
    ("name", "shown"), [("coordinator", "coordinator"), ("worker", "worker"), ("agent", "agent-host1")]
)
def test_health_check_pings_the_process_of_its_own_container(name: str, shown: str) -> None:
    command, context = celery_command(health_check(name))
    assert command == "inspect"
    assert context.params["command"] == "ping"
    assert context.params["destination"] == [f"{shown}@$(hostname)"]
    assert "$$(hostname)" in SERVICES[name]["healthcheck"]["test"][1], "a single $ is compose's own"


@each_service
def test_service_becomes_healthy_or_ends(name: str) -> None:
    service = SERVICES[name]
    one_shot = service.get("restart") == "no"
    assert one_shot != ("healthcheck" in service)
    if not one_shot:
        assert health_check(name)
        assert service["restart"] == "unless-stopped"


@each_service
def test_what_a_service_waits_for_can_happen(name: str) -> None:
    for target, desired in SERVICES[name].get("depends_on", {}).items():
        one_shot = SERVICES[target].get("restart") == "no"
        assert (desired["condition"] == "service_completed_successfully") == one_shot
        if desired["condition"] == "service_healthy":
            assert "healthcheck" in SERVICES[target]


@pytest.mark.parametrize("name", sorted(set(OURS) - {"migrate", "keys", "agent"}))
def test_no_process_starts_before_the_schema_is_up_to_date(name: str) -> None:
    assert OURS[name]["depends_on"]["migrate"] == {"condition": "service_completed_successfully"}


@each_service
def test_volumes_are_declared(name: str) -> None:
    sources = [volume.partition(":")[0] for volume in SERVICES[name].get("volumes", [])]
    assert set(sources) <= set(COMPOSE["volumes"])


def settings_of(name: str, **others: str | None) -> Settings:
    """Return the settings that the processes of a service have."""
    environment: dict[str, str] = OURS[name]["environment"]
    given: dict[str, Any] = {}
    for variable, value in environment.items():
        if variable.startswith("ISOTHERM_"):
            *tables, last = variable.removeprefix("ISOTHERM_").lower().split("__")
            place = given
            for table in tables:
                place = place.setdefault(table, {})
            place[last] = json.loads(value) if value.startswith("[") else value
    return Settings(**{**given, **others})


@each_of_ours
def test_settings_are_known_and_valid(name: str) -> None:
    settings = settings_of(name)
    assert not settings.embedded
    hosts = {"broker_url": "redis", "cache_url": "memcached"}
    if name not in WITHOUT_DATABASE:
        hosts["database_url"] = "postgres"
    for setting, host in hosts.items():
        assert host in SERVICES
        assert f"{host}:" in getattr(settings, setting)


@each_of_ours
def test_one_flush_of_the_constraint_cache_is_one_for_all_processes(name: str) -> None:
    cache = make_constraint_cache(settings_of(name), "http")
    assert cache is not None
    assert cache.backend in COMMON_STORES
    assert settings_of(name).cache_url == settings_of("worker").cache_url
    host, _, port = settings_of(name).cache_url.partition(":")
    assert SERVICES[host]["command"][0] == host
    assert f" {port} " in SERVICES[host]["healthcheck"]["test"][1]


def test_what_one_service_was_told_another_need_not_ask(memcached_server: MemcachedServer) -> None:
    coordinator, worker = (
        make_constraint_cache(settings_of(name, cache_url=memcached_server.url), "compose")
        for name in ("coordinator", "worker")
    )
    assert coordinator is not None
    assert worker is not None
    asked = iter(["7"])
    assert coordinator.get("image", "cirros", ("p",), lambda: next(asked)) == "7"
    assert worker.get("image", "cirros", ("p",), lambda: next(asked)) == "7"
    assert worker.flush()
    assert coordinator.get("image", "cirros", ("p",), lambda: "8") == "8"


def test_the_image_has_the_libraries_of_what_the_settings_may_name() -> None:
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    installed = re.findall(r"\.\[([\w,]+)\]", (ROOT / ".docker" / "Dockerfile").read_text())
    # libvirt's is compiled against the daemon of the machine on which it is used, outside of containers.
    without = {"dev", "libvirt", "mutants"}
    assert set(installed[0].split(",")) == set(project["optional-dependencies"]) - without


@each_of_ours
def test_processes_share_one_image_that_exists(name: str) -> None:
    assert OURS[name]["image"] == "isotherm"
    dockerfile = (ROOT / OURS[name]["build"]["dockerfile"]).read_text()
    assert "\nUSER isotherm\n" in dockerfile


def test_the_image_is_built_from_what_is_there() -> None:
    dockerfile = ROOT / ".docker" / "Dockerfile"
    copied = [
        source
        for line in dockerfile.read_text().splitlines()
        if line.startswith("COPY") and "--from" not in line
        for source in line.split()[1:-1]
    ]
    let_through = [
        line[1:]
        for line in dockerfile.with_suffix(".dockerignore").read_text().splitlines()
        if line.startswith("!")
    ]
    assert sorted(copied) == sorted(let_through)
    assert all((ROOT / source).exists() for source in copied)


def test_no_password_is_written_down() -> None:
    passwords = [
        value
        for service in SERVICES.values()
        for variable, value in service.get("environment", {}).items()
        if "PASSWORD" in variable
    ]
    assert set(passwords) == {THE_PASSWORD}
    assert len(passwords) == len({"postgres", *OURS} - WITHOUT_DATABASE)


def test_the_agent_states_what_templates_may_use() -> None:
    settings = settings_of("agent")
    assert settings.agent.commands
    assert settings.node_directories
    # A configured directory is never made by the agent; its volume begins as the image has it where the keys are made.
    made = (ROOT / ".docker" / "Dockerfile").read_text()
    first = dict(volume.split(":") for volume in SERVICES["keys"]["volumes"])["agent-state"]
    assert all(
        f"{first}/{directory.relative_to(settings.state_directory)}" in made
        for directory in settings.node_directories
    )
    # It is no root, whose processes would need a user.
    assert "\nUSER isotherm\n" in made


def test_the_agent_sees_nothing_of_the_database() -> None:
    agent = SERVICES["agent"]
    said = yaml.safe_dump(agent)
    assert not any(word in said.lower() for word in ("postgres", "database", "password"))
    # Compose reads .env, with the password in it, for its own variables, and for who asks for it.
    assert [file["path"] for file in agent["env_file"]] == ["agent.env"]


def test_all_share_what_nodes_said() -> None:
    places = {where(settings_of(name)) for name in OURS}
    assert places == {("redis", "redis://redis:6379/0")}


def test_nothing_is_published_beyond_this_machine() -> None:
    ports = [port for service in SERVICES.values() for port in service.get("ports", [])]
    assert ports
    assert all(port.startswith("127.0.0.1:") for port in ports)
