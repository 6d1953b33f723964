"""``isotherm api policy``: a sample of the rules by which the API admits keystone's users."""

import click

from orchestrator.cli.options import example


@click.command(epilog=example("isotherm api policy"))
def policy() -> None:
    """Write all rules of the API with their defaults.

    They are rules of oslo.policy with Heat's names, each commented out, in the form of a policy file. The setting
    api_policy_file names a file with those that are to differ.
    """
    # Packages that no other command needs.
    from orchestrator.api.installed import require_api
    from orchestrator.api.kinds import KEYSTONE

    require_api(KEYSTONE)
    from oslo_config.cfg import ConfigOpts
    from oslo_policy.generator import generate_sample

    # It finds the rules by an entry point of this package, as the program oslopolicy-sample-generator does.
    generate_sample(["--namespace", "isotherm"], conf=ConfigOpts())
