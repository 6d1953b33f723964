"""Claims about signatures: who has no secret can neither make, change nor repeat a message."""

import hashlib
import hmac

import pytest
from hypothesis import given
from hypothesis import strategies as st

from hooks.http.signing import BadSignature, header_of, signature, verify

SECRET, OTHER = "a secret of length", "another such secret"
AT = 1_767_225_600


def test_signature_is_the_one_that_the_documentation_describes() -> None:
    digest = hmac.new(SECRET.encode(), b"1767225600." + b'{"a": 1}', hashlib.sha256).hexdigest()
    assert signature([SECRET], b'{"a": 1}', AT) == f"t=1767225600,v1={digest}"


secrets_of_a_side = st.lists(
    st.sampled_from([SECRET, OTHER, "a third secret, also"]), min_size=1, unique=True
)


@given(body=st.binary(), sender=secrets_of_a_side, receiver=secrets_of_a_side, late=st.integers(-400, 400))
def test_message_is_taken_if_both_sides_share_a_secret_and_it_was_sent_lately(
    body: bytes, sender: list[str], receiver: list[str], late: int
) -> None:
    header = signature(sender, body, AT)
    if set(sender) & set(receiver) and abs(late) <= 300:
        assert verify(receiver, body, header, now=AT + late) == AT
    else:
        with pytest.raises(BadSignature):
            verify(receiver, body, header, now=AT + late)


@given(body=st.binary(min_size=1), place=st.integers(0), flip=st.integers(1, 255))
def test_changed_body_is_not_taken(body: bytes, place: int, flip: int) -> None:
    changed = bytearray(body)
    changed[place % len(body)] ^= flip
    with pytest.raises(BadSignature, match="no signature is by a secret"):
        verify([SECRET], bytes(changed), signature([SECRET], body, AT), now=AT)


def test_time_is_signed_too() -> None:
    header = signature([SECRET], b"{}", AT).replace(f"t={AT}", f"t={AT + 1000}")
    with pytest.raises(BadSignature, match="no signature is by a secret"):
        verify([SECRET], b"{}", header, now=AT + 1000)


def test_receiver_says_how_late_a_message_may_be() -> None:
    header = signature([SECRET], b"{}", AT)
    assert verify([SECRET], b"{}", header, now=AT + 900, tolerance_seconds=900) == AT
    with pytest.raises(BadSignature, match="901 seconds away from the clock; 900 are tolerated"):
        verify([SECRET], b"{}", header, now=AT + 901, tolerance_seconds=900)


@given(st.none() | st.text() | st.from_regex(r"(t=[0-9]{0,20},?|v1=[0-9a-fé]{0,70},?|v2=x,?){0,5}"))
def test_no_header_without_a_secret_is_taken_nor_breaks_anything(header: str | None) -> None:
    with pytest.raises(BadSignature):
        verify([SECRET], b"{}", header, now=AT)


@pytest.mark.parametrize(
    "header",
    [None, "", "v1=00", f"t={AT}", f"t={AT},t={AT},v1=00", "t=soon,v1=00", f"t={AT},v2=00"],
    ids=["none", "empty", "no-time", "no-signature", "two-times", "no-number", "other-version"],
)
def test_header_of_another_form_is_told_apart_from_a_wrong_signature(header: str | None) -> None:
    with pytest.raises(BadSignature, match=r"has no header|is not of the form"):
        verify([SECRET], b"{}", header, now=AT)


@pytest.mark.parametrize("secrets", [[], [""], [SECRET, ""]], ids=["none", "empty", "one-empty"])
def test_nobody_signs_or_checks_with_an_empty_secret(secrets: list[str]) -> None:
    with pytest.raises(ValueError, match="secret"):
        signature(secrets, b"{}", AT)
    with pytest.raises(ValueError, match="secret"):
        verify(secrets, b"{}", signature([SECRET], b"{}", AT), now=AT)


def test_header_is_found_whatever_its_case() -> None:
    assert header_of({"x-isotherm-signature": "t=1,v1=0"}) == "t=1,v1=0"
    assert header_of({"X-Other": "t=1,v1=0"}) is None
