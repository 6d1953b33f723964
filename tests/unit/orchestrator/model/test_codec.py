"""Stored values: encrypted for one place, read in the forms of earlier versions until these are refused."""

import base64
from concurrent.futures import ThreadPoolExecutor

import msgpack
import pytest
from cryptography.fernet import Fernet
from cryptography.hazmat.primitives.ciphers.aead import AESGCMSIV
from cryptography.hazmat.primitives.hashes import SHA256
from cryptography.hazmat.primitives.kdf.hkdf import HKDF

from orchestrator.errors import InvalidInput
from orchestrator.model.codec import Codec, MisplacedValue, UnreadableSecret, UnreadableValue, plain

OLD, NEW = ("Y1bBqCh5B1mYV0gxbQ7rVbW6Tq7l4V3m1t5i0y3r2nA=", "Nn7p5V1QbYy8C0m0q2mXo3vX1tq3x6gkz0a1bB2cC3E=")
PLACE = "resource", "data", "row-a"


def token(value: object, key: str = OLD) -> bytes:
    """Return a value as earlier versions stored it."""
    return b"\x01" + Fernet(key).encrypt(msgpack.packb(value))


def test_a_value_is_read_at_its_place_alone() -> None:
    codec = Codec([OLD])
    packed = codec.pack({"password": "hunter2"}, PLACE)
    assert codec.unpack(packed, PLACE) == {"password": "hunter2"}
    assert b"hunter2" not in packed
    for other in [("resource", "data", "row-b"), ("resource", "token", "row-a"), ("node", "data", "row-a")]:
        with pytest.raises(MisplacedValue) as refused:
            codec.unpack(packed, other)
        sentence = str(refused.value)
        assert all(repr(part) in sentence for part in other)
        assert "restore the row from a backup" in sentence
        assert "hunter2" not in sentence


def test_parts_of_a_key_do_not_run_into_each_other() -> None:
    codec = Codec([OLD])
    packed = codec.pack(1, ("annotation", "value", "ab", "c"))
    with pytest.raises(MisplacedValue):
        codec.unpack(packed, ("annotation", "value", "a", "bc"))


def test_a_changed_value_is_refused_wherever_it_was_changed() -> None:
    codec = Codec([OLD])
    packed = codec.pack("value", PLACE)
    for index in range(len(packed)):
        changed = packed[:index] + bytes([packed[index] ^ 4]) + packed[index + 1 :]
        if index == 0:
            continue  # Another form: the next tests are about these.
        with pytest.raises((MisplacedValue, UnreadableSecret)):
            codec.unpack(changed, PLACE)
    for end in range(1, len(packed)):
        with pytest.raises((MisplacedValue, UnreadableSecret)):
            codec.unpack(packed[:end], PLACE)


def test_the_form_is_as_the_docs_say() -> None:
    packed = Codec([OLD]).pack("value", PLACE)
    derived = HKDF(algorithm=SHA256(), length=36, salt=None, info=b"isotherm values").derive(
        base64.urlsafe_b64decode(OLD)
    )
    assert packed[:1] == b"\x02"
    assert packed[1:5] == derived[32:]
    opened = AESGCMSIV(derived[:32]).decrypt(packed[5:17], packed[17:], msgpack.packb(PLACE))
    assert msgpack.unpackb(opened) == "value"


def test_the_first_key_encrypts_and_every_key_decrypts() -> None:
    packed = Codec([OLD]).pack("value", PLACE)
    both = Codec([NEW, OLD])
    assert both.unpack(packed, PLACE) == "value"
    again = both.packed_again(packed, PLACE)
    assert again.startswith(both.prefix)
    assert Codec([NEW]).unpack(again, PLACE) == "value"
    with pytest.raises(UnreadableSecret, match="no configured encryption key opens"):
        Codec([NEW]).unpack(packed, PLACE)
    with pytest.raises(UnreadableSecret, match="no encryption key is configured"):
        Codec().unpack(packed, PLACE)


@pytest.mark.parametrize("stored", [token("value"), plain("value")], ids=["a Fernet token", "plain"])
def test_earlier_forms_are_read_until_everything_is_encrypted_anew(stored: bytes) -> None:
    codec = Codec([NEW, OLD])
    assert codec.unpack(stored, PLACE) == "value"
    codec.refuses_unbound = lambda: True
    with pytest.raises(MisplacedValue, match=r"table 'resource', row 'row-a', column 'data': .* is refused"):
        codec.unpack(stored, PLACE)
    assert codec.unpack(codec.pack("value", PLACE), PLACE) == "value"


def test_without_keys_there_is_but_the_plain_form() -> None:
    codec = Codec(refuses_unbound=lambda: True)
    assert codec.prefix == b"\x00"
    assert codec.pack("value", PLACE) == plain("value")
    assert codec.unpack(plain("value"), PLACE) == "value"


def test_what_is_no_value_is_unreadable() -> None:
    codec = Codec([OLD])
    unsound = plain({(1, 2): 3})
    with pytest.raises(UnreadableValue, match="cannot be read"):
        codec.unpack(codec.packed_again(unsound, PLACE), PLACE)


def test_what_is_no_key_is_named() -> None:
    with pytest.raises(InvalidInput, match="not a Fernet key"):
        Codec(["short"])


def test_one_codec_serves_many_threads() -> None:
    codec = Codec([OLD])

    def there_and_back(number: int) -> bool:
        place = "resource", "data", str(number)
        return bool(codec.unpack(codec.pack(number, place), place) == number)

    with ThreadPoolExecutor(8) as pool:
        assert all(pool.map(there_and_back, range(2_000)))
