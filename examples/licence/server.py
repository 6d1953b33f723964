"""A licence server for the lifecycle plugin ``license``: so many licences of each type, in one SQLite file.

    python server.py --secret-file secret --database licences.db OS::Nova::Server=20 OS::Cinder::Volume=50

``GET /leases`` shows what is held. The protocol is described in ``docs/lifecycle-http.md``.
"""

import argparse
import json
import sqlite3
import threading
import time
from collections import Counter
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

from isotherm.hooks import (
    SIGNATURE_TOLERANCE_SECONDS,
    BadSignature,
    signature_of,
    verify_signature,
)


class Refused(Exception):
    """A status and a reason: what is answered."""


class Licences:
    """What every stack holds: licences for what is there, and for what operations on it may yet make."""

    def __init__(self, database: str, totals: dict[str, int]) -> None:
        self.totals = totals
        self._lock = threading.Lock()
        self._db = sqlite3.connect(database, check_same_thread=False)
        self._db.executescript(
            "CREATE TABLE IF NOT EXISTS lease (stack_id TEXT PRIMARY KEY, lease TEXT);"
            "CREATE TABLE IF NOT EXISTS over (operation_id TEXT PRIMARY KEY, at REAL);"
        )

    def acquire(self, stack: str, operation: str, counts: dict, *, enforce: bool, keep: bool) -> None:
        """Hold licences until the operation is settled; the same call again changes nothing."""
        with self._lock, self._db:
            if self._db.execute("SELECT 1 FROM over WHERE operation_id = ?", (operation,)).fetchone():
                raise Refused(409, "the operation is over: this was on its way for too long")
            leases = self._leases()
            lease = leases.setdefault(stack, {"there": {}, "claims": {}})
            before, in_use = held(lease), sum(map(held, leases.values()), Counter())
            lease["claims"][operation] = counts
            for kind, count in held(lease).items():
                wanted, total = in_use[kind] - before[kind] + count, self.totals.get(kind, 0)
                if enforce and count > before[kind] and wanted > total:
                    raise Refused(403, f"{kind}: {wanted} licences would be in use, there are {total}")
            if keep:
                self._write(stack, lease)

    def settle(self, stack: str, operation: str, counts: dict | None) -> None:
        """End what was acquired for an operation; hold licences for what is there, unless it never began."""
        with self._lock, self._db:
            if self._db.execute("SELECT 1 FROM over WHERE operation_id = ?", (operation,)).fetchone():
                return
            lease = self._leases().get(stack, {"there": {}, "claims": {}})
            ended = [operation]
            if counts is not None:
                lease["there"] = counts
                claims = list(lease["claims"])
                # Those that acquired before it are over too, also if nobody could tell us so.
                ended += claims[: claims.index(operation)] if operation in claims else []
            lease["claims"] = {each: claim for each, claim in lease["claims"].items() if each not in ended}
            # A message that is older than this is refused for its signature.
            self._db.execute(
                "DELETE FROM over WHERE at < ?", (time.time() - 3 * SIGNATURE_TOLERANCE_SECONDS,)
            )
            self._db.executemany("INSERT INTO over VALUES (?, ?)", [(each, time.time()) for each in ended])
            self._write(stack, lease)

    def shown(self) -> dict[str, Counter]:
        """Return what every stack holds."""
        with self._lock:
            return {stack: held(lease) for stack, lease in self._leases().items() if held(lease)}

    def _leases(self) -> dict[str, dict]:
        return {stack: json.loads(lease) for stack, lease in self._db.execute("SELECT * FROM lease")}

    def _write(self, stack: str, lease: dict) -> None:
        self._db.execute("DELETE FROM lease WHERE stack_id = ?", (stack,))
        if lease["there"] or lease["claims"]:
            self._db.execute("INSERT INTO lease VALUES (?, ?)", (stack, json.dumps(lease)))


def held(lease: dict) -> Counter:
    """Return how many licences of each type a stack holds: as many as are there, or may come to be."""
    most = Counter(lease["there"])
    for claim in lease["claims"].values():
        most |= Counter(claim)
    return +most


class Handler(BaseHTTPRequestHandler):
    """Speaks the protocol."""

    protocol_version = "HTTP/1.1"
    wbufsize = -1
    licences: Licences
    secrets: list[str]

    def do_GET(self) -> None:
        """Show what is held."""
        self._answer(200, self.licences.shown())

    def do_PUT(self) -> None:
        """Take what the plugin says."""
        self._take(self.rfile.read(min(int(self.headers.get("Content-Length", 0)), 1024 * 1024)))

    do_POST = do_PUT  # noqa: N815

    def _take(self, body: bytes) -> None:
        try:
            verify_signature(self.secrets, body, signature_of(self.headers))
            said = json.loads(body)
            # Not those of the path: nobody signed that.
            what = said["stack_id"], said["operation_id"], said["counts"]
            if said["phase"] == "settle":
                self.licences.settle(*what)
            else:
                self.licences.acquire(*what, enforce=said["enforce"], keep=said["phase"] == "acquire")
            self._answer(200, {"lease_id": f"lease-{said['stack_id']}"})
        except BadSignature as error:
            self._answer(401, {"reason": str(error)})
        except Refused as error:
            status, reason = error.args
            self._answer(status, {"reason": reason})
        except (ValueError, KeyError, TypeError) as error:
            self._answer(400, {"reason": f"not what the protocol says: {error!r}"})

    def _answer(self, status: int, document: object) -> None:
        body = json.dumps(document).encode()
        self.send_response(status)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)


def serve(licences: Licences, secrets: list[str], port: int) -> ThreadingHTTPServer:
    """Return a server that listens; its ``serve_forever`` answers."""
    handler = type("Bound", (Handler,), {"licences": licences, "secrets": secrets})
    return ThreadingHTTPServer(("127.0.0.1", port), handler)


def main() -> None:
    """Serve until somebody ends it."""
    arguments = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    arguments.add_argument("totals", nargs="+", metavar="TYPE=COUNT")
    arguments.add_argument("--secret-file", type=Path, required=True)
    arguments.add_argument("--database", default="licences.db")
    arguments.add_argument("--port", type=int, default=8085)
    given = arguments.parse_args()
    totals = {kind: int(count) for kind, _, count in (each.rpartition("=") for each in given.totals)}
    secrets = given.secret_file.read_text().split()
    serve(Licences(given.database, totals), secrets, given.port).serve_forever()


if __name__ == "__main__":
    main()
