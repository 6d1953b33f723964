"""Secrets are taken out of texts, however they are encoded there, and nothing else is."""

import base64
import html
import json
import shlex
from urllib.parse import quote, quote_plus

import pytest
import yaml
from hypothesis import given
from hypothesis import strategies as st

from hooks.values.secret_texts import masked

SECRET = "p'w \"of/ä+&<one>\\"


def test_long_values_are_masked_before_the_short_ones_they_hold() -> None:
    assert masked("secret-tail secret on", ["secret", "secret-tail", "on"]) == "****** ****** on"


@pytest.mark.parametrize(
    "encode",
    [
        str,
        repr,
        ascii,
        json.dumps,
        lambda text: json.dumps(text, ensure_ascii=False),
        lambda text: json.dumps(text).replace("/", "\\/"),
        quote,
        lambda text: quote(text, safe=""),
        lambda text: quote(text, safe="").lower(),
        quote_plus,
        html.escape,
        shlex.quote,
        lambda text: yaml.safe_dump(text, allow_unicode=True),
        lambda text: repr(text.encode()),
    ],
)
def test_encoded_secrets_are_masked(encode: object) -> None:
    assert callable(encode)
    encoded = encode(SECRET).strip()
    found = masked(f"before {encoded} after", [SECRET])
    assert found.startswith("before ")
    assert found.endswith(" after")
    assert "******" in found
    assert "of" not in found


@given(st.binary(max_size=8), st.text(min_size=9, max_size=30), st.binary(max_size=8), st.booleans())
def test_a_secret_is_masked_in_base64_wherever_it_begins(
    before: bytes, secret: str, after: bytes, url: bool
) -> None:
    if secret.strip() != secret or len(secret.splitlines()) != 1:
        return
    encode = base64.urlsafe_b64encode if url else base64.b64encode
    packed = encode(before + secret.encode(errors="surrogatepass") + after).decode()
    assert "******" in masked(packed, [secret])


def test_each_line_of_a_secret_is_masked() -> None:
    key = "-----BEGIN KEY-----\nMIIE1234\n  QQpp==\n-----END KEY-----\n"
    assert masked("got MIIE1234, then QQpp==", [key]) == "got ******, then ******"
    assert masked(f"all: {key}!", [key]) == "all: ******!"


def test_words_that_are_everywhere_are_left() -> None:
    assert masked("1 is true or True, not null", ["1", "is", "true", "null", "", " "]) == (
        "1 is true or True, not null"
    )


def test_halves_of_secrets_are_masked_where_the_text_was_cut() -> None:
    assert masked("found 'abcdefgh...', expected a number", ["abcdefghijkl"]) == (
        "found '******...', expected a number"
    )
    assert masked("...ghijkl and more", ["abcdefghijkl"]) == "...****** and more"
    assert masked("abcdef\u2026", ["abcdefghijkl"]) == "******\u2026"
    # Elsewhere they may be words of their own.
    assert masked("abcdefgh and ...", ["abcdefghijkl"]) == "abcdefgh and ..."


@given(st.text(min_size=4, max_size=20), st.text(max_size=20), st.text(max_size=20))
def test_no_secret_is_left_in_any_text(secret: str, before: str, after: str) -> None:
    if len(secret.strip()) < 4 or secret.strip().lower() in ("true", "false", "null", "none"):
        return
    if "*" not in secret:
        assert secret not in masked(before + secret + after, [secret])
