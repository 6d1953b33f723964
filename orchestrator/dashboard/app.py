"""Flower's web application, with ours in it."""

import asyncio
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from typing import Any, Final, TypeVar
from weakref import WeakValueDictionary

from celery import Celery
from flower.app import Flower, rewrite_handler
from tornado.httpserver import HTTPServer
from tornado.netutil import bind_unix_socket

from orchestrator.config.settings import Settings
from orchestrator.dashboard.access import Mode
from orchestrator.dashboard.controls import controls
from orchestrator.dashboard.fleet import Fleet
from orchestrator.dashboard.hub import Hub
from orchestrator.dashboard.loader import StackLoader
from orchestrator.dashboard.login import login
from orchestrator.dashboard.metrics import Metrics
from orchestrator.dashboard.routes import routes
from orchestrator.dashboard.sharing import Shared
from orchestrator.dashboard.tally import Tally
from orchestrator.dashboard.waking import waking_events
from orchestrator.errors import Unavailable
from orchestrator.queries.observer import Observer
from orchestrator.service import Service
from orchestrator.store.database import impatient
from orchestrator.store.store import Store

T = TypeVar("T")

#: For how long what was read of an operation is told to others who look at it too, as long as nothing happens.
FRESH_SECONDS: Final = 0.5
#: How many questions the store is asked at once.
READERS: Final = 4
#: How long a question goes on trying while the database is away, and how long it may take altogether.
PATIENCE_SECONDS: Final = 3.0
ANSWER_SECONDS: Final = 20.0
#: How many actions may be under way. Each waits until a coordinator has taken its job, and must not hold up a reader.
ACTORS: Final = 4


class Dashboard(Flower):  # type: ignore[misc]  # Flower is untyped
    """Flower with the pages about stacks. What they show is read from the store, never from Flower's memory.

    Args:
        capp: The Celery app.
        options: Flower's options, and ours.
        settings: Isotherm's.
        store: The state of record; closed with the application.
        flowers: Flower's settings for Tornado.
    """

    def __init__(self, capp: Celery, options: Any, settings: Settings, store: Store, **flowers: Any) -> None:
        loader = StackLoader(flowers["template_path"])
        tally = Tally()
        self.hub = Hub(store.event_log, observe=tally.add)
        super().__init__(
            options=options,
            capp=capp,
            template_loader=loader,
            events=waking_events(capp, options, self.hub.wake),
            **flowers,
        )
        ours = [*controls(), *login(options.auth_provider), *routes()]
        if options.url_prefix:
            ours = [rewrite_handler(each, options.url_prefix) for each in ours]
        self.add_handlers(".*", ours)
        self.stack_settings = settings
        self.store = store
        self.observer = Observer(settings, store, fresh_seconds=FRESH_SECONDS)
        self.mode = Mode.of(options, embedded=settings.embedded)
        #: What acts on stacks; it hands jobs to coordinators and does nothing itself. That nodes are looked at all the
        #: time, to be shown, would drown how often those who work need to ask them.
        self.service = Service(settings, store=store, embedded=None, counts_looks=False)
        #: What is told of nodes, caches and workers.
        self.fleet = Fleet(self.service, self.observer, store.observations.moment)
        self._actors = ThreadPoolExecutor(ACTORS, thread_name_prefix="acting")
        #: By the stack's id, as long as there are any.
        self._orders: WeakValueDictionary[str, asyncio.Lock] = WeakValueDictionary()
        self._readers = ThreadPoolExecutor(READERS, thread_name_prefix="reading")
        #: Answers as they are sent, by what was asked.
        self.answers: Shared[Any] = Shared(self.read)
        self.metrics = Metrics(self.hub, tally, store, self.service)
        # Once the loop runs.
        self.io_loop.add_callback(self.hub.start)
        self.io_loop.add_callback(self.metrics.start)

    def start_http_server(self) -> int | None:
        """Listen, and return the port; None where there is a socket of the file system."""
        if not self.options.unix_socket:
            port: int = super().start_http_server()
            return port
        # Flower would believe no proxy behind one, whatever ``--xheaders`` says: every action would come from 0.0.0.0.
        server = HTTPServer(self, xheaders=self.options.xheaders)
        server.add_socket(bind_unix_socket(self.options.unix_socket, mode=0o777))
        return None

    async def read(self, question: Callable[[], T]) -> T:
        """Return what a question to the store answers; the loop goes on meanwhile.

        Raises:
            Unavailable: the store does not answer in a time in which somebody would wait for a page.
        """

        def asked() -> T:
            with impatient(PATIENCE_SECONDS):
                return question()

        try:
            # What has not been begun by then never is: nobody waits for it any more.
            async with asyncio.timeout(ANSWER_SECONDS):
                answer: T = await self.io_loop.run_in_executor(self._readers, asked)
        except TimeoutError as error:
            message = f"the database has not answered within {ANSWER_SECONDS:g} seconds"
            raise Unavailable(message) from error
        return answer

    async def act(self, deed: Callable[[Service], T]) -> T:
        """Return what came of something done to a stack; the loop goes on meanwhile."""
        done: T = await self.io_loop.run_in_executor(self._actors, deed, self.service)
        return done

    def orders_on(self, stack_id: str) -> asyncio.Lock:
        """Return what orders on a stack hold while they are looked at and carried out, one after the other."""
        lock = self._orders.get(stack_id) or asyncio.Lock()
        self._orders[stack_id] = lock
        return lock

    def stop(self) -> None:
        """Stop, once."""
        super().stop()
        self.hub.stop()
        self.fleet.close()
        self.metrics.stop()
        for executor in (self._readers, self._actors):
            executor.shutdown(wait=False, cancel_futures=True)
        self.store.close()
