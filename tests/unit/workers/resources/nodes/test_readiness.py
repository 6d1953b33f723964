"""When a process counts as ready."""

import socket
import threading
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

import pytest

from orchestrator.definition import UNKNOWN
from orchestrator.plugins.properties import PropertyError, check_properties
from orchestrator.plugins.validating import property_faults
from tests.services.process import free_port
from workers.agent.commands.readiness import ReadyWhen
from workers.resources.nodes.process import NodeProcess
from workers.resources.nodes.readiness import Readiness


class Handler(BaseHTTPRequestHandler):
    """Answers with the status that the path names."""

    def do_GET(self) -> None:
        status = int(self.path.strip("/").partition("?")[0] or 200)
        self.send_response(status)
        if status == 302:
            self.send_header("Location", "/200")
        self.send_header("Content-Length", "0")
        self.end_headers()

    def log_message(self, format: str, *args: Any) -> None:  # noqa: A002 -- the base class names it
        pass


@pytest.fixture
def port() -> Iterator[int]:
    """The port of a web server that runs."""
    with ThreadingHTTPServer(("127.0.0.1", 0), Handler) as server:
        serving = threading.Thread(target=server.serve_forever)
        serving.start()
        yield server.server_address[1]
        server.shutdown()
        serving.join()


@pytest.mark.parametrize(
    ("tcp", "host", "port"),
    [
        ("8080", "127.0.0.1", 8080),
        (":8080", "127.0.0.1", 8080),
        ("db.example:5432", "db.example", 5432),
        ("[::1]:80", "::1", 80),
    ],
)
def test_tcp_takes_an_address_or_a_port(tcp: str, host: str, port: int) -> None:
    readiness = Readiness.parse({"tcp": tcp})
    assert (readiness.when, readiness.host, readiness.port) == (ReadyWhen.TCP, host, port)


def test_http_takes_a_url_with_path_and_query() -> None:
    readiness = Readiness.parse({"http": "http://localhost/ready?deep=1", "status": 204})
    assert (readiness.host, readiness.port, readiness.page) == ("localhost", 80, "/ready?deep=1")
    assert readiness.status == 204
    assert Readiness.parse({"http": "https://localhost"}).secure


@pytest.mark.parametrize(
    ("ready", "path", "message"),
    [
        ({"tcp": "web"}, ("ready", "tcp"), "found 'web'"),
        ({"tcp": "web:0"}, ("ready", "tcp"), "found 'web:0'"),
        ({"tcp": "web:65536"}, ("ready", "tcp"), "found 'web:65536'"),
        ({"http": "localhost:80"}, ("ready", "http"), "expected a URL such as"),
        ({"http": "ftp://localhost/"}, ("ready", "http"), "expected a URL such as"),
        ({"http": "http:///page"}, ("ready", "http"), "expected a URL such as"),
        ({"http": "http://localhost:x/"}, ("ready", "http"), "expected a URL such as"),
        ({"http": "http://localhost/a b"}, ("ready", "http"), "expected a URL such as"),
        ({"http": "http://localhost/\r\nX: y"}, ("ready", "http"), "expected a URL such as"),
    ],
)
def test_what_cannot_be_waited_for_is_refused(
    ready: dict[str, Any], path: tuple[str, ...], message: str
) -> None:
    with pytest.raises(PropertyError, match=message) as refused:
        Readiness.parse(ready)
    assert refused.value.path == path


@pytest.mark.parametrize(
    ("ready", "found"),
    [
        ({"tcp": "80", "exit": True}, "ready.tcp and ready.exit"),
        ({"tcp": "80", "exit": False}, "ready.tcp and ready.exit"),
        ({"tcp": UNKNOWN, "http": UNKNOWN, "exit": None}, "ready.tcp and ready.http"),
    ],
)
def test_no_more_than_one_thing_is_waited_for(ready: dict[str, Any], found: str) -> None:
    [error] = property_faults(NodeProcess, {"command": "x", "ready": ready})
    expected = "expected at most one of ready.tcp, ready.http and ready.exit"
    assert str(error) == f"ready: {expected}, found {found}"


def test_nothing_given_means_that_it_runs() -> None:
    for ready in (None, {}, {"tcp": None, "http": None, "exit": None}, {"exit": False}, {"tcp": UNKNOWN}):
        assert Readiness.parse(ready).when is ReadyWhen.RUNNING


def test_a_misspelt_kind_gets_the_nearest_name() -> None:
    [error] = check_properties(
        NodeProcess.properties_schema, {"command": "x", "ready": {"htpp": "http://a/"}}
    )
    assert error.path == ("ready", "htpp")
    assert "http" in error.hint


def test_a_port_is_ready_once_it_takes_connections() -> None:
    with socket.socket() as listener:
        listener.bind(("127.0.0.1", 0))
        readiness = Readiness.parse({"tcp": str(listener.getsockname()[1])})
        assert "Connection refused" in readiness.fault()
        assert not readiness.occupied()
        listener.listen()
        assert readiness.fault() == ""
        assert readiness.occupied()


def test_a_page_is_ready_once_it_answers_with_the_status(port: int) -> None:
    assert Readiness.parse({"http": f"http://127.0.0.1:{port}/200"}).fault() == ""
    assert Readiness.parse({"http": f"http://127.0.0.1:{port}/404", "status": 404}).fault() == ""
    assert (
        Readiness.parse({"http": f"http://127.0.0.1:{port}/503"}).fault() == "/503 answers 503, expected 200"
    )


def test_redirections_are_an_answer_of_their_own(port: int) -> None:
    assert (
        Readiness.parse({"http": f"http://127.0.0.1:{port}/302"}).fault() == "/302 answers 302, expected 200"
    )


def test_a_proxy_in_the_environment_is_not_asked(port: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("http_proxy", f"http://127.0.0.1:{free_port()}")
    assert Readiness.parse({"http": f"http://127.0.0.1:{port}/"}).fault() == ""


def test_what_speaks_no_http_is_not_ready() -> None:
    with socket.socket() as listener:
        listener.bind(("127.0.0.1", 0))
        listener.listen()

        def answer() -> None:
            connection, _ = listener.accept()
            with connection:
                connection.recv(1024)
                connection.sendall(b"+PONG\r\n")

        answering = threading.Thread(target=answer)
        answering.start()
        port = listener.getsockname()[1]
        assert Readiness.parse({"http": f"http://127.0.0.1:{port}/"}).fault()
        answering.join()
