"""Secrets in texts that come from outside, such as messages of exceptions, output of processes and bodies of answers.

:func:`masked` is the one function that removes them.
"""

import base64
import json
import re
from collections.abc import Collection, Iterable, Iterator, Mapping
from typing import Final
from urllib.parse import quote, quote_plus

#: Replaces a value that is not shown.
MASK: Final = "******"
#: Shorter values occur in any text by chance, and masking them would make it unreadable.
FEWEST_CHARACTERS: Final = 4
#: So do these: a hidden flag is no secret that a text could give away.
_COMMON: Final = frozenset({"true", "false", "null", "none"})
#: Base64 of fewer bytes is so short that other text contains it by chance.
_FEWEST_BYTES: Final = 6
_PERCENT: Final = r"%[0-9A-F]{2}"
#: What stands where a text was cut.
_CUTS: Final = ("...", "\u2026")
_MOST_CUTS: Final = 50


def masked(text: str, secrets: Iterable[str], *, fewest: int = FEWEST_CHARACTERS) -> str:
    """Return ``text`` with asterisks in place of each of ``secrets``, however it is encoded there.

    Each line of a secret counts as one, too. Found are the secret itself and its forms in JSON, in Python, in a shell,
    in YAML, in URLs, in HTML and XML, and in base64, where it may be a part of what was encoded. Where the text was cut
    (``...``), so are the beginning and the end of a secret. Values of less than ``fewest`` characters, and words such
    as "true", are left in the text.
    """
    if not text:
        return text
    forms = _forms(secrets, fewest)
    for form in forms:
        text = text.replace(form, MASK)
    return _without_parts(text, forms, fewest)


def longest_form(secrets: Iterable[str]) -> int:
    """Return the number of characters of the longest form of a secret that :func:`masked` finds; 0 for none."""
    return max(map(len, _forms(secrets, FEWEST_CHARACTERS)), default=0)


def texts_in(value: object) -> Iterator[str]:
    """Yield all texts and numbers in a value of plain types, without the keys of its maps."""
    match value:
        case str():
            yield value
        case bool() | None:
            return
        case Mapping():
            for child in value.values():
                yield from texts_in(child)
        case list() | tuple():
            for child in value:
                yield from texts_in(child)
        case bytes():
            yield value.decode(errors="replace")
        case _:
            yield str(value)


def _forms(secrets: Iterable[str], fewest: int) -> list[str]:
    """Return everything that is masked, the longest first, so that no part of a longer one is left."""
    whole = {secret for secret in secrets if _is_distinct(secret, fewest)}
    lines = {line.strip() for secret in whole for line in secret.splitlines()}
    parts = {line for line in lines if _is_distinct(line, max(fewest, FEWEST_CHARACTERS))}
    forms = {form for secret in whole | parts for form in _encoded(secret) if len(form) >= fewest}
    return sorted(forms, key=len, reverse=True)


def _is_distinct(text: str, fewest: int) -> bool:
    return len(text.strip()) >= fewest and text.strip().lower() not in _COMMON


def _encoded(secret: str) -> Iterator[str]:
    yield secret
    for escaped in (quote(secret, safe=""), quote(secret), quote_plus(secret)):
        yield escaped
        yield re.sub(_PERCENT, lambda found: found.group().lower(), escaped)
    for ascii_only in (True, False):
        escaped = json.dumps(secret, ensure_ascii=ascii_only)[1:-1]
        yield escaped
        yield escaped.replace("/", "\\/")
    yield repr(secret)[1:-1]
    yield ascii(secret)[1:-1]
    # Most commands mask nothing.
    import html

    yield html.escape(secret)
    yield html.escape(secret, quote=False)
    # In single quotes of a shell, and of YAML.
    yield secret.replace("'", "'\"'\"'")
    yield secret.replace("'", "''")
    packed = secret.encode(errors="surrogatepass")
    yield repr(packed)[2:-1]
    if len(packed) >= _FEWEST_BYTES:
        yield from _in_base64(packed)


def _in_base64(packed: bytes) -> Iterator[str]:
    """Yield what base64 makes of bytes wherever they begin: three bytes give four characters.

    Characters that depend on the bytes before or after are left out.
    """
    for before in range(3):
        encoded = base64.b64encode(b"\0" * before + packed).decode().rstrip("=")
        first = (before * 8 + 5) // 6
        last = (before + len(packed)) * 8 // 6
        core = encoded[first:last]
        yield core
        yield core.replace("+", "-").replace("/", "_")


def _without_parts(text: str, forms: Collection[str], fewest: int) -> str:
    """Return a text without the parts of secrets that stand where it was cut."""
    cuts = sorted(found.span() for mark in _CUTS for found in re.finditer(re.escape(mark), text))
    # From the end, so that what is replaced moves nothing that is still to be looked at.
    for start, end in reversed(cuts[:_MOST_CUTS]):
        after = max((_end(text, end, form, fewest) for form in forms), default=0)
        before = max((_beginning(text, start, form, fewest) for form in forms), default=0)
        if after:
            text = f"{text[:end]}{MASK}{text[end + after :]}"
        if before:
            text = f"{text[: start - before]}{MASK}{text[start:]}"
    return text


def _beginning(text: str, cut: int, form: str, fewest: int) -> int:
    """Return how many characters of the beginning of a secret stand before a cut."""
    lengths = range(min(len(form), cut), fewest - 1, -1)
    return next((length for length in lengths if text.endswith(form[:length], 0, cut)), 0)


def _end(text: str, cut: int, form: str, fewest: int) -> int:
    """Return how many characters of the end of a secret stand after a cut."""
    lengths = range(min(len(form), len(text) - cut), fewest - 1, -1)
    return next((length for length in lengths if text.startswith(form[-length:], cut)), 0)
