"""Agents and dashboards keep what they have received apart from what coordinators and workers have."""

from orchestrator.config.settings import Settings
from orchestrator.queue.celery_app import make_app
from orchestrator.queue.unacked import keep_apart
from workers.agent.serving.process import agent_app


def test_an_agent_keeps_what_it_has_received_in_keys_of_its_own() -> None:
    settings = Settings(broker_url="rediss://broker")
    common = make_app(settings).conf.broker_transport_options
    own = agent_app(settings, "n1").conf.broker_transport_options
    assert own == {
        **common,
        "unacked_key": "unacked.node.n1",
        "unacked_index_key": "unacked.node.n1.index",
        "unacked_mutex_key": "unacked.node.n1.mutex",
    }


def test_other_brokers_keep_it_themselves() -> None:
    app = make_app(Settings(broker_url="amqp://broker"))
    keep_apart(app, "dashboard")
    assert app.conf.broker_transport_options == {}
