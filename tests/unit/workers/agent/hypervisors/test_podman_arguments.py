"""What podman is told, without running it."""

import csv
from itertools import pairwise
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from workers.agent.hypervisors.containers.podman import run_arguments
from workers.agent.hypervisors.hypervisor import CannotDo, Disk, HypervisorFault, InstanceSpec


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


@pytest.mark.parametrize(
    "name",
    ["XTABLES_LIBDIR", "IPTABLES_LIB_DIR", "GCONV_PATH", "_LIBCONTAINER_INITPIPE", "LD_PRELOAD", "PATH"],
)
def test_variable_that_would_load_code_outside_of_the_container_is_in_its_file_alone(name: str) -> None:
    _, handed, filed = told(env={name: "/srv/acme", "GREETING": "hello"})
    assert (set(handed), set(filed)) == ({"GREETING"}, {name})


def test_variable_that_no_file_holds_is_refused() -> None:
    for env in ({"STORAGE_KEY": "a\nb"}, {"# a_proxy": "b"}):
        with pytest.raises(CannotDo, match=r"'(STORAGE_KEY|# a_proxy)'"):
            told(env=env)


#: What a template may hold where the engine expects one value.
HOSTILE = st.text(alphabet=st.sampled_from("ab,:=*\"'\n -/.h"), max_size=12)


def mounts(arguments: list[str]) -> list[dict[str, str]]:
    """Return the fields of each mount as podman reads them, of which a later one replaces an earlier."""
    given = [value for flag, value in pairwise(arguments) if flag == "--mount"]
    return [dict(field.split("=", 1) for field in next(csv.reader([each]))) for each in given]


@given(hostile=HOSTILE)
def test_place_of_a_disk_never_becomes_another_source_of_it(hostile: str) -> None:
    place = f"/data{hostile}"
    disk = Disk(path="/tmp", format="dir")
    try:
        arguments = told(disks=[disk], options={"disk_paths": [place]})[0]
    except HypervisorFault:
        return
    assert mounts(arguments) == [{"type": "bind", "source": "/tmp", "target": place}]


@pytest.mark.parametrize("place", ["/data,source=/", '/data","source=/', "/data:rw", "/data\nx"])
def test_place_that_would_begin_another_field_is_refused(place: str) -> None:
    with pytest.raises(HypervisorFault, match="disk_paths"):
        told(options={"disk_paths": [place]})


@pytest.mark.parametrize(
    "name",
    ["host", "none", "ns:/proc/1/ns/net", "container:other", "slirp4netns:allow_host_loopback=true", "-x"],
)
def test_name_of_a_network_is_no_kind_of_network(name: str) -> None:
    with pytest.raises(HypervisorFault, match=r"networks\.0"):
        told(networks=[{"mode": "bridge", "name": name}])
    assert "shop-net" in told(networks=[{"mode": "bridge", "name": "shop-net"}])[0]


@pytest.mark.parametrize("name", ["ISOTHERM_*", "*", "https_*", "A=B", ""])
def test_variable_never_stands_for_those_of_the_agent(name: str) -> None:
    with pytest.raises(HypervisorFault, match="env"):
        told(env={name: "x"})


@pytest.mark.parametrize("signal", ["-A", "--ALL", "+TERM"])
def test_signal_is_no_option_of_the_engine(signal: str) -> None:
    with pytest.raises(HypervisorFault, match="stop_signal"):
        told(options={"stop_signal": signal})
