"""``isotherm api policy``: a sample with every rule, which may be used as it is."""

from pathlib import Path

from click.testing import CliRunner

from orchestrator.api.rules import Rules, list_rules
from orchestrator.cli.main import isotherm


def test_sample_has_every_rule_commented_out(tmp_path: Path) -> None:
    said = CliRunner().invoke(isotherm, ["api", "policy"])
    assert said.exit_code == 0, said.output
    for rule in list_rules():
        assert f'#"{rule.name}": ' in said.output
    file = tmp_path / "policy.yaml"
    file.write_text(said.output)
    Rules(file)
    file.write_text(said.output.replace('#"', '"'))
    Rules(file)
