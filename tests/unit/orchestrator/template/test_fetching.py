"""Fetching over http: bounded, and never from anywhere else."""

import socket
from collections.abc import Iterator

import pytest

from orchestrator.template.fetching import CannotFetch, fetch
from tests.services.receiver import Reply
from tests.unit.orchestrator.template.web import Site


@pytest.fixture(name="site")
def _site(monkeypatch: pytest.MonkeyPatch) -> Iterator[Site]:
    for name in ("http_proxy", "https_proxy", "HTTP_PROXY", "HTTPS_PROXY", "all_proxy", "ALL_PROXY"):
        monkeypatch.delenv(name, raising=False)
    with Site() as site:
        yield site


def refusal(url: str, *, max_bytes: int = 1000, seconds: float = 60.0) -> str:
    with pytest.raises(CannotFetch) as caught:
        fetch(url, max_bytes=max_bytes, seconds=seconds)
    return str(caught.value)


@pytest.mark.parametrize("path", ["/a.yaml", "/a%20b.yaml", "/a.yaml?version=2"])
def test_what_the_server_has_is_returned(site: Site, path: str) -> None:
    assert fetch(site.put(path, "é: 1\n"), max_bytes=1000) == "é: 1\n".encode()
    assert site.asked == [path]


def test_what_a_url_cannot_hold_is_escaped(site: Site) -> None:
    site.put("/a%20%C3%A9", "x")
    assert fetch(f"{site.url}/a é", max_bytes=1000) == b"x"


@pytest.mark.parametrize("endless", [False, True])
def test_of_what_is_too_large_one_byte_more_is_read(site: Site, endless: bool) -> None:
    site.pages["/large"] = Reply(body=b"x" * 5000, endless=endless)
    assert len(fetch(f"{site.url}/large", max_bytes=1000)) == 1001


def test_redirects_are_followed_and_what_comes_with_them_is_not_read(site: Site) -> None:
    site.put("/there", "x")
    site.redirect("/here", "there", endless=True)
    assert fetch(site.redirect("/start", f"{site.url}/here"), max_bytes=1000) == b"x"


@pytest.mark.parametrize(
    "target", ["file:///etc/passwd", "ftp://127.0.0.1/x", "data:,x", "gopher://127.0.0.1/"]
)
def test_redirects_do_not_leave_the_web(site: Site, target: str) -> None:
    assert "cannot be fetched" in refusal(site.redirect("/start", target))
    assert site.asked == ["/start"]


def test_redirects_do_not_go_on_for_ever(site: Site) -> None:
    told = refusal(site.redirect("/start", "/start"))
    assert told.endswith("the server answered with a redirect (302) too many, or to where none may lead")


@pytest.mark.parametrize(
    ("status", "words"), [(404, "404 (Not Found)"), (500, "500 (Internal Server Error)"), (799, "799")]
)
def test_a_refusal_of_the_server_is_told(site: Site, status: int, words: str) -> None:
    site.pages["/x"] = Reply(status=status, body=b"a long story")
    assert refusal(f"{site.url}/x") == f"cannot be fetched: the server answered {words}"


def test_a_file_that_ends_too_early_is_refused(site: Site) -> None:
    site.pages["/x"] = Reply(body=b"half", headers={"Content-Length": "8"})
    assert "left off in the middle" in refusal(f"{site.url}/x")


@pytest.mark.parametrize(
    "url",
    [
        "file:///etc/passwd",
        "ftp://127.0.0.1/x",
        "/etc/passwd",
        "http:///x",
        "http://[x/",
        "https://user:word@127.0.0.1/x",
        "http://user@127.0.0.1/x",
        "http://127.0.0.1:port/x",
    ],
)
def test_what_is_no_good_url_is_not_asked_for(url: str) -> None:
    told = refusal(url)
    assert "cannot be fetched" in told
    assert "word" not in told.replace("password", "")


def test_a_server_that_is_not_there_or_does_not_answer_is_told() -> None:
    with socket.create_server(("127.0.0.1", 0)) as silent:
        port = silent.getsockname()[1]
        assert "takes too long" in refusal(f"http://127.0.0.1:{port}/x", seconds=0.1)
    assert "Connection refused" in refusal(f"http://127.0.0.1:{port}/x")


def test_what_is_no_http_is_told(site: Site) -> None:
    site.pages["/x"] = Reply(
        body=b"no chunk", headers={"Transfer-Encoding": "chunked", "Content-Length": "8"}
    )
    assert "cannot be fetched" in refusal(f"{site.url}/x")
