"""The base of the store's parts: a repository is the operations on some of the tables."""

from typing import TYPE_CHECKING

from hooks.values.dataclass import dataclass

if TYPE_CHECKING:
    from orchestrator.model.codec import Codec
    from orchestrator.store.database import Database


@dataclass(frozen=True, slots=True, kw_only=True)
class Timings:
    """Periods of the engine, in seconds, and how often a worker may be lost."""

    #: How long a claim holds without a heartbeat.
    lease_seconds: float = 60.0
    #: After how long a ready node is published again.
    redeliver_seconds: float = 10.0
    #: After how long a node that waits for a locked resource looks again, should no wake-up come.
    locked_seconds: float = 5.0
    #: How often the worker of a node may be lost before its resource fails.
    lost_attempts: int = 5
    #: How long the redelivery of a job may take after its coordinator died.
    job_seconds: float = 120.0


class Repository:
    """Operations on some tables of one database."""

    def __init__(self, database: "Database", codec: "Codec", timings: Timings) -> None:
        self._db, self._codec, self._timings = database, codec, timings
