"""Functions that hash: digest."""

import hashlib
from typing import ClassVar, Final

from orchestrator.definition import StackDefinition
from orchestrator.template.functions.base import (
    LATER,
    Departure,
    Example,
    Function,
    FunctionError,
    expect_list,
    expect_text,
    kind_of,
)
from orchestrator.template.versions import V2015_04_30, Lifetime

#: Algorithms without a fixed digest length.
_OF_ANY_LENGTH: Final = frozenset({"shake_128", "shake_256"})
#: The algorithms that every machine has, so that a template gives the same result everywhere.
ALGORITHMS: Final = frozenset(hashlib.algorithms_guaranteed - _OF_ANY_LENGTH)


class Digest(Function):
    """``digest: [algorithm, text]``: the digest of a text, in hexadecimal digits.

    The algorithms are blake2b, blake2s, md5, sha1, sha224, sha256, sha384, sha512, sha3_224, sha3_256, sha3_384 and
    sha3_512, in any case. The text is taken as latin-1: characters beyond it (above U+00FF) are refused.
    """

    name = "digest"
    departures: ClassVar[tuple[Departure, ...]] = (
        Departure(
            "algorithms",
            "all that the installed OpenSSL offers",
            "those of every Python",
        ),
    )
    lifetime = Lifetime(V2015_04_30)
    pure = True
    examples: ClassVar[tuple[Example, ...]] = (
        Example("digest: [md5, hello]", "5d41402abc4b2a76b9719d911017c592"),
    )

    def check(self) -> None:
        if isinstance(self.arguments, LATER):
            return
        algorithm, text = expect_list(self.arguments, 2, "an algorithm and a text")
        if not isinstance(algorithm, LATER):
            self._algorithm(algorithm)
        if not isinstance(text, LATER):
            _as_bytes(text)

    def call(self, arguments: object, stack: StackDefinition) -> str:
        algorithm, text = expect_list(arguments, 2, "an algorithm and a text")
        # Declared as not used for security, since machines that forbid md5 could not evaluate the template otherwise.
        return hashlib.new(self._algorithm(algorithm), _as_bytes(text), usedforsecurity=False).hexdigest()

    def _algorithm(self, name: object) -> str:
        if not isinstance(name, str):
            raise FunctionError(f"expected the algorithm's name, found {kind_of(name)}", path=(0,))
        lower = name.lower()
        known = f"algorithms: {', '.join(sorted(ALGORITHMS))}"
        if lower in _OF_ANY_LENGTH:
            refused = " and ".join(sorted(_OF_ANY_LENGTH))
            raise FunctionError(f"digests by {refused} have no fixed length", path=(0,), hint=known)
        if lower not in ALGORITHMS:
            hint = self.scope.nearest.hint(lower, sorted(ALGORITHMS), known)
            raise FunctionError("there is no algorithm of this name", path=(0,), hint=hint)
        return lower


def _as_bytes(text: object) -> bytes:
    try:
        return expect_text(text, 1).encode("latin-1")
    except UnicodeEncodeError as error:
        message = "only characters up to U+00FF can be digested"
        raise FunctionError(f"{message}, but character {error.start + 1} is beyond it", path=(1,)) from None
