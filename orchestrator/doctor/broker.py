"""Doctor check: whether the broker answers."""

from orchestrator.config.settings import Settings
from orchestrator.doctor.check import PATIENCE_SECONDS, Check


def check_broker(settings: Settings) -> Check:
    """Check that the broker answers; without one, embedded mode is reported as fine."""
    if settings.embedded:
        return Check(name="broker", ok=True, detail="none: commands do the work themselves (embedded mode)")
    from amqp.exceptions import AMQPError
    from kombu.exceptions import OperationalError

    from cache.stores.regions import masked
    from orchestrator.queue.celery_app import make_app

    name, hint = "broker", "start the broker, or correct ISOTHERM_BROKER_URL"
    waits = {"socket_connect_timeout": PATIENCE_SECONDS, "socket_timeout": PATIENCE_SECONDS}
    try:
        with make_app(settings).connection_for_write(
            connect_timeout=PATIENCE_SECONDS, transport_options=waits
        ) as connection:
            connection.ensure_connection(max_retries=1, interval_start=0, timeout=PATIENCE_SECONDS)
    except (OperationalError, OSError) as error:
        return Check(name=name, ok=False, detail=f"does not answer: {error}", hint=hint, is_service=True)
    except AMQPError as error:
        hint = "correct the user, the password and the virtual host in ISOTHERM_BROKER_URL"
        return Check(name=name, ok=False, detail=f"refuses: {error}", hint=hint, is_service=True)
    except ValueError:
        # The message may quote a part of the password.
        return Check(name=name, ok=False, detail="not a broker's URL", hint=hint)
    except (LookupError, ImportError) as error:
        return Check(name=name, ok=False, detail=f"not a broker's URL: {error}", hint=hint)
    return Check(name=name, ok=True, detail=f"{masked(settings.broker_url)} answers")
