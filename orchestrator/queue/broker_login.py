"""Login at the broker, tried before a process begins: a wrong password does not pass by waiting."""

from typing import Final

from amqp.exceptions import AccessRefused, NotAllowed
from kombu.exceptions import OperationalError
from redis.exceptions import AuthenticationError

from orchestrator.config.settings import Settings
from orchestrator.errors import Unavailable
from orchestrator.queue.celery_app import make_app

#: How long the processes on a broker have to answer one that starts. It always waits so long.
ANSWER_SECONDS: Final = 1.0
#: How long the broker itself has. One that hangs delays the start, and where it is merely busy Celery would meet the
#: refusal later, and end with a traceback that says nothing of what to correct.
LOGIN_SECONDS: Final = 10.0


def require_broker_login(settings: Settings) -> None:
    """Require that the broker accepts the user and the password; one that does not answer may do so later.

    Raises:
        Unavailable: it refuses them.
    """
    try:
        # With an app of its own: no connection may be open when child processes are made.
        with (
            make_app(settings) as app,
            app.connection_for_write(connect_timeout=LOGIN_SECONDS) as connection,
        ):
            connection.ensure_connection(max_retries=1, interval_start=0, timeout=LOGIN_SECONDS)
    except (AccessRefused, NotAllowed) as error:
        raise _refused(error) from error
    except OperationalError as error:
        if isinstance(error.__cause__, AuthenticationError):
            raise _refused(error) from error
    except OSError:
        return


def _refused(error: Exception) -> Unavailable:
    reason = " ".join(str(error).split())
    return Unavailable(
        f"the broker refuses: {reason}; correct the user, the password and the virtual host in ISOTHERM_BROKER_URL"
    )
