"""Software configs and deployments of projects."""

from collections.abc import Mapping
from typing import Any, Final

import sqlalchemy as sa

from orchestrator.errors import Conflict, NotFound, cut
from orchestrator.model.project_limits import NO_LIMITS, SOFTWARE, ProjectLimits, refuse_beyond
from orchestrator.store import tables
from orchestrator.store.database import database_time
from orchestrator.store.repository import Repository
from orchestrator.store.retrying import retrying
from orchestrator.store.rows import AnyRow
from orchestrator.store.stacks.project_usage import lock_project, software_used
from orchestrator.views.software import SoftwareConfigItem, SoftwareConfigView, SoftwareDeploymentView

#: The fields of a config that are packed together, and the packed columns of a deployment.
_DEFINITION: Final = ("config", "inputs", "outputs", "options")
_VALUES: Final = ("input_values", "output_values")


class Software(Repository):
    """The operations on both tables; none sees a row of another project.

    Changes of a project's software wait for each other, so that no config is deleted that a deployment is about to use.
    """

    @retrying
    def add_config(
        self, config_id: str, project: str, given: Mapping[str, Any], *, limits: ProjectLimits = NO_LIMITS
    ) -> None:
        """Store a config with all of its fields.

        Raises:
            Conflict: the project would have more than it may.
        """
        row = self.config_row(config_id, project, given)
        with self._db.write() as connection:
            self._admit(connection, project, limits)
            now = database_time(connection, self._db)
            self._insert(connection, tables.software_config, {**row, "created_at": now})

    def config(self, config_id: str, project: str) -> SoftwareConfigView:
        """Return a config.

        Raises:
            NotFound: the project has none with this id.
        """
        config = tables.software_config
        row = self._db.first(sa.select(config).where(config.c.id == config_id, config.c.project == project))
        if row is None:
            raise _no_config(config_id)
        return self._config(row)

    @retrying
    def configs(self, project: str, *, after: str = "", limit: int | None = None) -> list[SoftwareConfigItem]:
        """Return a project's configs without their contents, the newest first; those behind the id ``after``.

        Raises:
            NotFound: the project has none with that id.
        """
        config = tables.software_config
        order = (config.c.created_at, config.c.id)
        ours = config.c.project == project
        sql = sa.select(*order, config.c.name, config.c.tool.label("group")).where(ours)
        with self._db.read() as connection:
            if after:
                last = connection.execute(sa.select(*order).where(ours, config.c.id == after)).first()
                if last is None:
                    raise _no_config(after)
                sql = sql.where(sa.tuple_(*order) < sa.tuple_(*map(sa.literal, last)))
            rows = connection.execute(sql.order_by(*(each.desc() for each in order)).limit(limit)).all()
        return [SoftwareConfigItem.of(row) for row in rows]

    @retrying
    def delete_config(self, config_id: str, project: str) -> None:
        """Delete a config.

        Raises:
            NotFound: the project has none with this id.
            Conflict: a deployment uses it.
        """
        config, deployment = tables.software_config, tables.software_deployment
        users = sa.select(deployment.c.id).where(deployment.c.config_id == config_id).limit(1)
        with self._db.write() as connection:
            lock_project(connection, project)
            self._require_config(connection, config_id, project)
            if (user := connection.execute(users).scalar()) is not None:
                raise Conflict(
                    f"software config {config_id!r} is used by the deployment {user!r}; delete that first"
                )
            connection.execute(config.delete().where(config.c.id == config_id))

    @retrying
    def add_deployment(
        self, deployment_id: str, project: str, given: Mapping[str, Any], *, limits: ProjectLimits = NO_LIMITS
    ) -> None:
        """Store a deployment with the fields that are given.

        Raises:
            NotFound: the project has no such config.
            Conflict: the project would have more than it may.
        """
        row = self.deployment_row(deployment_id, project, {"input_values": {}, "output_values": {}, **given})
        with self._db.write() as connection:
            self._admit(connection, project, limits)
            self._require_config(connection, given["config_id"], project)
            now = database_time(connection, self._db)
            self._insert(connection, tables.software_deployment, {**row, "created_at": now})

    def deployment(self, deployment_id: str, project: str) -> SoftwareDeploymentView:
        """Return a deployment.

        Raises:
            NotFound: the project has none with this id.
        """
        deployment = tables.software_deployment
        ours = (deployment.c.id == deployment_id) & (deployment.c.project == project)
        row = self._db.first(sa.select(deployment).where(ours))
        if row is None:
            raise _no_deployment(deployment_id)
        return self._deployment(row)

    def deployments(self, project: str, *, server_id: str = "") -> list[SoftwareDeploymentView]:
        """Return a project's deployments, or those to one server, the oldest first."""
        deployment = tables.software_deployment
        sql = sa.select(deployment).where(deployment.c.project == project)
        if server_id:
            sql = sql.where(deployment.c.server_id == server_id)
        rows = self._db.rows(sql.order_by(deployment.c.created_at, deployment.c.id))
        return [self._deployment(row) for row in rows]

    def deployed(
        self, project: str, server_id: str
    ) -> list[tuple[SoftwareDeploymentView, SoftwareConfigView]]:
        """Return the deployments to a server with their configs, in the order of the configs' names."""
        config, deployment = tables.software_config, tables.software_deployment
        ours = (deployment.c.project == project) & (deployment.c.server_id == server_id)
        sql = sa.select(config).where(config.c.id.in_(sa.select(deployment.c.config_id).where(ours)))
        configs = {row.id: self._config(row) for row in self._db.rows(sql)}
        # Of two statements, the second may see more: a config that it alone saw is left out until the next time.
        pairs = [
            (each, configs[each.config_id])
            for each in self.deployments(project, server_id=server_id)
            if each.config_id in configs
        ]
        return sorted(pairs, key=lambda pair: pair[1].name)

    @retrying
    def change_deployment(self, deployment_id: str, project: str, changes: Mapping[str, Any]) -> None:
        """Change fields of a deployment.

        Raises:
            NotFound: the project has no such deployment, or no such config.
        """
        deployment = tables.software_deployment
        ours = (deployment.c.id == deployment_id) & (deployment.c.project == project)
        with self._db.write() as connection:
            lock_project(connection, project)
            if "config_id" in changes:
                self._require_config(connection, changes["config_id"], project)
            now = database_time(connection, self._db)
            values = {**self.deployment_row(deployment_id, project, changes), "updated_at": now}
            if not connection.execute(deployment.update().where(ours).values(**values)).rowcount:
                raise _no_deployment(deployment_id)

    def delete_deployment(self, deployment_id: str, project: str) -> None:
        """Delete a deployment.

        Raises:
            NotFound: the project has none with this id.
        """
        deployment = tables.software_deployment
        ours = (deployment.c.id == deployment_id) & (deployment.c.project == project)
        if not self._db.change(deployment.delete().where(ours)):
            raise _no_deployment(deployment_id)

    def config_row(self, config_id: str, project: str, given: Mapping[str, Any]) -> dict[str, Any]:
        """Return the row of a config with all of its fields, without times."""
        definition = {name: given[name] for name in _DEFINITION}
        packed = self._codec.pack(definition, _place("software_config", "definition", config_id))
        row = {"id": config_id, "project": project, "name": given["name"], "tool": given["group"]}
        return {**row, "definition": packed}

    def deployment_row(self, deployment_id: str, project: str, given: Mapping[str, Any]) -> dict[str, Any]:
        """Return the columns of a deployment for the fields that are given."""
        packed = {
            name: self._codec.pack(given[name], _place("software_deployment", name, deployment_id))
            for name in _VALUES
            if name in given
        }
        return {"id": deployment_id, "project": project, **given, **packed}

    def _insert(self, connection: sa.Connection, table: sa.Table, row: Mapping[str, Any]) -> None:
        # One that is retried may have been committed.
        connection.execute(self._db.insert(table).values(**row).on_conflict_do_nothing())

    def _admit(self, connection: sa.Connection, project: str, limits: ProjectLimits) -> None:
        lock_project(connection, project)
        if limits.get(SOFTWARE) is not None:
            refuse_beyond(limits, SOFTWARE, project, used=software_used(connection, project), wanted=1)

    @staticmethod
    def _require_config(connection: sa.Connection, config_id: str, project: str) -> None:
        config = tables.software_config
        ours = sa.select(config.c.id).where(config.c.id == config_id, config.c.project == project)
        if connection.execute(ours).first() is None:
            raise _no_config(config_id)

    def _config(self, row: AnyRow) -> SoftwareConfigView:
        definition = self._codec.unpack(row.definition, _place("software_config", "definition", row.id))
        return SoftwareConfigView.of(row, group=row.tool, **definition)

    def _deployment(self, row: AnyRow) -> SoftwareDeploymentView:
        values = {
            name: self._codec.unpack(getattr(row, name), _place("software_deployment", name, row.id))
            for name in _VALUES
        }
        return SoftwareDeploymentView.of(row, **values)


def _place(table: str, column: str, row_id: str) -> tuple[str, str, str]:
    return table, column, row_id


def _no_config(config_id: str) -> NotFound:
    return NotFound(f"there is no software config with the id {cut(config_id)!r}")


def _no_deployment(deployment_id: str) -> NotFound:
    return NotFound(f"there is no software deployment with the id {cut(deployment_id)!r}")
