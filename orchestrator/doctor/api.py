"""Doctor checks of the API: whether it answers where machines of stacks look for it, and what its processes report."""

from collections.abc import Iterator, Sequence
from importlib.metadata import version

from orchestrator.config.settings import Settings
from orchestrator.doctor.check import PATIENCE_SECONDS, Check
from orchestrator.store.installation.processes import API
from orchestrator.views.operations import ProcessView


def check_api(settings: Settings) -> Iterator[Check]:
    """Check that the address of the settings is that of an API; yield nothing if they have none."""
    if not settings.api_url:
        return
    import httpx

    name, address = "api", settings.api_url.rstrip("/")
    hint = "start 'isotherm api' there, or correct api_url: machines of stacks cannot signal meanwhile"
    if not address.startswith(("http://", "https://")) or not address.endswith("/v1"):
        wanted = "an address such as https://heat.example.com:8004/v1"
        yield Check(name=name, ok=False, detail=f"api_url is {address}: expected {wanted}", hint=hint)
        return
    try:
        answer = httpx.get(address, timeout=PATIENCE_SECONDS, trust_env=False)
        versions = answer.json()["versions"]
        found = ", ".join(str(each["id"]) for each in versions)
    except (httpx.HTTPError, httpx.InvalidURL) as error:
        detail = f"nothing answers at {address}: {str(error).lower() or type(error).__name__}"
        yield Check(name=name, ok=False, detail=detail, hint=hint, is_service=True)
    except (ValueError, KeyError, TypeError):
        yield Check(
            name=name, ok=False, detail=f"what answers at {address} is no orchestration API", hint=hint
        )
    else:
        yield Check(name=name, ok=True, detail=f"answers at {address}: {found}")


def check_api_processes(processes: Sequence[ProcessView]) -> Iterator[Check]:
    """Yield where the present processes of the API are reached, and the last error; nothing if there are none."""
    serving = [each for each in processes if each.kind == API]
    if not serving:
        return
    here = version("isotherm")
    others = [f"{each.name} is of version {each.version}" for each in serving if each.version != here]
    places = ", ".join(sorted({f"{each.host} {each.address}" for each in serving}))
    # A line begins with its time.
    errors = sorted(line for each in serving for line in each.errors)
    last = f"; last error: {errors[-1]}" if errors else "; no errors"
    yield Check(
        name="api processes",
        ok=not others,
        detail="; ".join(others) or f"{len(serving)} at {places}{last}",
        hint=f"install version {here} there, and restart them",
    )
