"""``isotherm agent``: the process of one machine's agent, until it is stopped or loses its node's lease."""

from collections.abc import Callable, Mapping
from contextlib import ExitStack, closing
from typing import Any, Final

from celery import Celery
from celery.signals import worker_shutting_down
from celery.worker import state as celery_state

from cache.node_state.cache import NodeStateCache
from cache.node_state.errors import LeaseLost, NodeUnreachable
from cache.node_state.requests import MachineState, MachineStateRequest
from orchestrator.config.logger import get_logger
from orchestrator.config.settings import Settings
from orchestrator.config.state_directory import prepare_state_directory
from orchestrator.errors import InvalidInput, Problem
from orchestrator.keys.envelope import Refused
from orchestrator.keys.key import AGENT
from orchestrator.model.messages import NODE_TASK
from orchestrator.nodes.rpc.kombu_transport import LISTEN_SECONDS, queue_of
from orchestrator.nodes.rpc.messages import node_queue
from orchestrator.nodes.rpc.names import agent_directory, agent_worker, check_node_name
from orchestrator.nodes.rpc.sealing import Seal
from orchestrator.nodes.rpc.state_cache import MEMORY, make_node_state_cache, where
from orchestrator.queue.broker_login import require_broker_login
from orchestrator.queue.celery_app import make_app
from orchestrator.queue.celery_process import run
from orchestrator.queue.installation import InstallationApp
from orchestrator.queue.processes import node_name, require_broker, require_keys
from orchestrator.queue.refusals import refusals
from orchestrator.queue.unacked import keep_apart
from workers.agent.agent import Agent
from workers.agent.serving.presence import Presence
from workers.agent.serving.reads import Reads
from workers.agent.serving.tenancy import Tenancy

log = get_logger()

#: The exit code of an agent that has lost its lease.
LOST: Final = 1


def serve(settings: Settings, *, node: str, labels: Mapping[str, str]) -> int:
    """Run the agent of a machine until it is stopped; return the exit code.

    Raises:
        InvalidInput: there is no broker, or the name is invalid; nothing was touched.
        Conflict: an agent of this name runs already.
        Unavailable: it is unknown whether one runs, or the broker refuses the login.
    """
    require_broker(settings)
    check_node_name(node)
    require_keys(settings, AGENT, node=node)
    require_broker_login(settings)
    settings = labelled(settings, labels)
    app = agent_app(settings, node)
    with ExitStack() as stack:
        cache = stack.enter_context(closing(agent_cache(settings)))
        prepare_state_directory(settings.state_directory)
        agent = Agent(node, settings, cache, directory=agent_directory(settings.state_directory, node))
        stack.callback(agent.close)
        seal = Seal(settings, app.keys, node=node)
        register(app, agent, seal, cache.store.now)
        reads = Reads(app, node, agent.answer, seal, may_answer=agent.may_answer, now=cache.store.now)

        def end(error: LeaseLost) -> None:
            log.error("the agent ends", reason=str(error))
            reads.close()
            celery_state.should_stop = LOST

        tenancy = Tenancy(
            cache,
            agent.lease,
            directory=agent.directory,
            heartbeat_seconds=settings.node_state_cache.heartbeat_seconds,
            on_lost=end,
            presence=Presence(
                node, agent.scope, patience_seconds=2 * settings.node_state_cache.heartbeat_seconds
            ),
        )
        agent.stand_behind(tenancy.fence)
        # Before the node can be known to others.
        stack.callback(reads.close)
        reads.start(LISTEN_SECONDS)
        agent.begin()
        tenancy.take()
        stack.callback(tenancy.leave)
        agent.recover()
        reads.answer_all()
        tenancy.keep()
        log.info("an agent begins", node=node, incarnation=agent.incarnation)
        # They harm no other, and are logged at once for the operator who has just written the settings.
        for backend, reason in (*agent.hypervisors.faults(), *agent.storage.faults()):
            log.warning("a backend cannot be used", backend=backend, reason=reason)

        def stop_waiting(**_: Any) -> None:
            # Changes that have not begun do not wait for the store, which may be away for long.
            cache.stop_waiting()

        worker_shutting_down.connect(stop_waiting)
        stack.callback(worker_shutting_down.disconnect, stop_waiting)
        return run(
            app,
            [node_queue(node)],
            node_name(agent_worker(node)),
            log_level=settings.log_level,
            concurrency=settings.agent.threads,
            pool="threads",
        )


def labelled(settings: Settings, labels: Mapping[str, str]) -> Settings:
    """Return settings whose agent has these labels besides its own; these win."""
    agent = settings.agent.with_values(labels={**settings.agent.labels, **labels})
    return settings.with_values(agent=agent)


def agent_cache(settings: Settings) -> NodeStateCache:
    """Return the machine-state cache in which an agent holds its lease and announces invalidations.

    Raises:
        InvalidInput: the cache is visible to this process alone.
    """

    def refuse_fetch(node: str, _request: MachineStateRequest, _seconds: float) -> MachineState:
        raise NodeUnreachable(node, "an agent asks no nodes")

    if where(settings)[0] == MEMORY:
        problem = Problem(
            path="settings.node_state_cache.backend",
            message="nobody sees what an agent writes into its own memory",
            hint="redis; or file, where everything is on one machine",
        )
        raise InvalidInput([problem])
    return make_node_state_cache(settings, refuse_fetch)


def agent_app(settings: Settings, node: str) -> InstallationApp:
    """Return the Celery app of an agent, which consumes its node's queue and no other."""
    app = make_app(settings)
    keep_apart(app, node_queue(node))
    # No prefetching beyond its threads: should this agent die, the next one takes what waits in the queue.
    app.conf.update(task_queues=[queue_of(node)], worker_prefetch_multiplier=1, beat_schedule={})
    return app


def register(app: Celery, agent: Agent, seal: Seal, now: Callable[[], float | None] = lambda: None) -> None:
    """Have an agent carry out the messages of its node's queue.

    Tasks return nothing: callers query the agent for the end of the operation. A message is acknowledged when
    that end is on record; a duplicate is recognized by its operation.
    """

    def carry_out(request: Mapping[str, Any], life: Mapping[str, Any]) -> None:
        try:
            read = seal.opened_call(request)
        except Refused as why:
            refusals.add(node_queue(seal.node), why)
            return
        agent.carry_out(read.received(life, now()))

    app.task(name=NODE_TASK, acks_late=True, reject_on_worker_lost=True)(carry_out)
