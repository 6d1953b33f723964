"""Follow a stack from its events alone: ``python3 follow.py BROKER_URL STACK``.

It prints what becomes of each resource as soon as it is known, and needs nothing but ``kombu[redis]`` and msgpack. What
it has seen it keeps in a file, so that it can be killed at any time: started again, it takes what waited in its queue,
notices by ``previous_id`` what is missing nevertheless, and with ``--history isotherm`` reads that
in the history. There it also looks, when nothing comes, whether it has seen the last event.
"""

import argparse
import json
import re
import subprocess
import sys
import time
from contextlib import suppress
from pathlib import Path
from typing import Any

from kombu import Connection, Exchange, Queue
from kombu.message import Message
from record import Event, Record, state

#: On Redis, a message that was taken and not acknowledged is given back after this long.
GIVEN_BACK_SECONDS = 5
#: What is missing for longer than this does not come any more.
PATIENCE_SECONDS = 10.0
#: After so long without a word it connects again, which binds the queue again: Redis may have forgotten that.
SILENCE_SECONDS = 30.0
KINDS = ["application/json", "application/x-msgpack"]


class Follower:
    """Takes the events of a stack from a queue of its own."""

    def __init__(self, said: argparse.Namespace, record: Record) -> None:
        self.said, self.record = said, record
        words = [re.sub("[^A-Za-z0-9_-]", "_", name[:100]) for name in (said.project, said.stack)]
        self.queue = Queue(
            said.queue or ".".join(("follow", *words)),
            Exchange(said.exchange, type="topic", durable=True),
            routing_key=".".join((*words, "#")),
            durable=True,
        )
        self.heard_at = 0.0
        self.whole_at = 0.0

    def run(self) -> None:
        """Follow until it is over, through every loss of the connection."""
        while not self.is_over:
            with self.connection() as connection:
                try:
                    self.follow(connection)
                    if self.record.stack_state == "DELETE_COMPLETE":
                        self.queue(connection.channel()).delete()
                except connection.connection_errors as error:
                    complain(f"connecting again: {type(error).__name__}")
                    time.sleep(1)

    def connection(self) -> Connection:
        """Return a new connection: it knows of no queue yet, and so declares it and binds it."""
        options: dict[str, Any] = {}
        if self.said.url.startswith("redis"):
            # In keys of our own: what others find in the common ones they give back to an exchange that they know
            # nothing of, and so to nobody.
            keys = ("unacked_key", "unacked_index_key", "unacked_mutex_key")
            options = {key: f"{self.queue.name}.{key}" for key in keys}
            options |= {"visibility_timeout": GIVEN_BACK_SECONDS, "unacked_restore_throttle": 1}
        return Connection(self.said.url, transport_options=options)

    def follow(self, connection: Connection) -> None:
        """Take messages until it is over, or there is reason to connect again."""
        with connection.Consumer(self.queue, on_message=self.take, accept=KINDS, prefetch_count=100):
            complain(f"following {self.said.stack}")
            self.heard_at = looked_at = time.monotonic()
            is_sure = False
            while not self.is_over and time.monotonic() - self.heard_at < SILENCE_SECONDS:
                with suppress(TimeoutError):
                    connection.drain_events(timeout=0.5)
                self.look_for_gaps()
                if not is_sure and time.monotonic() - max(self.heard_at, looked_at) > self.said.patience:
                    is_sure, looked_at = self.look_for_the_end(), time.monotonic()

    def take(self, message: Message) -> None:
        """Keep an event, and only then let the broker forget it."""
        self.heard_at = time.monotonic()
        event = message.payload
        told = (event["project"], event["stack_name"], event["stack_id"])
        # Names that differ in odd letters alone share their routing keys, and a name may be given again.
        if told == (self.said.project, self.said.stack, self.record.stack_id or event["stack_id"]):
            self.keep(event)
        message.ack()

    def keep(self, event: Event) -> None:
        """Keep an event, and say what it says."""
        if self.record.add(event):
            subject = event["resource"] or event["stack_name"]
            tell(f"{event['id']:>8}  {subject:<32} {state(event):<20} {event['reason']}".rstrip())

    def look_for_gaps(self) -> None:
        """Read in the history what does not come: whoever dies just when he takes a message loses it."""
        gaps = self.record.gaps
        now = time.monotonic()
        if not gaps:
            self.whole_at = now
        if now - self.whole_at < self.said.patience:
            return
        for after, before in gaps:
            if not self.said.history:
                complain(
                    f"something may be missing between {after} and {before}: --history isotherm reads it"
                )
            elif not self.read(after):
                self.whole_at = now
                return
            self.record.loose.pop(before, None)

    def look_for_the_end(self) -> bool:
        """Read in the history what came after the last event that was seen: no other tells of it. False: not yet."""
        if not self.said.history or not self.record.seen:
            return True
        return self.read(max(self.record.seen))

    def read(self, after: int) -> bool:
        """Keep what the history tells from behind an event on; False if nobody answers."""
        complain(f"reading in the history what came after {after}")
        command = [self.said.history, "stack", "event", "list", self.record.stack_id]
        command += ["--marker", str(after), "-f", "json"]
        told = subprocess.run(command, check=False, stdout=subprocess.PIPE)  # noqa: S603 -- what the caller names
        if told.returncode:
            return False
        for view in json.loads(told.stdout):
            self.keep(
                {
                    **{field: view[field] for field in ("id", "at", "resource", "type")},
                    **{field: view[field] for field in ("action", "status", "reason", "physical_id")},
                    "operation_id": view["traversal_id"],
                    "resource_id": view["resource_uuid"] or "",
                    "stack_id": self.record.stack_id,
                    "stack_name": self.said.stack,
                    "project": self.said.project,
                }
            )
        return True

    @property
    def is_over(self) -> bool:
        """Whether there is nothing more to follow."""
        ends = ("_COMPLETE", "_FAILED") if self.said.until_done else ("DELETE_COMPLETE",)
        return self.record.stack_state.endswith(ends) and not self.record.gaps


def tell(line: str) -> None:
    """Print a line at once."""
    sys.stdout.write(f"{line}\n")
    sys.stdout.flush()


def complain(line: str) -> None:
    """Print a line that is about following, not about the stack."""
    sys.stderr.write(f"{line}\n")


def main() -> None:
    """Do what the command line says."""
    parser = argparse.ArgumentParser(description="Follow a stack from its events alone.")
    parser.add_argument("url", metavar="BROKER_URL", help="where the sink broker publishes")
    parser.add_argument("stack", metavar="STACK", help="the stack's name")
    parser.add_argument("--project", default="default", help="the stack's project (%(default)s)")
    parser.add_argument("--exchange", default="isotherm.events", help="the exchange (%(default)s)")
    parser.add_argument("--queue", help="each follower needs one of its own (follow.PROJECT.STACK)")
    parser.add_argument("--record", type=Path, metavar="FILE", help="what was seen (STACK.events)")
    parser.add_argument("--history", metavar="PROGRAM", help="isotherm: read there what does not come")
    parser.add_argument(
        "--patience", type=float, metavar="SECONDS", default=PATIENCE_SECONDS, help="until then (%(default)s)"
    )
    parser.add_argument("--until-done", action="store_true", help="end when the stack's operation is over")
    said = parser.parse_args()
    record = Record(said.record or Path(f"{said.stack}.events"))
    try:
        Follower(said, record).run()
    except KeyboardInterrupt:
        complain("go on by the same command")
    tell(f"\n{said.stack} {record.stack_state}")
    for event in record.resources():
        tell(f"{event['resource']} {state(event)}")


if __name__ == "__main__":
    main()
