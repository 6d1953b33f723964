"""Seals of saved plans: the signature over a plan's binding, and the file that holds it with the plan's body.

A plan is signed as a job is: with the key for jobs of the process that makes it, which is the installation's or a
user's. An embedded installation without a file of keys makes a key for its plans in its state directory.

A file is a line of text with the version, the length of the seal in four bytes, the seal, and the body. The seal is an
envelope (:mod:`orchestrator.keys.envelope`) around the binding, and the binding has the digest of the body, so that no
byte can be changed.
"""

import hashlib
import os
import struct
import time
from contextlib import suppress
from dataclasses import replace
from pathlib import Path
from typing import Final

from orchestrator.config.settings import Settings
from orchestrator.errors import InvalidInput, Problem
from orchestrator.keys.envelope import KEY, Envelope, Refused
from orchestrator.keys.key import ACTIVE, JOB, Key, KeyRing
from orchestrator.keys.key_file import read_keys, write_keys
from orchestrator.model.plan_binding import VERSION, PlanBinding, UnreadablePlan

KIND: Final = "stack.plan"
#: How long a plan can be applied.
LIFETIME_SECONDS: Final = 30 * 24 * 3600.0
#: The key of an embedded installation without a file of keys, in its state directory.
OWN_KEY: Final = "plan-keys.json"
_MAGIC: Final = f"isotherm plan {VERSION}\n".encode()
_LENGTH: Final = struct.Struct(">I")
_AGAIN: Final = "make a new plan with: isotherm stack plan"


class PlanKeys:
    """The keys with which this process signs plans, and verifies them."""

    def __init__(self, settings: Settings) -> None:
        """Find the file of keys.

        Raises:
            InvalidInput: it cannot be read, or there is a broker and no file.
        """
        path = settings.effective_key_file
        if settings.embedded and not path.exists():
            path = settings.state_directory / OWN_KEY
            if not path.exists():
                _make_key(path)
        self.ring: KeyRing = KeyRing(read_keys(path))
        self._is_alone = settings.embedded

    def own_secrets(self) -> list[bytes]:
        """Return the secrets of an embedded installation's keys for plans, the signing one first; else none."""
        if not self._is_alone:
            return []
        first = self.ring.signing(JOB)
        return [first.secret, *(each.secret for each in self.ring if each.use == JOB and each is not first)]

    def seal(self, binding: PlanBinding, body: bytes, *, installation: str) -> bytes:
        """Return the file of a plan: the binding, signed, and the body.

        Raises:
            InvalidInput: there is no key for jobs here.
        """
        bound = replace(binding, body=hashlib.sha256(body).hexdigest())
        envelope = Envelope(
            kind=KIND,
            addressee=binding.project,
            id=binding.id,
            installation=installation,
            sent_at=binding.planned_at,
            lifetime_seconds=LIFETIME_SECONDS,
            content=bound.to_bytes(),
        )
        seal = envelope.seal(self.ring.signing(JOB))
        return b"".join((_MAGIC, _LENGTH.pack(len(seal)), seal, body))

    def open(self, seal: bytes, *, project: str, installation: str, file: str = "plan") -> PlanBinding:
        """Return the binding in a seal, with the user who is proven to have made the plan.

        The user is that of the key; a plan that the installation's own key signed says itself for whom.

        Raises:
            InvalidInput: no key of this installation signed it, its user has no role in the project, it was changed, is
                over, or is of another project.
        """
        try:
            envelope, key = Envelope.open(seal, self.ring, uses=(JOB,), now=time.time())
            envelope.require(kinds=(KIND,), addressee=project)
            if envelope.installation != installation:
                raise _refused(file, f"it was made for another installation: {envelope.installation!r}")
            binding = PlanBinding.of_bytes(envelope.content)
        except (Refused, UnreadablePlan) as error:
            raise _refused(file, f"this plan is not accepted: {error}") from error
        if not key.identity.role_in(project):
            raise _refused(file, f"{key.user!r}, who made this plan, has no role in the project {project!r}")
        return replace(binding, user=key.user) if key.user else binding

    def read(self, seal: bytes, *, project: str, installation: str, file: str) -> tuple[PlanBinding, bool]:
        """Return the binding in a seal, and whether its signature was verified: its key may be a coordinator's alone.

        Raises:
            InvalidInput: as :meth:`open`.
        """
        if self._is_alone or self._has_key_of(seal):
            return self.open(seal, project=project, installation=installation, file=file), True
        try:
            return replace(PlanBinding.of_bytes(Envelope.content_of(seal)), user=""), False
        except (Refused, UnreadablePlan) as error:
            raise _refused(file, f"this plan is not accepted: {error}") from error

    def _has_key_of(self, seal: bytes) -> bool:
        try:
            Envelope.open(seal, self.ring, uses=(JOB,), now=None)
        except Refused as error:
            return error.reason != KEY
        return True


def _make_key(path: Path) -> None:
    """Make the file of a new key; of two processes that do so at once, both get the key of the first."""
    own = path.with_name(f".{path.name}.{os.getpid()}")
    write_keys(own, [Key.generate(JOB, state=ACTIVE)])
    try:
        with suppress(FileExistsError):
            path.hardlink_to(own)
    finally:
        own.unlink()


def parts_of(content: bytes, file: str) -> tuple[bytes, bytes]:
    """Return the seal and the body of a plan's file; neither is verified.

    Raises:
        InvalidInput: it is no file of a plan.
    """
    if not content.startswith(_MAGIC):
        raise _refused(file, "expected a plan that 'isotherm stack plan -o' wrote; this is something else")
    start = len(_MAGIC) + _LENGTH.size
    if len(content) < start:
        raise _refused(file, "the plan is cut short")
    (length,) = _LENGTH.unpack(content[len(_MAGIC) : start])
    return content[start : start + length], content[start + length :]


def require_body(binding: PlanBinding, body: bytes, file: str) -> None:
    """Require that a body is the one of the binding.

    Raises:
        InvalidInput: it was changed.
    """
    if hashlib.sha256(body).hexdigest() != binding.body:
        raise _refused(file, "the plan was changed after it was made")


def read_plan_file(name: str, *, most_bytes: int) -> bytes:
    """Return the content of a plan's file.

    Raises:
        InvalidInput: it cannot be read, or is too large.
    """
    try:
        with Path(name).open("rb") as file:
            content = file.read(most_bytes + 1)
    except OSError as error:
        raise _refused(name, f"cannot be read: {error.strerror}") from error
    if len(content) > most_bytes:
        raise _refused(name, f"has more than {most_bytes} bytes, which is more than any plan")
    return content


def _refused(file: str, message: str) -> InvalidInput:
    return InvalidInput([Problem(path=file, message=message, hint=_AGAIN)])
