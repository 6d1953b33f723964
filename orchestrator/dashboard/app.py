"""The dashboard's web application: Flower's, with the pages about stacks added."""

import asyncio
import time
from collections import OrderedDict
from collections.abc import Callable, Collection
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from functools import partial
from http import HTTPStatus
from typing import Any, Final, TypeVar
from weakref import WeakValueDictionary

from celery import Celery
from flower.app import Flower, rewrite_handler
from tornado.httpserver import HTTPServer
from tornado.httputil import HTTPMessageDelegate, HTTPServerRequest
from tornado.netutil import bind_sockets, bind_unix_socket
from tornado.web import RequestHandler

from orchestrator.access.authenticators import authenticator_of, by_tokens
from orchestrator.config.access_policy import load_policy
from orchestrator.config.caller import acting_for
from orchestrator.config.logger import get_logger
from orchestrator.config.settings import Settings
from orchestrator.dashboard.access import Mode, Refusal, Visitor, host_refusal, role_refusal
from orchestrator.dashboard.attention import Attention
from orchestrator.dashboard.controls import controls
from orchestrator.dashboard.credentials import REFUSED, credential_in, identify, identity_of
from orchestrator.dashboard.fleet import Fleet
from orchestrator.dashboard.guards import Guards
from orchestrator.dashboard.handlers.base import StackHandler
from orchestrator.dashboard.handlers.refused import refused_by
from orchestrator.dashboard.hub import Hub
from orchestrator.dashboard.loader import StackLoader
from orchestrator.dashboard.login import login
from orchestrator.dashboard.metrics import Metrics
from orchestrator.dashboard.packing import Packing
from orchestrator.dashboard.routes import routes
from orchestrator.dashboard.sharing import Shared
from orchestrator.dashboard.tally import Tally
from orchestrator.dashboard.task_names import DiscreetInspector, TaskNames
from orchestrator.dashboard.waking import waking_events
from orchestrator.errors import Unavailable
from orchestrator.model.audit import AuditEntry
from orchestrator.model.identity import Caller, Identity
from orchestrator.queries.observer import Observer
from orchestrator.service import Service
from orchestrator.store.retrying import impatient
from orchestrator.store.store import Store

log = get_logger()

T = TypeVar("T")

#: How long data of an operation are reused for other requests, unless an event arrives.
FRESH_SECONDS: Final = 0.5
#: The number of concurrent queries to the store.
READERS: Final = 4
#: How long a query is retried while the database is unreachable, and how long it may take altogether.
PATIENCE_SECONDS: Final = 3.0
ANSWER_SECONDS: Final = 20.0
#: How long Celery's events wait for the names of stacks while the database is unreachable.
NAMES_SECONDS: Final = 1.0
#: The number of concurrent actions. Each waits until a coordinator has taken its job, and must not block a reader.
ACTORS: Final = 4
#: After how long a user's request from the same address is recorded as a login again, and of how many that is known.
LOGIN_SECONDS: Final = 3600.0
MOST_LOGINS: Final = 10_000
#: How long a connection may be silent between two requests, or take for the headers of one.
IDLE_SECONDS: Final = 75.0
#: How long a request's body may take.
BODY_SECONDS: Final = 30.0


class Dashboard(Flower):  # type: ignore[misc]  # Flower is untyped
    """Flower with the pages about stacks. These show data from the store, never from Flower's memory.

    The store is closed with the application.
    """

    def __init__(self, capp: Celery, options: Any, settings: Settings, store: Store, **flowers: Any) -> None:
        loader = StackLoader(flowers["template_path"])
        tally = Tally()
        self.hub = Hub(store.event_log, observe=tally.add, most_of_client=options.max_streams_per_client)
        super().__init__(
            options=options,
            capp=capp,
            template_loader=loader,
            events=waking_events(capp, options, self.hub.wake, self._task_names(settings, store).shown),
            **flowers,
        )
        self.inspector = DiscreetInspector(self.io_loop, capp, options.inspect_timeout / 1000.0)
        ours = [*controls(), *login(options.auth_provider), *routes()]
        if options.url_prefix:
            ours = [rewrite_handler(each, options.url_prefix) for each in ours]
        self.add_handlers(".*", ours)
        prefix = f"/{options.url_prefix.strip('/')}" if options.url_prefix else ""
        self.add_transform(partial(Guards, api=f"{prefix}/api/"))
        self.add_transform(Packing)
        self.stack_settings = settings
        self.store = store
        self.observer = Observer(settings, store, fresh_seconds=FRESH_SECONDS)
        self._authenticator = authenticator_of(settings) if by_tokens(settings) else None
        #: When each user was recorded last as logged in, by the user and the address.
        self._logins: OrderedDict[tuple[str, str], float] = OrderedDict()
        self.mode = replace(
            Mode.of(options, embedded=settings.embedded, tokens=by_tokens(settings)),
            project=settings.project,
            policy=load_policy(settings),
        )
        #: Submits jobs to coordinators. The pages' own look-ups of nodes are not counted: there are so many that the
        #: counters would say nothing about workers.
        self.service = Service(settings, store=store, embedded=None, counts_looks=False)
        #: The data of the pages about nodes, caches and workers.
        self.fleet = Fleet(self.service, self.observer, store.observations.moment)
        #: The data of the page of what needs a person.
        self.attention = Attention(self.service, store, settings)
        self._actors = ThreadPoolExecutor(ACTORS, thread_name_prefix="acting")
        #: Locks by the stack's id, as long as they are in use.
        self._orders: WeakValueDictionary[str, asyncio.Lock] = WeakValueDictionary()
        self._readers = ThreadPoolExecutor(READERS, thread_name_prefix="reading")
        #: Encoded answers, shared by concurrent identical requests.
        self.answers: Shared[Any] = Shared(self.read)
        self.metrics = Metrics(self.hub, tally, store, self.service)
        # They have to start in the running loop.
        self.io_loop.add_callback(self.hub.start)
        self.io_loop.add_callback(self.metrics.start)

    @staticmethod
    def _task_names(settings: Settings, store: Store) -> TaskNames:
        def projects_of(name: str) -> Collection[str]:
            with impatient(NAMES_SECONDS):
                return store.past.projects_of(name)

        return TaskNames(projects_of, settings.project)

    def start_http_server(self) -> int | None:
        """Listen, and return the port; None for a Unix socket.

        Not as Flower does: it knows no limits, and ignores ``--xheaders`` for a Unix socket, so that every action would
        be logged as coming from 0.0.0.0.
        """
        server = HTTPServer(
            self,
            ssl_options=None if self.options.unix_socket else self.ssl_options,
            xheaders=self.options.xheaders,
            max_body_size=self.options.max_body_bytes,
            idle_connection_timeout=IDLE_SECONDS,
            body_timeout=BODY_SECONDS,
        )
        if self.options.unix_socket:
            server.add_socket(bind_unix_socket(self.options.unix_socket, mode=0o777))
            return None
        sockets = bind_sockets(self.options.port, address=self.options.address)
        server.add_sockets(sockets)
        port: int = sockets[0].getsockname()[1]
        return port

    def get_handler_delegate(
        self,
        request: HTTPServerRequest,
        target_class: type[RequestHandler],
        *args: Any,
        **kwargs: Any,
    ) -> HTTPMessageDelegate:
        """Return what answers a request: a refusal, whichever route it has, if :meth:`refusal_of` has one."""
        refused = self.refusal_of(request, target_class)
        self._record_login(request, refused)
        if refused:
            target_class, args, kwargs = refused_by(target_class), (), {}
        delegate: HTTPMessageDelegate = super().get_handler_delegate(request, target_class, *args, **kwargs)
        return delegate

    def _record_login(self, request: HTTPServerRequest, refused: Refusal | None) -> None:
        """Record a user's first request from an address within an hour, and credentials that are refused."""
        if self._authenticator is None or not credential_in(request.headers):
            return
        identity = identity_of(request) or Identity(user="", roles={})
        key, now = (identity.user, str(request.remote_ip)), time.monotonic()
        if refused is None and now - self._logins.get(key, float("-inf")) < LOGIN_SECONDS:
            return
        if refused is None:
            self._logins[key] = now
            self._logins.move_to_end(key)
            if len(self._logins) > MOST_LOGINS:
                self._logins.popitem(last=False)
        self.record(identity, "login", request, refused)

    def record(
        self, identity: Identity, action: str, request: HTTPServerRequest, refused: Refusal | None = None
    ) -> None:
        """Record in the audit log what a visitor does, or is refused; the loop does not wait for the database."""
        who = Caller(identity=identity, origin=f"dashboard, {request.remote_ip}")
        sentence = refused.sentence if refused else ""
        project = "" if action == "login" else self.mode.project
        entry = AuditEntry.of(
            who, action, project=project, target=f"{request.method} {request.path}", refused=sentence
        )
        due = self.store.audit_log.paced(entry) if refused else entry
        if due is not None:
            self._actors.submit(self._append, due)

    def _append(self, entry: AuditEntry) -> None:
        try:
            with impatient(PATIENCE_SECONDS):
                self.store.audit_log.append(entry)
        except Unavailable as error:
            log.error("not in the audit log", action=entry.action, user=entry.user, error=str(error))

    def refusal_of(self, request: HTTPServerRequest, target: type[RequestHandler]) -> Refusal | None:
        """Return why a request is refused whichever route it has: by its host, or by the authenticator.

        Our own handlers check the role by themselves, for their own operation.
        """
        refused = host_refusal(self.mode, request.host_name)
        if refused or self._authenticator is None:
            return refused
        identity = identify(request, self._authenticator)
        if identity is None:
            return Refusal(HTTPStatus.UNAUTHORIZED, REFUSED)
        if issubclass(target, StackHandler):
            return None
        return role_refusal(self.mode, Visitor.with_identity(self.mode, identity), "flower.read")

    async def read(self, question: Callable[[], T]) -> T:
        """Return the result of a query to the store, run in a thread.

        Raises:
            Unavailable: the store does not answer within :data:`ANSWER_SECONDS`.
        """

        def run() -> T:
            with impatient(PATIENCE_SECONDS):
                return question()

        try:
            # A query that has not begun by then is cancelled.
            async with asyncio.timeout(ANSWER_SECONDS):
                answer: T = await self.io_loop.run_in_executor(self._readers, run)
        except TimeoutError as error:
            message = f"the database has not answered within {ANSWER_SECONDS:g} seconds"
            raise Unavailable(message) from error
        return answer

    async def act(self, deed: Callable[[Service], T], who: Caller) -> T:
        """Return the result of a caller's action on a stack, run in a thread."""

        def run() -> T:
            with acting_for(who):
                return deed(self.service)

        done: T = await self.io_loop.run_in_executor(self._actors, run)
        return done

    def orders_on(self, stack_id: str) -> asyncio.Lock:
        """Return the lock of a stack, which its orders hold while they are checked and carried out."""
        lock = self._orders.get(stack_id) or asyncio.Lock()
        self._orders[stack_id] = lock
        return lock

    def stop(self) -> None:
        """Stop the server and all threads, and close the store; called once."""
        super().stop()
        self.hub.stop()
        self.fleet.close()
        self.attention.close()
        self.metrics.stop()
        for executor in (self._readers, self._actors):
            executor.shutdown(wait=False, cancel_futures=True)
        self.store.close()
