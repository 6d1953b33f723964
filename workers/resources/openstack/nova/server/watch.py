"""A look at servers that many share: polls of several servers within a second are one list of all of them."""

import threading
import time
import uuid
from collections.abc import Callable, Mapping
from typing import Any, Final
from weakref import WeakKeyDictionary

from hooks.values.dataclass import dataclass
from workers.clients.openstack import OpenStack
from workers.resources.openstack.collection import Collection

#: Of lists with tags (2.26) and of flavors with their ids (until 2.46).
SERVERS: Final = Collection(
    path="/servers", key="server", plural="servers", details="/servers/detail", microversion="2.26"
)
#: How old a list may be that serves another poll.
_SHARED_SECONDS: Final = 1.0
#: Servers that were asked about within this time make a list worth while.
_TOGETHER_SECONDS: Final = 1.5
#: A list of more servers than this for each that is asked about costs more than single requests.
_WORTH: Final = 25
#: This process, whose clock the instants are of.
_PROCESS: Final = uuid.uuid4().hex

Shown = dict[str, Any]


def instant() -> list[Any]:
    """Return the present instant, in a form that a token can hold."""
    return [_PROCESS, time.monotonic()]


def since(noted: object, otherwise: float) -> float:
    """Return a noted instant by this process's clock; ``otherwise`` if it is another process's, or none."""
    if isinstance(noted, (list, tuple)) and len(noted) == 2 and noted[0] == _PROCESS:
        return float(noted[1])
    return otherwise


@dataclass(frozen=True, slots=True)
class _List:
    #: When it was requested.
    begun: float
    servers: Mapping[str, Shown]


class ServerWatch:
    """The servers of a project, as its polls see them; thread-safe.

    No answer is older than the instant that its asker names, nor than a second before it was asked for.
    """

    def __init__(self, clock: Callable[[], float] = time.monotonic) -> None:
        """``clock`` returns seconds that never go backwards."""
        self._clock = clock
        self._condition = threading.Condition()
        self._asked: dict[str, float] = {}
        self._list: _List | None = None
        self._is_listing = False
        #: How many wait for the list that is under way.
        self._waiting = 0

    def server(self, client: OpenStack, server_id: str, since: float) -> Shown | None:
        """Return a server as it was at some time after ``since``; None if there was none.

        Raises:
            Exception: the service did not answer.
        """
        found = self._listed(client, server_id, since)
        # A list may lack what the service could not reach: only the server's own address tells that it is gone.
        return (found and found.get(server_id)) or SERVERS.show(client, server_id)

    def _listed(self, client: OpenStack, server_id: str, since: float) -> Mapping[str, Shown] | None:
        """Return a list that is new enough, if that is worth while."""
        with self._condition:
            # However long the service takes: what it was asked for meanwhile is new enough.
            now = self._clock()
            self._asked[server_id], oldest = now, max(since, now - _SHARED_SECONDS)
            while True:
                if self._list is not None and self._list.begun >= oldest:
                    return self._list.servers
                if not self._is_listing:
                    break
                self._waiting += 1
                try:
                    self._condition.wait()
                finally:
                    self._waiting -= 1
            if not self._is_worth_while():
                return None
            self._is_listing = True
        return self._request(client)

    def _request(self, client: OpenStack) -> Mapping[str, Shown]:
        begun, made = self._clock(), None
        try:
            made = _List(begun, {str(each["id"]): each for each in SERVERS.listed(client)})
        finally:
            with self._condition:
                self._list, self._is_listing = made or self._list, False
                self._condition.notify_all()
        return made.servers

    def _is_worth_while(self) -> bool:
        now = self._clock()
        self._asked = {name: at for name, at in self._asked.items() if now - at < _TOGETHER_SECONDS}
        size = len(self._list.servers) if self._list is not None else 0
        count = max(len(self._asked), self._waiting + 1)
        return count > 1 and count * _WORTH >= size


_WATCHES: Final[WeakKeyDictionary[OpenStack, ServerWatch]] = WeakKeyDictionary()
_MAKING: Final = threading.Lock()


def watch_of(client: OpenStack) -> ServerWatch:
    """Return the watch that all who have this client share."""
    with _MAKING:
        return _WATCHES.setdefault(client, ServerWatch())
