"""What podman is told, without running it."""

from pathlib import Path

import pytest

from workers.agent.hypervisors.containers.podman import run_arguments
from workers.agent.hypervisors.hypervisor import CannotDo, InstanceSpec


def told(**given: object) -> tuple[list[str], dict[str, str], dict[str, str]]:
    """Return what podman is told of an instance."""
    spec = InstanceSpec(**{"name": "web", "memory_mib": 64, "image": "localhost/web", **given})  # type: ignore[arg-type]
    return run_arguments(spec, directory=Path("/d"), pull="never")


@pytest.mark.parametrize(
    "image",
    [
        "docker-archive:/root/image.tar",
        "oci-archive:/root/image.tar",
        "oci:/root/image",
        "dir:/root/image",
        "docker-daemon:alpine:latest",
        "containers-storage:[vfs@/root/store]alpine",
        "docker:alpine",
    ],
)
def test_image_is_no_file_of_the_machine(image: str) -> None:
    with pytest.raises(CannotDo, match="expected a reference"):
        told(image=image)


@pytest.mark.parametrize(
    "image", ["alpine:3", "oci/web:1", "localhost:5000/web", "docker://docker.io/library/a"]
)
def test_image_is_a_reference(image: str) -> None:
    assert image in told(image=image)[0]


def test_values_of_variables_are_on_no_command_line() -> None:
    env = {
        "PASSWORD": "hush1",
        "STORAGE_KEY": "hush2 #$",
        "https_proxy": "http://u:hush3@p",
        "GOOGLE_KEY": "hush\n4",
    }
    arguments, handed, filed = told(env=env)
    assert not [each for each in arguments if "hush" in each]
    assert {**handed, **filed} == env
    # What podman would heed itself is not told to it by its own environment.
    assert set(filed) == {"STORAGE_KEY", "https_proxy"}


def test_variable_that_no_file_holds_is_refused() -> None:
    for env in ({"STORAGE_KEY": "a\nb"}, {"# a_proxy": "b"}):
        with pytest.raises(CannotDo, match=r"'(STORAGE_KEY|# a_proxy)'"):
            told(env=env)
