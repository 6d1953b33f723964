"""Answers on their way out: what is compressed, what has a tag, and what a client with that tag gets."""

import gzip
from collections.abc import Mapping

import falcon
import pytest

from orchestrator.api.answers import SMALL_BYTES, takes_gzip
from tests.unit.orchestrator.api.conftest import TEMPLATE, Client

LARGE = {**TEMPLATE, "description": "a long text " * SMALL_BYTES}
GZIP = {"Accept-Encoding": "gzip, deflate"}
TYPE = "/resource_types/OS::Heat::ResourceGroup"


@pytest.fixture(scope="module")
def path(client: Client) -> str:
    return client.create("large", template=LARGE, files={"f": "text"})


@pytest.mark.parametrize(
    ("accepted", "takes"),
    [
        ("gzip", True),
        ("br, GZIP ; q=0.5", True),
        ("*", True),
        ("*;q=0.0, gzip", True),
        ("", False),
        ("br", False),
        ("gzip;q=0", False),
        ("*, gzip; q=0.000", False),
        ("identity, *;q=0", False),
    ],
)
def test_gzip_is_taken_where_the_header_says_so(accepted: str, takes: bool) -> None:
    assert takes_gzip(accepted) == takes


def test_large_answer_is_compressed_for_who_takes_it(client: Client, path: str) -> None:
    plain = client.ask("GET", f"{path}/template", headers={"Accept-Encoding": "identity"})
    packed = client.ask("GET", f"{path}/template", headers=GZIP)
    assert (plain.headers["vary"], packed.headers["vary"]) == ("Accept-Encoding", "Accept-Encoding")
    assert "content-encoding" not in plain.headers
    assert packed.headers["content-encoding"] == "gzip"
    assert int(packed.headers["content-length"]) < len(plain.content)
    assert gzip.decompress(packed.content) == plain.content
    assert plain.json == LARGE
    assert packed.headers["content-type"] == falcon.MEDIA_JSON


def test_small_answers_and_those_of_signed_addresses_are_sent_as_they_are(client: Client, path: str) -> None:
    missing = client.ask("GET", "/stacks/none/none/template", headers=GZIP)
    signed = client.ask("GET", f"{path}/template", headers=GZIP, params={"signature": "x"})
    assert (missing.status, signed.status) == (falcon.HTTP_NOT_FOUND, falcon.HTTP_OK)
    for answer in (missing, signed):
        assert "content-encoding" not in answer.headers
        assert "vary" not in answer.headers


@pytest.mark.parametrize("headers", [{}, GZIP])
def test_what_a_client_has_is_not_sent_again(client: Client, path: str, headers: Mapping[str, str]) -> None:
    parts = (f"{path}/template", f"{path}/environment", f"{path}/files", TYPE, f"{TYPE}/template")
    for part in parts:
        first = client.ask("GET", part, headers=headers)
        tag = first.headers["etag"]
        assert tag.startswith('"')
        assert first.headers["cache-control"] == "private, no-cache"
        again = client.ask("GET", part, headers={**headers, "If-None-Match": f'"x", {tag}'})
        assert (again.status, again.content) == (falcon.HTTP_NOT_MODIFIED, b""), part
        assert again.headers["etag"] == tag
        other = client.ask("GET", part, headers={**headers, "If-None-Match": '"x"'})
        assert (other.status, other.content) == (falcon.HTTP_OK, first.content)


def test_tag_is_that_of_one_encoding_and_one_definition(client: Client, path: str) -> None:
    plain = client.ask("GET", f"{path}/template").headers["etag"]
    packed = client.ask("GET", f"{path}/template", headers=GZIP).headers["etag"]
    assert plain != packed
    changed = {**LARGE, "description": "short"}
    assert client.ask("PUT", path, json={"template": changed}).status == falcon.HTTP_ACCEPTED
    client.wait(path)
    answer = client.ask("GET", f"{path}/template", headers={"If-None-Match": f"{plain}, {packed}"})
    assert answer.status == falcon.HTTP_OK
    assert answer.json == changed


def test_other_answers_and_those_to_who_may_not_see_have_no_tag(
    client: Client, clients: Mapping[str, Client], path: str
) -> None:
    assert "etag" not in client.ask("GET", path).headers
    tag = client.ask("GET", f"{path}/environment").headers["etag"]
    refused = clients["rita"].ask("GET", f"{path}/environment", headers={"If-None-Match": tag})
    assert refused.status == falcon.HTTP_FORBIDDEN
    assert "etag" not in refused.headers
