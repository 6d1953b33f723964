"""Doctor check of the API: whether it answers where machines of stacks look for it."""

from collections.abc import Iterator

from orchestrator.config.settings import Settings
from orchestrator.doctor.check import PATIENCE_SECONDS, Check


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
