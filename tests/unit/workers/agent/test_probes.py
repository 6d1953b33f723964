"""What a template may reach from a machine that several projects share: its own ports there, and listed targets."""

import socket
import subprocess
import sys
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any
from uuid import uuid4

import psutil
import pytest

from hooks.http.targets import Targets
from orchestrator.config.nodes import ProjectSettings
from orchestrator.config.settings import load_settings
from orchestrator.errors import InvalidInput
from orchestrator.nodes.rpc.errors import NotOurs, RpcRefused
from tests.unit.workers.agent.agents import agent_of, ask, spec
from tests.unit.workers.agent.sharing import ACME, OTHER, ask_as, change_as, shared_agent
from tests.waiting import until
from workers.agent.agent import Agent
from workers.agent.commands.reach import OutOfReach, Reach
from workers.agent.commands.readiness import Probe, ReadyWhen

#: Takes connections on a port that the system chooses, and writes it into the file that is named.
SERVER = """
import socket, sys, pathlib
server = socket.create_server((sys.argv[2], 0))
pathlib.Path(sys.argv[1]).write_text(str(server.getsockname()[1]) + '.')
while True:
    connection, _ = server.accept()
    connection.recv(1024)
    connection.sendall(b'HTTP/1.1 200 OK\\r\\n\\r\\n')
    connection.close()
"""


@contextmanager
def listener() -> Iterator[int]:
    """Take connections on a port of this machine, as a service of the operator or another tenant does."""
    with socket.create_server(("127.0.0.1", 0)) as server:
        yield server.getsockname()[1]


def tcp(port: int, host: str = "127.0.0.1") -> Any:
    return Probe(when=ReadyWhen.TCP, host=host, port=port).to_wire()


def http(port: int, host: str = "127.0.0.1") -> Any:
    return Probe(when=ReadyWhen.HTTP, host=host, port=port, page="/").to_wire()


def served(directory: Path, make: Callable[[list[str]], object], bound: str = "127.0.0.1") -> int:
    """Have a server made by its command; return its port."""
    file = directory / f"port-{uuid4().hex}"
    make([sys.executable, "-c", SERVER, str(file), bound])
    until(lambda: file.exists() and file.read_text().endswith("."))
    return int(file.read_text()[:-1])


@pytest.fixture
def agent(tmp_path: Path) -> Agent:
    return shared_agent(
        tmp_path, directories=(tmp_path,), commands=["*"], hypervisors={"process": {}, "fake": {}}
    )


@pytest.fixture
def row(agent: Agent) -> Iterator[str]:
    name = f"p{uuid4().hex}"
    yield name
    change_as(agent, ACME, "process_kill", uuid=name)


def run(agent: Agent, row: str, argv: list[str], probe: Any = None) -> Any:
    given = {"run": "1", "cwd": "", "env": {}, "probe": probe or Probe().to_wire()}
    return change_as(agent, ACME, "process_start", uuid=row, argv=argv, **given)


@pytest.mark.parametrize("bound", ["127.0.0.1", "0.0.0.0"])
def test_own_port_of_a_process_is_reached_and_no_other(
    agent: Agent, row: str, tmp_path: Path, bound: str
) -> None:
    own = served(tmp_path, lambda argv: run(agent, row, argv), bound)
    with listener() as others:
        for probe in (tcp(own), http(own), tcp(own, "localhost")):
            assert ask_as(agent, ACME, "process_look", uuid=row, probe=probe)["fault"] == ""
        seen = {
            ask_as(agent, ACME, "process_look", uuid=row, probe=kind(port))["fault"].partition(": ")[2]
            for port in (others, 1)
            for kind in (tcp, http)
        }
    # Whether anything else listens there is not told.
    assert seen == {"none of its own processes listens there"}


@pytest.mark.parametrize(
    ("bound", "probed"),
    [("::", "127.0.0.1"), ("0.0.0.0", "::1"), ("127.0.0.2", "127.0.0.1"), ("::1", "127.0.0.1")],
)
def test_own_port_at_another_address_is_no_way_to_anothers(
    agent: Agent, row: str, tmp_path: Path, bound: str, probed: str
) -> None:
    """A server of IPv6 alone, for one, leaves the same port of IPv4 to others."""
    family = socket.AF_INET6 if ":" in probed else socket.AF_INET
    program = SERVER.replace(
        "socket.create_server((sys.argv[2], 0))",
        "socket.create_server((sys.argv[2], int(sys.argv[3])), "
        "family=socket.AF_INET6 if ':' in sys.argv[2] else socket.AF_INET)",
    )
    try:
        others = socket.create_server((probed, 0), family=family)
    except OSError:
        pytest.skip("the machine has no IPv6")
    with others:
        port, file = others.getsockname()[1], tmp_path / "port"
        run(agent, row, [sys.executable, "-c", program, str(file), bound, str(port)])
        until(lambda: file.exists() and file.read_text().endswith("."))
        fault = ask_as(agent, ACME, "process_look", uuid=row, probe=tcp(port, probed))["fault"]
    assert "own processes" in fault


def test_server_of_both_families_is_reached_by_either(agent: Agent, row: str, tmp_path: Path) -> None:
    program = SERVER.replace(
        "socket.create_server((sys.argv[2], 0))",
        "socket.create_server(('::', 0), family=socket.AF_INET6, dualstack_ipv6=True)",
    )
    if not socket.has_dualstack_ipv6():
        pytest.skip("the machine has no IPv6")
    file = tmp_path / "port"
    run(agent, row, [sys.executable, "-c", program, str(file)])
    until(lambda: file.exists() and file.read_text().endswith("."))
    for host in ("127.0.0.1", "::1", "localhost"):
        probe = tcp(int(file.read_text()[:-1]), host)
        assert ask_as(agent, ACME, "process_look", uuid=row, probe=probe)["fault"] == ""


def test_port_in_a_network_of_its_own_is_none_of_the_machine(agent: Agent, row: str, tmp_path: Path) -> None:
    apart = ["unshare", "--net", sys.executable]
    if subprocess.run([*apart, "-c", ""], capture_output=True).returncode:
        pytest.skip("this user cannot make networks")
    program = SERVER.replace("0))", "int(sys.argv[3])))")
    with listener() as others:
        file = tmp_path / "port"
        run(agent, row, [*apart, "-c", program, str(file), "0.0.0.0", str(others)])
        until(lambda: file.exists() and file.read_text().endswith("."))
        fault = ask_as(agent, ACME, "process_look", uuid=row, probe=tcp(others))["fault"]
    assert "own processes" in fault


def test_own_port_is_reached_by_the_machines_own_addresses(agent: Agent, row: str, tmp_path: Path) -> None:
    cards = [each.address for card in psutil.net_if_addrs().values() for each in card]
    outer = next((each for each in cards if each.count(".") == 3 and not each.startswith("127.")), None)
    if outer is None:
        pytest.skip("the machine has no other address")
    own = served(tmp_path, lambda argv: run(agent, row, argv), "0.0.0.0")
    assert ask_as(agent, ACME, "process_look", uuid=row, probe=tcp(own, outer))["fault"] == ""


@pytest.mark.parametrize(
    "host", ["10.0.0.1", "169.254.169.254", "intranet.example.org", "192.0.2.1", "::ffff:10.0.0.1"]
)
def test_network_of_the_operator_is_not_probed(
    agent: Agent, row: str, host: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    def connected(*_given: Any, **_named: Any) -> Any:
        raise AssertionError("it was connected to, or looked up")

    monkeypatch.setattr(socket, "create_connection", connected)
    monkeypatch.setattr(socket, "getaddrinfo", connected)
    expected = r"may not be probed: allowed are none \(setting agent\.targets.*agent\.projects\.acme\.targets"
    for probe in (tcp(80, host), http(80, host)):
        with pytest.raises(RpcRefused, match=expected):
            run(agent, row, ["sleep", "600"], probe)
        with pytest.raises(RpcRefused, match=expected):
            ask_as(agent, ACME, "ready_look", probe=probe)
    assert ask_as(agent, ACME, "process_look", uuid=row)["status"] is None


def test_listed_target_is_probed_for_its_project_alone(tmp_path: Path) -> None:
    with listener() as port:
        agent = shared_agent(
            tmp_path, projects={"acme": ProjectSettings(targets=(f"127.0.0.1:{port}", "127.0.0.2"))}
        )
        assert ask_as(agent, ACME, "ready_look", probe=tcp(port)) == ""
        assert "own processes" in ask_as(agent, OTHER, "ready_look", probe=tcp(port))


def test_port_of_an_instance_is_its_own(agent: Agent, tmp_path: Path) -> None:
    name = {"hypervisor": "process", "name": f"box{uuid4().hex}"}

    def make(argv: list[str]) -> None:
        # The server is a child of the command.
        command = ["sh", "-c", '"$@" & wait', "sh", *argv]
        change_as(
            agent, ACME, "instance_start", hypervisor="process", spec=spec(name["name"], command=command)
        )

    try:
        own = served(tmp_path, make)
        assert ask_as(agent, ACME, "ready_look", probe=http(own), **name) == ""
        assert "own processes" in ask_as(agent, ACME, "ready_look", probe=http(own))
        with listener() as others:
            assert "own processes" in ask_as(agent, ACME, "ready_look", probe=tcp(others), **name)
        with pytest.raises(NotOurs):
            ask_as(agent, OTHER, "ready_look", probe=http(own), **name)
    finally:
        change_as(agent, ACME, "instance_remove", **name)


def test_instance_that_is_no_process_of_the_machine_has_no_ports_there(agent: Agent) -> None:
    change_as(agent, ACME, "instance_start", hypervisor="fake", spec=spec("box"))
    with listener() as port:
        fault = ask_as(agent, ACME, "ready_look", probe=tcp(port), hypervisor="fake", name="box")
    assert "own processes" in fault


def test_machine_of_ones_own_probes_what_it_likes(tmp_path: Path) -> None:
    with listener() as port:
        assert ask(agent_of(tmp_path), "ready_look", probe=tcp(port)) == ""


def test_address_that_was_checked_is_the_one_that_is_connected_to(monkeypatch: pytest.MonkeyPatch) -> None:
    answers = iter([["10.8.0.7", "127.0.0.1"], ["127.0.0.1"]])

    def look_up(host: str, port: int, **_given: Any) -> Any:
        return [(None, None, None, "", (address, port)) for address in next(answers)]

    monkeypatch.setattr(socket, "getaddrinfo", look_up)
    reach = Reach(Targets(["10.8.0.0/16"]), tuple)
    # A name that is another the second time is not looked up a second time.
    assert reach.address("db.example.org", 80) == "10.8.0.7"
    with pytest.raises(OutOfReach, match="no address that may be probed"):
        reach.address("db.example.org", 80)


def test_answer_that_drips_does_not_hold_up_the_agent() -> None:
    with socket.create_server(("127.0.0.1", 0)) as server:
        ended = threading.Event()

        def drip() -> None:
            connection, _ = server.accept()
            with connection:
                connection.recv(1024)
                try:
                    while not ended.wait(0.05):
                        connection.sendall(b"x")
                except OSError:
                    return

        dripping = threading.Thread(target=drip)
        dripping.start()
        fault = Probe(when=ReadyWhen.HTTP, host="127.0.0.1", port=server.getsockname()[1], page="/").fault()
        ended.set()
        dripping.join()
    assert "timed out" in fault


def test_entry_that_is_no_target_is_refused_with_the_settings(monkeypatch: pytest.MonkeyPatch) -> None:
    for given in ({"targets": ["http://x/"]}, {"projects": {"acme": {"targets": ["http://x/"]}}}):
        with pytest.raises(InvalidInput, match="targets"):
            load_settings(agent=given)
