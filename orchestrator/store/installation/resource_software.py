"""Software configs and deployments that belong to resources of stacks: written by the steps of their actions."""

from collections.abc import Mapping
from typing import Any, Final

import sqlalchemy as sa

from orchestrator.errors import Conflict, NotFound
from orchestrator.store import tables
from orchestrator.store.database import database_time
from orchestrator.store.installation.software import Software
from orchestrator.store.nodes.claims import Claim
from orchestrator.store.repository import Repository
from orchestrator.store.retrying import retrying
from orchestrator.store.stacks.project_usage import lock_project
from orchestrator.views.software import SoftwareConfigView

#: What of a config never changes.
_KEPT_OF_CONFIG: Final = frozenset({"id", "project", "created_at"})
_KEPT_OF_DEPLOYMENT: Final = _KEPT_OF_CONFIG | {"server_id"}


class ResourceSoftware(Repository):
    """The operations on both tables for resources that are claimed."""

    def of_claim(self, claim: Claim, project: str) -> "ClaimedSoftware":
        """Return the software of a project, for a step of a claimed resource of it."""
        return ClaimedSoftware(self, claim, project)

    def config(self, config_id: str, project: str) -> SoftwareConfigView | None:
        """Return a project's config; None if it has none with this id."""
        try:
            return self._software.config(config_id, project)
        except NotFound:
            return None

    @retrying
    def put_config(self, claim: Claim, project: str, config: Mapping[str, Any]) -> None:
        """Keep a config under the id of a claimed resource.

        Raises:
            Conflict: the resource is no longer claimed by this attempt.
        """
        with self._db.write() as connection:
            self._require_claim(connection, claim)
            self._put_config(connection, claim, project, claim.resource_id, config)

    @retrying
    def deploy(
        self,
        claim: Claim,
        project: str,
        deployment: Mapping[str, Any],
        config_id: str,
        config: Mapping[str, Any],
    ) -> None:
        """Keep a deployment under the id of a claimed resource, with its config in place of those before.

        Raises:
            Conflict: the resource is no longer claimed by this attempt.
        """
        others = tables.software_config.c.id != config_id
        given = {**deployment, "config_id": config_id}
        with self._db.write() as connection:
            lock_project(connection, project)
            self._require_claim(connection, claim)
            self._put_config(connection, claim, project, config_id, config)
            now = database_time(connection, self._db)
            row = {
                **self._software.deployment_row(claim.resource_id, project, given),
                "created_at": now,
                "updated_at": now,
            }
            self._put(connection, claim, tables.software_deployment, row, _KEPT_OF_DEPLOYMENT)
            connection.execute(tables.software_config.delete().where(self._unused(claim, project), others))

    @retrying
    def conclude(
        self, claim: Claim, project: str, status: str, reason: str, output_values: Mapping[str, Any]
    ) -> None:
        """Record what became of the deployment of a claimed resource.

        Raises:
            Conflict: the resource is no longer claimed by this attempt.
        """
        given = {"status": status, "status_reason": reason, "output_values": output_values}
        row = self._software.deployment_row(claim.resource_id, project, given)
        with self._db.write() as connection:
            self._require_claim(connection, claim)
            row["updated_at"] = database_time(connection, self._db)
            deployment = tables.software_deployment
            connection.execute(deployment.update().where(self._own(deployment, claim, project)).values(**row))

    @retrying
    def remove(self, claim: Claim, project: str) -> str | None:
        """Remove the deployment and the configs of a claimed resource.

        Return the id of another deployment if it uses one of the configs; then nothing is removed.

        Raises:
            Conflict: the resource is no longer claimed by this attempt.
        """
        config, deployment = tables.software_config, tables.software_deployment
        own = sa.select(config.c.id).where(self._own(config, claim, project))
        with self._db.write() as connection:
            lock_project(connection, project)
            self._require_claim(connection, claim)
            users = sa.select(deployment.c.id).where(
                deployment.c.config_id.in_(own), deployment.c.id != claim.resource_id
            )
            if (user := connection.execute(users.limit(1)).scalar()) is not None:
                return str(user)
            for table in (deployment, config):
                connection.execute(table.delete().where(self._own(table, claim, project)))
        return None

    def is_replaced(self, resource_id: str) -> bool:
        """Return whether another row has taken the place of a resource's."""
        resource = tables.resource
        sql = sa.select(resource.c.replaced_by).where(resource.c.id == resource_id)
        return self._db.value(sql) is not None

    @property
    def _software(self) -> Software:
        return Software(self._db, self._codec, self._timings)

    @staticmethod
    def _require_claim(connection: sa.Connection, claim: Claim) -> None:
        resource, order = tables.resource, claim.order
        ours = sa.select(resource.c.id).where(
            resource.c.id == claim.resource_id,
            resource.c.lock_traversal == order.traversal_id,
            resource.c.lock_no == order.no,
            resource.c.lock_attempt == claim.attempt,
        )
        # Until the end of the transaction no other attempt takes over.
        if connection.execute(ours.with_for_update()).first() is None:
            raise Conflict(f"another attempt at {claim.action} of {order.key!r} has taken over")

    @staticmethod
    def _own(table: sa.Table, claim: Claim, project: str) -> sa.ColumnElement[bool]:
        is_own = table.c.id == claim.resource_id
        if table is tables.software_config:
            is_own = table.c.resource_id == claim.resource_id
        return is_own & (table.c.project == project)

    def _unused(self, claim: Claim, project: str) -> sa.ColumnElement[bool]:
        config, deployment = tables.software_config, tables.software_deployment
        users = sa.select(deployment.c.id).where(deployment.c.config_id == config.c.id)
        return self._own(config, claim, project) & ~users.exists()

    def _put_config(
        self, connection: sa.Connection, claim: Claim, project: str, config_id: str, config: Mapping[str, Any]
    ) -> None:
        row = self._software.config_row(config_id, project, config)
        row["created_at"] = database_time(connection, self._db)
        self._put(connection, claim, tables.software_config, row, _KEPT_OF_CONFIG)

    def _put(
        self,
        connection: sa.Connection,
        claim: Claim,
        table: sa.Table,
        row: Mapping[str, Any],
        kept: frozenset[str],
    ) -> None:
        values = {**row, "resource_id": claim.resource_id}
        insert = self._db.insert(table).values(**values)
        connection.execute(
            insert.on_conflict_do_update(
                index_elements=[table.c.id],
                set_={name: value for name, value in values.items() if name not in kept},
                # An id that is taken is that of this resource.
                where=table.c.resource_id == claim.resource_id,
            )
        )


class ClaimedSoftware:
    """The software of a project for one step; an implementation of :class:`orchestrator.plugins.software.Software`."""

    def __init__(self, rows: ResourceSoftware, claim: Claim, project: str) -> None:
        self._rows, self._claim, self._project = rows, claim, project

    def config(self, config_id: str) -> SoftwareConfigView | None:
        """Return a config of the project; None if there is none."""
        return self._rows.config(config_id, self._project)

    def put_config(self, config: Mapping[str, Any]) -> None:
        """Keep a config under the id of the resource."""
        self._rows.put_config(self._claim, self._project, config)

    def deploy(self, deployment: Mapping[str, Any], config_id: str, config: Mapping[str, Any]) -> None:
        """Keep a deployment under the id of the resource, with its config."""
        self._rows.deploy(self._claim, self._project, deployment, config_id, config)

    def conclude(self, status: str, reason: str, output_values: Mapping[str, Any]) -> None:
        """Record what became of the deployment."""
        self._rows.conclude(self._claim, self._project, status, reason, output_values)

    def remove(self) -> str | None:
        """Remove everything that is the resource's, unless another deployment uses it."""
        return self._rows.remove(self._claim, self._project)

    def is_replaced(self) -> bool:
        """Return whether another row has taken the place of the resource's."""
        return self._rows.is_replaced(self._claim.resource_id)
