"""``OS::Heat::CloudConfig``."""

from typing import Any

import pytest
import yaml
from hypothesis import given
from hypothesis import strategies as st

from tests.unit.workers.resources.core.made import UUID, errors, make
from workers.resources.core.cloud_config import CloudConfig, cloud_config_text

SCALARS = st.none() | st.booleans() | st.integers() | st.text() | st.floats(allow_nan=False)
VALUES = st.recursive(
    SCALARS, lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(), inner, max_size=3)
)


def test_the_text_is_what_cloud_init_reads() -> None:
    config = {"packages": ["nginx"], "runcmd": ["systemctl start nginx"], "users": []}
    resource = make(CloudConfig, {"cloud_config": config})
    resource.handle_create()
    assert resource.attribute("config") == (
        "#cloud-config\npackages:\n- nginx\nruncmd:\n- systemctl start nginx\nusers: []\n"
    )
    assert resource.attribute("other") is None
    assert resource.reference_id() == UUID


def test_a_script_is_written_as_a_block() -> None:
    text = cloud_config_text({"write_files": [{"path": "/tmp/a", "content": "#!/bin/sh\necho 'ä'\n"}]})
    assert text == (
        "#cloud-config\nwrite_files:\n- path: /tmp/a\n  content: |\n    #!/bin/sh\n    echo 'ä'\n"
    )


def test_what_is_one_in_memory_is_written_twice() -> None:
    keys = ["ssh-ed25519 AAAA"]
    shared = cloud_config_text({"a": keys, "b": keys})
    assert shared == cloud_config_text({"a": list(keys), "b": list(keys)})
    assert "&" not in shared


@pytest.mark.parametrize("given_properties", [{}, {"cloud_config": None}, {"cloud_config": {}}])
def test_nothing_is_an_empty_map(given_properties: dict[str, Any]) -> None:
    assert make(CloudConfig, given_properties).attribute("config") == "#cloud-config\n{}\n"


def test_only_a_map_is_taken() -> None:
    assert errors(CloudConfig, {"cloud_config": "#cloud-config"}) == [
        "cloud_config: expected a map, found '#cloud-config'"
    ]


def test_every_change_makes_another_config() -> None:
    assert not any(prop.update_allowed for prop in CloudConfig.properties_schema.values())


@given(config=st.dictionaries(st.text(), VALUES, max_size=5))
def test_any_map_is_read_back_as_it_was(config: dict[str, Any]) -> None:
    first, _, rest = cloud_config_text(config).partition("\n")
    assert first == "#cloud-config"
    assert yaml.safe_load(rest) == config
