"""A store of machine states in Redis, for processes of any machine.

Every step is a Lua script, because Redis runs each one atomically. Sending one again, after a
connection broke before its reply came, does no harm. Times are the server's own. Keys have one hash tag, so that a
script may touch several of them in a cluster too. They must not be evicted; where they are, the result is misses.
"""

import re
import threading
import time
import uuid
from collections import OrderedDict
from collections.abc import Callable, Collection, Sequence
from typing import Any, Final

import msgpack
import redis
from redis.backoff import NoBackoff
from redis.retry import Retry

from cache.node_state.errors import StateStoreFailed
from cache.node_state.store import TIMEOUT_SECONDS, Failure, Fill, Kept, Look, NodeStateStore, Tokens
from cache.stores.regions import masked

#: The number of nodes whose last entry is held here too, so that an unchanged one need not be sent again.
_MOST_HELD: Final = 256
_RUN_ID: Final = re.compile(rb"^run_id:(\w+)", re.MULTILINE)
_NOTHING: Final = (b"", Kept(tokens=Tokens("", ""), began_at=0.0, data=b""))
#: The keys of one node, in the order in which scripts receive them.
_PARTS: Final = ("gen", "snap", "dirty", "err", "lease", "fill", "offline")

# Common to all: KEYS 1 and 2 are the epoch and the marks that concern all nodes, ARGV 1 a new token, ARGV 2 the time
# or nothing for the server's own.
_BEGINNING: Final = """
local now = tonumber(ARGV[2])
if not now then
  local time = redis.call('TIME')
  now = time[1] + time[2] / 1000000
end
local function written(number) return string.format('%.6f', number) end
-- Marks whose time is over go, and the token with them.
local function settle(marks, token)
  if redis.call('ZREMRANGEBYSCORE', marks, '-inf', written(now)) > 0 then redis.call('SET', token, ARGV[1]) end
end
settle(KEYS[2], KEYS[1])
"""
#: Then seven keys for each node, when agents were heard, and the set of names; ARGV 3 whether entries are needed, then
#: for each node its name and the entry that the caller holds. The answer is packed: clients read one long text faster
#: than many short ones.
_LOOK: Final = """
local answer = {written(now), redis.call('GET', KEYS[1])}
local heard, names = KEYS[#KEYS - 1], KEYS[#KEYS]
for at = 3, #KEYS - 2, 7 do
  local gen, snap, dirty, err, lease, fill, offline = unpack(KEYS, at, at + 6)
  local name, held = ARGV[4 + (at - 3) / 7 * 2], ARGV[5 + (at - 3) / 7 * 2]
  settle(dirty, gen)
  local kept = redis.call('HMGET', snap, 'id', 'epoch', 'gen', 'began_at', 'until')
  if ARGV[3] == '0' or not kept[1] or tonumber(kept[5]) <= now then
    kept = false
  elseif kept[1] ~= held then
    kept[6] = redis.call('HGET', snap, 'data')
  else
    -- An entry never changes.
    kept = {kept[1]}
  end
  local failure = redis.call('HMGET', err, 'kind', 'message', 'until')
  if not failure[1] or tonumber(failure[3]) <= now then failure = false end
  local kept_lease = redis.call('HMGET', lease, 'data', 'until')
  local held_until = kept_lease[2] and tonumber(kept_lease[2]) or 0
  local filling = redis.call('HGET', fill, 'until')
  answer[#answer + 1] = {
    redis.call('GET', gen), kept, redis.call('EXISTS', dirty), failure,
    held_until > now and kept_lease[1] or false, redis.call('SISMEMBER', names, name),
    (filling and tonumber(filling) > now) and 1 or 0, redis.call('GET', offline),
    redis.call('HGET', heard, name)
  }
end
return cmsgpack.pack(answer)
"""
#: Then gen, dirty and fill; then the owner and the fill lock's life in seconds.
_FILL: Final = """
settle(KEYS[4], KEYS[3])
redis.call('SET', KEYS[1], ARGV[1], 'NX')
redis.call('SET', KEYS[3], ARGV[1], 'NX')
local epoch, gen = redis.call('GET', KEYS[1]), redis.call('GET', KEYS[3])
local lock = redis.call('HMGET', KEYS[5], 'owner', 'epoch', 'gen', 'until')
-- A fill lock under replaced tokens is void.
local taken = lock[1] and lock[1] ~= ARGV[3] and tonumber(lock[4]) > now
  and lock[2] == epoch and lock[3] == gen
local dirty = redis.call('EXISTS', KEYS[4])
local claimed = (not taken and dirty == 0) and 1 or 0
if claimed == 1 then
  redis.call('HSET', KEYS[5], 'owner', ARGV[3], 'epoch', epoch, 'gen', gen, 'until', written(now + ARGV[4]))
  redis.call('EXPIRE', KEYS[5], math.ceil(ARGV[4]) + 60)
end
return {epoch, gen, written(now), claimed, dirty}
"""
#: Then gen, dirty, fill, snap and err; then the owner, the tokens, two times and the data.
_KEEP: Final = """
settle(KEYS[4], KEYS[3])
local mine = redis.call('HGET', KEYS[5], 'owner') == ARGV[3]
if mine then redis.call('DEL', KEYS[5]) end
redis.call('DEL', KEYS[7])
if not mine or redis.call('EXISTS', KEYS[4]) == 1 or redis.call('GET', KEYS[1]) ~= ARGV[4]
    or redis.call('GET', KEYS[3]) ~= ARGV[5] then
  return 0
end
redis.call('HSET', KEYS[6], 'id', ARGV[1], 'epoch', ARGV[4], 'gen', ARGV[5], 'began_at', ARGV[6], 'until', ARGV[7],
  'data', ARGV[8])
redis.call('EXPIRE', KEYS[6], math.max(1, math.ceil(ARGV[7] - now) + 60))
return 1
"""
#: Then fill and err; then the owner, and whether the agent has answered.
_RELEASE: Final = """
if redis.call('HGET', KEYS[3], 'owner') == ARGV[3] then redis.call('DEL', KEYS[3]) end
if ARGV[4] == '1' then redis.call('DEL', KEYS[4]) end
"""
#: Then fill and err; then the owner, kind and message, and the shortest and the longest pause.
_FAIL: Final = """
if redis.call('HGET', KEYS[3], 'owner') == ARGV[3] then redis.call('DEL', KEYS[3]) end
local attempts = redis.call('HINCRBY', KEYS[4], 'attempts', 1)
local pause = math.min(ARGV[6] * 2 ^ math.min(attempts - 1, 30), tonumber(ARGV[7]))
redis.call('HSET', KEYS[4], 'kind', ARGV[4], 'message', ARGV[5], 'until', written(now + pause))
redis.call('EXPIRE', KEYS[4], 3600)
"""
#: Then gen and dirty of each node; then the mark, its life, and whether all nodes are concerned.
_MARK: Final = """
for at = 3, #KEYS, 2 do
  redis.call('ZADD', KEYS[at + 1], written(now + ARGV[4]), ARGV[3])
  redis.call('SET', KEYS[at], ARGV[1])
end
if ARGV[5] == '1' then
  redis.call('ZADD', KEYS[2], written(now + ARGV[4]), ARGV[3])
  redis.call('SET', KEYS[1], ARGV[1])
end
"""
#: Then gen and dirty of each node; then whether all nodes are concerned, and the marks.
_UNMARK: Final = """
local function remove(from)
  for at = 4, #ARGV do redis.call('ZREM', from, ARGV[at]) end
end
for at = 3, #KEYS, 2 do
  remove(KEYS[at + 1])
  redis.call('SET', KEYS[at], ARGV[1])
end
if ARGV[3] == '1' then
  remove(KEYS[2])
  redis.call('SET', KEYS[1], ARGV[1])
end
"""
#: Then lease, err, the names, and when agents were heard; then node, incarnation, data and life.
_ACQUIRE: Final = """
local found = redis.call('HMGET', KEYS[3], 'incarnation', 'data', 'until')
local held = found[1] and tonumber(found[3]) > now
local same = held and found[1] == ARGV[4]
if held and not same then return found[2] end
redis.call('HSET', KEYS[3], 'incarnation', ARGV[4], 'data', ARGV[5], 'until', written(now + ARGV[6]))
redis.call('EXPIRE', KEYS[3], math.ceil(ARGV[6]) + 60)
redis.call('SADD', KEYS[5], ARGV[3])
redis.call('HSET', KEYS[6], ARGV[3], written(now))
if not same then redis.call('DEL', KEYS[4]) end
return false
"""
#: Then lease; then the incarnation.
_WITHDRAW: Final = """
if redis.call('HGET', KEYS[3], 'incarnation') == ARGV[3] then redis.call('DEL', KEYS[3]) end
"""

#: The epoch, and the start of the server that it belongs to; a new token, and the run id of the present server. A
#: server that was restarted, or one that has taken another's place, may have gone back to an earlier state, with old
#: entries and the tokens that were theirs.
_MEET: Final = """
if redis.call('GET', KEYS[2]) == ARGV[2] then return 0 end
redis.call('SET', KEYS[2], ARGV[2])
redis.call('SET', KEYS[1], ARGV[1])
return 1
"""


class StoreMisconfigured(ValueError):
    """A store cannot be made from these settings; the message names the reason."""


class RedisNodeStore(NodeStateStore):
    """One Redis, or a cluster behind one address; connections are opened when they are needed.

    ``namespace`` sets these keys apart from others on the same server; without a clock, the server's own counts.

    Raises:
        StoreMisconfigured: that is no URL of a Redis.
    """

    def __init__(
        self,
        url: str,
        *,
        timeout_seconds: float = TIMEOUT_SECONDS,
        namespace: str = "nsc",
        clock: Callable[[], float] | None = None,
    ) -> None:
        shown = masked(url)
        self._tag = f"{{{namespace}}}"
        self._common = [f"{self._tag}:epoch", f"{self._tag}:flushing"]
        try:
            # A restarted server has closed its connections, which shows only at the next use: hence one
            # retry, but none for a server that hangs.
            self._redis = redis.Redis.from_url(
                url,
                socket_timeout=timeout_seconds,
                socket_connect_timeout=timeout_seconds,
                retry=Retry(NoBackoff(), 1, supported_errors=(redis.ConnectionError,)),
                encoding_errors="replace",
                redis_connect_func=self._meet,
            )
        except (ValueError, TypeError) as error:
            # The client library's message may quote a piece of the password.
            reason = f": {error}" if shown == url else ""
            raise StoreMisconfigured(f"{shown!r} is no URL of a Redis{reason}") from None
        self._shown = shown
        self._clock = clock
        self._names, self._heard = f"{self._tag}:names", f"{self._tag}:heard"
        self._scripts = {
            script: self._redis.register_script(_BEGINNING + script)
            for script in (_LOOK, _FILL, _KEEP, _RELEASE, _FAIL, _MARK, _UNMARK, _ACQUIRE, _WITHDRAW)
        }
        #: By node: the last entry that was read, and its identity on the server.
        self._held: OrderedDict[str, tuple[bytes, Kept]] = OrderedDict()
        self._lock = threading.Lock()
        #: The server's clock less this machine's time since boot; None: not measured.
        self._ahead: float | None = None

    def look(self, nodes: Sequence[str], *, entries: bool = True) -> list[Look]:
        """Return what the store holds of each."""
        keys = [self._key(node, part) for node in nodes for part in _PARTS]
        held = [self._held.get(node, _NOTHING) for node in nodes]
        named = [each for node, (identity, _) in zip(nodes, held, strict=True) for each in (node, identity)]
        began = _boot_seconds()
        packed = self._run(_LOOK, [*keys, self._heard, self._names], [int(entries), *named])
        now, epoch, *found = msgpack.unpackb(packed, raw=True)
        self._note(float(now), began)
        return [
            self._look(float(now), epoch, node, had, reply)
            for node, had, reply in zip(nodes, held, found, strict=True)
        ]

    def begin_fill(self, node: str, owner: str, life_seconds: float) -> Fill:
        """Return the tokens, and acquire the fill lock."""
        epoch, gen, now, claimed, dirty = self._run(
            _FILL, self._keys(node, "gen", "dirty", "fill"), [owner, life_seconds]
        )
        tokens = Tokens(epoch.decode(), gen.decode())
        return Fill(tokens=tokens, now=float(now), claimed=bool(claimed), dirty=bool(dirty))

    def keep(self, node: str, owner: str, kept: Kept, until: float) -> bool:
        """Store the entry, unless a token was replaced."""
        keys = self._keys(node, "gen", "dirty", "fill", "snap", "err")
        times = [f"{kept.began_at:.6f}", f"{until:.6f}"]
        return bool(self._run(_KEEP, keys, [owner, kept.tokens.epoch, kept.tokens.gen, *times, kept.data]))

    def release(self, node: str, owner: str, *, answered: bool = True) -> None:
        """Release the fill lock."""
        self._run(_RELEASE, self._keys(node, "fill", "err"), [owner, int(answered)])

    def fail(
        self, node: str, owner: str, kind: str, message: str, *, first_seconds: float, longest_seconds: float
    ) -> None:
        """Release the fill lock, and prevent further calls for some time."""
        arguments = [owner, kind, message, first_seconds, longest_seconds]
        self._run(_FAIL, self._keys(node, "fill", "err"), arguments)

    def bump(self, node: str) -> None:
        """Replace the node's token."""
        self._call(lambda: self._redis.set(self._key(node, "gen"), uuid.uuid4().hex))

    def flush(self) -> None:
        """Replace the token of all nodes."""
        self._call(lambda: self._redis.set(self._common[0], uuid.uuid4().hex))

    def mark(self, nodes: Collection[str], mark: str, life_seconds: float, *, flush: bool = False) -> None:
        """Mark nodes as dirty."""
        self._run(_MARK, self._pairs(nodes), [mark, life_seconds, int(flush)])

    def unmark(self, nodes: Collection[str], marks: Collection[str], *, flush: bool = False) -> None:
        """Remove marks."""
        self._run(_UNMARK, self._pairs(nodes), [int(flush), *marks])

    def marks(self, node: str) -> frozenset[str]:
        """Return the marks of a node, or of all together."""
        key = self._key(node, "dirty") if node else self._common[1]
        return frozenset(mark.decode() for mark in self._call(lambda: self._redis.zrange(key, 0, -1)))

    def acquire(self, node: str, incarnation: str, data: bytes, life_seconds: float) -> bytes | None:
        """Acquire or renew a lease."""
        keys = [*self._keys(node, "lease", "err"), self._names, self._heard]
        holder: bytes | None = self._run(_ACQUIRE, keys, [node, incarnation, data, life_seconds])
        return holder

    def withdraw(self, node: str, incarnation: str) -> None:
        """End a lease."""
        self._run(_WITHDRAW, self._keys(node, "lease"), [incarnation])

    def names(self) -> frozenset[str]:
        """Return the names of the known nodes."""
        return frozenset(name.decode() for name in self._call(lambda: self._redis.smembers(self._names)))

    def set_offline(self, node: str, why: str) -> None:
        """Set a node offline, or online."""
        key = self._key(node, "offline")
        pipe = self._redis.pipeline()
        pipe.set(self._key(node, "gen"), uuid.uuid4().hex)
        if why:
            pipe.set(key, why)
        else:
            pipe.delete(key)
        self._call(pipe.execute)

    def forget(self, node: str) -> None:
        """Delete everything about a node."""
        pipe = self._redis.pipeline()
        pipe.srem(self._names, node)
        pipe.hdel(self._heard, node)
        pipe.delete(*self._keys(node, *_PARTS))
        self._call(pipe.execute)

    def now(self) -> float | None:
        """Return the server's time, as of the last look or measurement."""
        return None if self._ahead is None else _boot_seconds() + self._ahead

    def measure(self) -> None:
        """Query the server's time."""
        began = _boot_seconds()
        if self._clock is not None:
            self._note(self._clock(), began)
            return
        seconds, microseconds = self._call(self._redis.time)
        self._note(seconds + microseconds / 1e6, began)

    def _note(self, now: float, began: float) -> None:
        # The reply was made at some moment in between.
        self._ahead = now - (began + _boot_seconds()) / 2

    def close(self) -> None:
        """Close the connections."""
        self._redis.close()

    def _meet(self, connection: Any) -> None:
        """Check, at the beginning of each connection, whether it is the same start of the server."""
        connection.on_connect()
        connection.send_command("INFO", "server")
        try:
            reply = connection.read_response()
        except redis.ResponseError:
            # INFO is forbidden: the operator who configured that ensures that the server never goes back to old data.
            return
        found = _RUN_ID.search(reply)
        if found:
            arguments = [2, self._common[0], f"{self._tag}:server", uuid.uuid4().hex, found[1]]
            connection.send_command("EVAL", _MEET, *arguments)
            connection.read_response()

    def _look(
        self, now: float, epoch: bytes | None, node: str, had: tuple[bytes, Kept], reply: list[Any]
    ) -> Look:
        gen, kept, dirty, failure, lease, known, filling, offline, heard = reply
        return Look(
            now=now,
            tokens=Tokens(epoch.decode(), gen.decode()) if epoch and gen else None,
            kept=self._kept(node, had[1], kept) if kept else None,
            dirty=bool(dirty),
            filling=bool(filling),
            failure=(
                Failure(kind=failure[0].decode(), message=failure[1].decode(), until=float(failure[2]))
                if failure
                else None
            ),
            lease=lease or None,
            heard_at=float(heard) if heard else None,
            known=bool(known),
            offline=(offline or b"").decode(),
        )

    def _kept(self, node: str, had: Kept, reply: list[bytes]) -> Kept:
        identity, *sent = reply
        if not sent:
            return had
        epoch, gen, began_at, _, data = sent
        kept = Kept(tokens=Tokens(epoch.decode(), gen.decode()), began_at=float(began_at), data=data)
        with self._lock:
            self._held[node] = (identity, kept)
            self._held.move_to_end(node)
            while len(self._held) > _MOST_HELD:
                self._held.popitem(last=False)
        return kept

    def _key(self, node: str, part: str) -> str:
        return f"{self._tag}:{part}:{node}"

    def _keys(self, node: str, *parts: str) -> list[str]:
        return [self._key(node, part) for part in parts]

    def _pairs(self, nodes: Collection[str]) -> list[str]:
        return [key for node in nodes for key in self._keys(node, "gen", "dirty")]

    def _run(self, script: str, keys: Sequence[str], arguments: Sequence[Any]) -> Any:
        now = "" if self._clock is None else f"{self._clock():.6f}"
        return self._call(
            lambda: self._scripts[script](
                keys=[*self._common, *keys], args=[uuid.uuid4().hex, now, *arguments]
            )
        )

    def _call(self, call: Callable[[], Any]) -> Any:
        try:
            return call()
        except redis.RedisError as error:
            raise StateStoreFailed(f"Redis at {self._shown}: {error}") from error


def _boot_seconds() -> float:
    # It counts while the machine is suspended, and cannot be set.
    return time.clock_gettime(time.CLOCK_BOOTTIME)
