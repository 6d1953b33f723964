"""Software configs and deployments of a project: made, shown, changed and deleted, on record in the audit log."""

import uuid
from collections.abc import Callable, Mapping
from dataclasses import replace
from typing import Any

from orchestrator.config.settings import Settings
from orchestrator.engine.project_limits import limits_of
from orchestrator.model.software import (
    SoftwareLimits,
    checked_changes,
    checked_config,
    checked_deployment,
    with_values,
)
from orchestrator.store.store import Store
from orchestrator.views.software import SoftwareConfigItem, SoftwareConfigView, SoftwareDeploymentView


class SoftwareAdmin:
    """The software configs and deployments of the settings' project; ``record`` writes into the audit log."""

    def __init__(self, settings: Settings, store: Store, record: Callable[[str, str], None]) -> None:
        self._settings, self._store, self._record = settings, store, record
        self._rows, self._project = store.software, settings.project
        self._limits = SoftwareLimits(settings.max_value_bytes, settings.max_value_depth)

    def create_config(self, given: Mapping[str, Any]) -> SoftwareConfigView:
        """Make a config of the fields ``name``, ``group``, ``config``, ``inputs``, ``outputs`` and ``options``.

        Raises:
            InvalidInput: a field is wrong or too large.
            Conflict: the project would have more than it may.
        """
        fields, config_id = checked_config(given, self._limits), str(uuid.uuid4())
        self._record("software.create", f"config {config_id}")
        limits = limits_of(self._store, self._settings, self._project)
        self._rows.add_config(config_id, self._project, fields, limits=limits)
        return self.config(config_id)

    def config(self, config_id: str) -> SoftwareConfigView:
        """Return a config.

        Raises:
            NotFound: there is none.
        """
        return self._rows.config(config_id, self._project)

    def configs(self, *, after: str = "", limit: int | None = None) -> list[SoftwareConfigItem]:
        """Return the configs without their contents, the newest first; those behind the id ``after``.

        Raises:
            NotFound: there is no config with that id.
        """
        return self._rows.configs(self._project, after=after, limit=limit)

    def delete_config(self, config_id: str) -> None:
        """Delete a config.

        Raises:
            NotFound: there is none.
            Conflict: a deployment uses it.
        """
        self._record("software.delete", f"config {config_id}")
        self._rows.delete_config(config_id, self._project)

    def create_deployment(self, given: Mapping[str, Any]) -> SoftwareDeploymentView:
        """Make a deployment of the fields that :class:`SoftwareDeploymentView` has, besides its id and times.

        Raises:
            InvalidInput: a field is wrong or too large, or there is no server or config.
            NotFound: there is no such config.
            Conflict: the project would have more than it may.
        """
        fields, deployment_id = checked_deployment(given, self._limits), str(uuid.uuid4())
        self._record("software.create", f"deployment {deployment_id}")
        limits = limits_of(self._store, self._settings, self._project)
        self._rows.add_deployment(deployment_id, self._project, fields, limits=limits)
        return self.deployment(deployment_id)

    def deployment(self, deployment_id: str) -> SoftwareDeploymentView:
        """Return a deployment.

        Raises:
            NotFound: there is none.
        """
        return self._rows.deployment(deployment_id, self._project)

    def deployments(self, *, server_id: str = "") -> list[SoftwareDeploymentView]:
        """Return the deployments, or those to one server, the oldest first."""
        return self._rows.deployments(self._project, server_id=server_id)

    def update_deployment(self, deployment_id: str, given: Mapping[str, Any]) -> SoftwareDeploymentView:
        """Change fields of a deployment; its server stays.

        Raises:
            InvalidInput: a field is wrong or too large.
            NotFound: there is no such deployment or config.
        """
        changes = checked_changes(given, self._limits)
        self._record("software.update", f"deployment {deployment_id}")
        self._rows.change_deployment(deployment_id, self._project, changes)
        return self.deployment(deployment_id)

    def delete_deployment(self, deployment_id: str) -> None:
        """Delete a deployment; its config stays.

        Raises:
            NotFound: there is none.
        """
        self._record("software.delete", f"deployment {deployment_id}")
        self._rows.delete_deployment(deployment_id, self._project)

    def metadata(self, server_id: str) -> list[SoftwareConfigView]:
        """Return the configs that a server is to apply, in the order of their names, with the values of inputs."""
        return [
            replace(config, inputs=with_values(config.inputs, deployment.input_values))
            for deployment, config in self._rows.deployed(self._project, server_id)
        ]
