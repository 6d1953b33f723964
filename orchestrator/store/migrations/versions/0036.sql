-- The newest schema in SQLite; made of the revisions, and compared with them, by test_migrations.py.

CREATE TABLE alembic_version (
	version_num VARCHAR(32) NOT NULL, 
	CONSTRAINT alembic_version_pkc PRIMARY KEY (version_num)
)

CREATE TABLE event (
	id INTEGER NOT NULL PRIMARY KEY AUTOINCREMENT, 
	at DOUBLE NOT NULL, 
	stack_id TEXT NOT NULL, 
	traversal_id TEXT NOT NULL, 
	resource TEXT DEFAULT '' NOT NULL, 
	resource_id TEXT, 
	type TEXT DEFAULT '' NOT NULL, 
	action TEXT NOT NULL, 
	status TEXT NOT NULL, 
	reason TEXT DEFAULT '' NOT NULL, 
	physical_id TEXT
, cause TEXT DEFAULT '' NOT NULL, worker TEXT DEFAULT '' NOT NULL, user_name TEXT DEFAULT '' NOT NULL)

CREATE INDEX ix_event_stack_id_id ON event (stack_id, id)

CREATE TABLE file (
	id TEXT NOT NULL, 
	content BLOB NOT NULL, saved_at DOUBLE DEFAULT '0' NOT NULL, 
	CONSTRAINT pk_file PRIMARY KEY (id)
)

CREATE TABLE job (
	id TEXT NOT NULL, 
	stack_id TEXT, 
	status TEXT NOT NULL, 
	refusal BLOB, 
	created_at DOUBLE NOT NULL, traversal_id TEXT, user_name TEXT DEFAULT '' NOT NULL, 
	CONSTRAINT pk_job PRIMARY KEY (id)
)

CREATE TABLE node (
	no INTEGER NOT NULL, 
	traversal_id TEXT NOT NULL, 
	"key" TEXT NOT NULL, 
	phase TEXT NOT NULL, 
	resource_id TEXT, 
	action TEXT DEFAULT '' NOT NULL, 
	state TEXT NOT NULL, 
	remaining INTEGER NOT NULL, 
	dependents TEXT DEFAULT '[]' NOT NULL, 
	requirements TEXT DEFAULT '[]' NOT NULL, 
	fragment BLOB, 
	wanted BLOB, 
	node_data BLOB, 
	due_at DOUBLE, 
	attempt INTEGER DEFAULT '0' NOT NULL, 
	retries INTEGER DEFAULT '0' NOT NULL, 
	published INTEGER DEFAULT '0' NOT NULL, 
	woken BOOLEAN DEFAULT 0 NOT NULL, 
	quiet BOOLEAN DEFAULT 0 NOT NULL, 
	changed BOOLEAN DEFAULT 0 NOT NULL, 
	worker TEXT, hook TEXT, hooks TEXT, hook_at DOUBLE, ready_at DOUBLE, needs BLOB, lost INTEGER DEFAULT '0' NOT NULL, 
	CONSTRAINT pk_node PRIMARY KEY (no, traversal_id)
)

CREATE INDEX ix_node_traversal ON node ((traversal_id || ''))

CREATE INDEX ix_node_due_at ON node (due_at) WHERE due_at IS NOT NULL

CREATE INDEX ix_node_resource_id ON node (resource_id) WHERE resource_id IS NOT NULL

CREATE TABLE resource (
	id TEXT NOT NULL, 
	stack_id TEXT NOT NULL, 
	name TEXT NOT NULL, 
	type TEXT NOT NULL, 
	action TEXT DEFAULT 'INIT' NOT NULL, 
	status TEXT DEFAULT 'COMPLETE' NOT NULL, 
	reason TEXT DEFAULT '' NOT NULL, 
	physical_id TEXT, 
	reference_id BLOB, 
	properties BLOB, 
	definition_hash TEXT, 
	attributes BLOB, 
	requires TEXT DEFAULT '[]' NOT NULL, 
	replaces TEXT, 
	replaced_by TEXT, 
	metadata BLOB, 
	metadata_version INTEGER DEFAULT '0' NOT NULL, 
	data BLOB, 
	token BLOB, 
	template_id TEXT NOT NULL, 
	started_at DOUBLE DEFAULT '0' NOT NULL, 
	lock_traversal TEXT, 
	lock_no INTEGER, 
	lock_attempt INTEGER, 
	created_at DOUBLE NOT NULL, 
	updated_at DOUBLE NOT NULL, unhealthy BOOLEAN DEFAULT 0 NOT NULL, metadata_hash TEXT, planned_traversal TEXT, planned_no INTEGER, applied_traversal TEXT, applied_no INTEGER, on_node TEXT, protected BOOLEAN DEFAULT 0 NOT NULL, former_names TEXT DEFAULT '[]' NOT NULL, complete_name TEXT, made_stack_id TEXT, made_stack_name TEXT, complete_template_id TEXT, complete_path TEXT, transferred_at DOUBLE, 
	CONSTRAINT pk_resource PRIMARY KEY (id)
)

CREATE INDEX ix_resource_stack_id_name ON resource (stack_id, name)

CREATE TABLE stack (
	id TEXT NOT NULL, 
	name TEXT NOT NULL, 
	project TEXT NOT NULL, 
	parent_id TEXT, 
	parent_resource TEXT, 
	action TEXT NOT NULL, 
	status TEXT NOT NULL, 
	reason TEXT DEFAULT '' NOT NULL, 
	traversal_id TEXT NOT NULL, 
	template_id TEXT NOT NULL, 
	completed_template_id TEXT, 
	in_service BOOLEAN DEFAULT 0 NOT NULL, 
	timeout_minutes DOUBLE NOT NULL, 
	created_at DOUBLE NOT NULL, 
	updated_at DOUBLE NOT NULL, 
	deleted_at DOUBLE, root_id TEXT DEFAULT '' NOT NULL, depth INTEGER DEFAULT '0' NOT NULL, "rollback" BOOLEAN DEFAULT 0 NOT NULL, tags TEXT DEFAULT '[]' NOT NULL, defining_traversal_id TEXT, protected BOOLEAN DEFAULT 0 NOT NULL, protections INTEGER DEFAULT '0' NOT NULL, partial TEXT DEFAULT '[]' NOT NULL, 
	CONSTRAINT pk_stack PRIMARY KEY (id)
)

CREATE UNIQUE INDEX ux_stack_name ON stack (project, name) WHERE deleted_at IS NULL

CREATE TABLE template (
	id TEXT NOT NULL, 
	body BLOB NOT NULL, saved_at DOUBLE DEFAULT '0' NOT NULL, 
	CONSTRAINT pk_template PRIMARY KEY (id)
)

CREATE TABLE traversal (
	id TEXT NOT NULL, 
	stack_id TEXT NOT NULL, 
	action TEXT NOT NULL, 
	status TEXT NOT NULL, 
	reason TEXT DEFAULT '' NOT NULL, 
	options TEXT DEFAULT '{}' NOT NULL, 
	context BLOB NOT NULL, 
	template_id TEXT NOT NULL, 
	deadline DOUBLE NOT NULL, 
	created_at DOUBLE NOT NULL, 
	ended_at DOUBLE, counted TEXT DEFAULT '{}' NOT NULL, user_name TEXT DEFAULT '' NOT NULL, comment TEXT DEFAULT '' NOT NULL, left_out TEXT DEFAULT '[]' NOT NULL, 
	CONSTRAINT pk_traversal PRIMARY KEY (id)
)

CREATE INDEX ix_traversal_deadline ON traversal (deadline) WHERE status = 'IN_PROGRESS'

CREATE INDEX ix_traversal_stack_id ON traversal (stack_id)

CREATE INDEX ix_stack_parent_id ON stack (parent_id)

CREATE INDEX ix_stack_root_id ON stack (root_id)

CREATE INDEX ix_stack_traversal_id ON stack (traversal_id)

CREATE INDEX ix_node_hook ON node (traversal_id) WHERE hook IS NOT NULL

CREATE INDEX ix_stack_project_name_deleted_at ON stack (project, name, deleted_at)

CREATE INDEX ix_stack_deleted_at ON stack (deleted_at) WHERE deleted_at IS NOT NULL

CREATE TABLE chore (
	name TEXT NOT NULL, 
	begun_at DOUBLE NOT NULL, 
	CONSTRAINT pk_chore PRIMARY KEY (name)
)

CREATE TABLE snapshot (
	id TEXT NOT NULL, 
	stack_id TEXT NOT NULL, 
	name TEXT DEFAULT '' NOT NULL, 
	action TEXT NOT NULL, 
	status TEXT NOT NULL, 
	reason TEXT DEFAULT '' NOT NULL, 
	template_id TEXT NOT NULL, 
	traversal_id TEXT NOT NULL, 
	created_at DOUBLE NOT NULL, 
	CONSTRAINT pk_snapshot PRIMARY KEY (id)
)

CREATE INDEX ix_snapshot_stack_id ON snapshot (stack_id)

CREATE TABLE snapshot_resource (
	snapshot_id TEXT NOT NULL, 
	name TEXT NOT NULL, 
	type TEXT NOT NULL, 
	entry BLOB NOT NULL, 
	CONSTRAINT pk_snapshot_resource PRIMARY KEY (snapshot_id, name)
)

CREATE TABLE cache_counter (
	client TEXT NOT NULL, 
	since DOUBLE NOT NULL, 
	hits BIGINT NOT NULL, 
	misses BIGINT NOT NULL, 
	generated BIGINT NOT NULL, 
	refused BIGINT NOT NULL, 
	errors BIGINT NOT NULL, 
	garbage BIGINT NOT NULL, evicted BIGINT DEFAULT '0' NOT NULL, 
	CONSTRAINT pk_cache_counter PRIMARY KEY (client)
)

CREATE TABLE cache_flush (
	client TEXT NOT NULL, 
	flushed_at DOUBLE NOT NULL, 
	CONSTRAINT pk_cache_flush PRIMARY KEY (client)
)

CREATE TABLE taken_job (
	id TEXT NOT NULL, 
	taken_at DOUBLE NOT NULL, 
	CONSTRAINT pk_taken_job PRIMARY KEY (id)
)

CREATE TABLE operation (
	id TEXT NOT NULL, 
	cause TEXT NOT NULL, 
	stack_id TEXT NOT NULL, 
	stack TEXT NOT NULL, 
	project TEXT NOT NULL, 
	action TEXT NOT NULL, 
	state TEXT NOT NULL, 
	outcome TEXT DEFAULT '' NOT NULL, 
	reason TEXT DEFAULT '' NOT NULL, 
	shown BLOB, 
	owner TEXT NOT NULL, 
	leased_until DOUBLE, 
	attempt INTEGER NOT NULL, 
	created_at DOUBLE NOT NULL, 
	ended_at DOUBLE, user_name TEXT DEFAULT '' NOT NULL, 
	CONSTRAINT pk_operation PRIMARY KEY (id)
)

CREATE TABLE operation_call (
	operation_id TEXT NOT NULL, 
	position INTEGER NOT NULL, 
	plugin TEXT NOT NULL, 
	state TEXT NOT NULL, 
	annotations BLOB, 
	error TEXT DEFAULT '' NOT NULL, 
	asked_seconds DOUBLE, 
	told_seconds DOUBLE, asked_lost INTEGER DEFAULT '0' NOT NULL, told_lost INTEGER DEFAULT '0' NOT NULL, 
	CONSTRAINT pk_operation_call PRIMARY KEY (operation_id, position)
)

CREATE TABLE annotation (
	stack_id TEXT NOT NULL, 
	plugin TEXT NOT NULL, 
	resource TEXT NOT NULL, 
	value BLOB NOT NULL, 
	CONSTRAINT pk_annotation PRIMARY KEY (stack_id, plugin, resource)
)

CREATE TABLE sink_cursor (
	name TEXT NOT NULL, 
	stack_id TEXT, 
	type TEXT NOT NULL, 
	options BLOB, 
	position BIGINT NOT NULL, 
	until BIGINT, 
	left_at DOUBLE, 
	state BLOB, 
	lost BIGINT DEFAULT '0' NOT NULL, 
	failing_since DOUBLE, 
	failures INTEGER DEFAULT '0' NOT NULL, 
	error TEXT DEFAULT '' NOT NULL, 
	due_at DOUBLE DEFAULT '0' NOT NULL, 
	owner TEXT, 
	leased_until DOUBLE, 
	attempt INTEGER DEFAULT '0' NOT NULL, 
	created_at DOUBLE NOT NULL, 
	CONSTRAINT pk_sink_cursor PRIMARY KEY (name)
)

CREATE INDEX ix_operation_stack_id_created_at ON operation (stack_id, created_at)

CREATE UNIQUE INDEX ux_operation_cause ON operation (cause) WHERE state = 'entering'

CREATE INDEX ix_operation_leased_until ON operation (leased_until) WHERE leased_until IS NOT NULL

CREATE INDEX ix_annotation_stack_id_resource ON annotation (stack_id, resource)

CREATE INDEX ix_sink_cursor_stack_id ON sink_cursor (stack_id)

CREATE INDEX ix_resource_on_node ON resource (on_node) WHERE on_node IS NOT NULL

CREATE TABLE machine (
	name TEXT NOT NULL, 
	said TEXT NOT NULL, 
	incarnation TEXT NOT NULL, 
	boot_id TEXT NOT NULL, 
	seen_at DOUBLE NOT NULL, 
	watched_at DOUBLE DEFAULT '0' NOT NULL, 
	drained_at DOUBLE, 
	drain_reason TEXT DEFAULT '' NOT NULL, 
	created_at DOUBLE NOT NULL, 
	CONSTRAINT pk_machine PRIMARY KEY (name)
)

CREATE TABLE node_counter (
	name TEXT NOT NULL, 
	since DOUBLE NOT NULL, 
	amount DOUBLE NOT NULL, 
	CONSTRAINT pk_node_counter PRIMARY KEY (name)
)

CREATE TABLE reservation (
	stack_id TEXT NOT NULL, 
	resource TEXT NOT NULL, 
	node TEXT NOT NULL, 
	kind TEXT NOT NULL, 
	operation_id TEXT NOT NULL, 
	amount BIGINT NOT NULL, 
	expires_at DOUBLE, 
	created_at DOUBLE NOT NULL, 
	CONSTRAINT pk_reservation PRIMARY KEY (stack_id, resource, node, kind, operation_id)
)

CREATE INDEX ix_reservation_node ON reservation (node)

CREATE INDEX ix_reservation_operation_id ON reservation (operation_id)

CREATE TABLE process (
	name TEXT NOT NULL, 
	kind TEXT NOT NULL, 
	host TEXT NOT NULL, 
	pid INTEGER NOT NULL, 
	celery_name TEXT DEFAULT '' NOT NULL, 
	version TEXT DEFAULT '' NOT NULL, 
	queues TEXT DEFAULT '[]' NOT NULL, 
	started_at DOUBLE NOT NULL, 
	seen_at DOUBLE NOT NULL, 
	stopped_at DOUBLE, address TEXT DEFAULT '' NOT NULL, errors TEXT DEFAULT '[]' NOT NULL, 
	CONSTRAINT pk_process PRIMARY KEY (name)
)

CREATE INDEX ix_process_seen_at ON process (seen_at)

CREATE TABLE identity (
	one INTEGER NOT NULL, 
	id TEXT NOT NULL, reencrypted_at DOUBLE, 
	CONSTRAINT pk_identity PRIMARY KEY (one)
)

CREATE TABLE refused_message (
	no INTEGER NOT NULL PRIMARY KEY AUTOINCREMENT, 
	received_at DOUBLE NOT NULL, 
	place TEXT NOT NULL, 
	reason TEXT NOT NULL, 
	sentence TEXT NOT NULL, 
	task TEXT NOT NULL, 
	message_id TEXT NOT NULL, 
	size_bytes BIGINT NOT NULL, 
	digest TEXT NOT NULL
)

CREATE TABLE refused_count (
	place TEXT NOT NULL, 
	reason TEXT NOT NULL, 
	amount BIGINT NOT NULL, 
	last_at DOUBLE NOT NULL, 
	CONSTRAINT pk_refused_count PRIMARY KEY (place, reason)
)

CREATE TABLE waiting_job (
	id TEXT NOT NULL, 
	project TEXT NOT NULL, 
	no BIGINT NOT NULL, 
	task TEXT NOT NULL, 
	job BLOB NOT NULL, 
	due_at DOUBLE NOT NULL, 
	attempts INTEGER DEFAULT '0' NOT NULL, 
	CONSTRAINT pk_waiting_job PRIMARY KEY (id)
)

CREATE INDEX ix_waiting_job_project_no ON waiting_job (project, no)

CREATE INDEX ix_waiting_job_due_at ON waiting_job (due_at)

CREATE TABLE project_turn (
	project TEXT NOT NULL, 
	taken_at DOUBLE NOT NULL, 
	CONSTRAINT pk_project_turn PRIMARY KEY (project)
)

CREATE INDEX ix_taken_job_taken_at ON taken_job (taken_at)

CREATE TABLE audit_record (
	seq BIGINT NOT NULL, 
	at DOUBLE NOT NULL, 
	user_name TEXT NOT NULL, 
	project TEXT NOT NULL, 
	action TEXT NOT NULL, 
	target TEXT NOT NULL, 
	origin TEXT NOT NULL, 
	outcome TEXT NOT NULL, 
	detail TEXT NOT NULL, 
	hash TEXT NOT NULL, 
	CONSTRAINT pk_audit_record PRIMARY KEY (seq)
)

CREATE TRIGGER audit_record_stays_update BEFORE UPDATE ON audit_record BEGIN SELECT RAISE(ABORT, 'audit records are neither changed nor removed'); END

CREATE TRIGGER audit_record_stays_delete BEFORE DELETE ON audit_record BEGIN SELECT RAISE(ABORT, 'audit records are neither changed nor removed'); END

CREATE TABLE project_limit (
	project TEXT NOT NULL, 
	name TEXT NOT NULL, 
	most DOUBLE, 
	CONSTRAINT pk_project_limit PRIMARY KEY (project, name)
)

CREATE TABLE project_evaluation (
	project TEXT NOT NULL, 
	minute BIGINT NOT NULL, 
	seconds DOUBLE NOT NULL, 
	CONSTRAINT pk_project_evaluation PRIMARY KEY (project)
)

CREATE TABLE software_config (
	id TEXT NOT NULL, 
	project TEXT NOT NULL, 
	name TEXT NOT NULL, 
	tool TEXT NOT NULL, 
	definition BLOB NOT NULL, 
	created_at DOUBLE NOT NULL, resource_id TEXT, 
	CONSTRAINT pk_software_config PRIMARY KEY (id)
)

CREATE INDEX ix_software_config_project_created_at ON software_config (project, created_at)

CREATE TABLE software_deployment (
	id TEXT NOT NULL, 
	project TEXT NOT NULL, 
	config_id TEXT NOT NULL, 
	server_id TEXT NOT NULL, 
	action TEXT DEFAULT '' NOT NULL, 
	status TEXT DEFAULT '' NOT NULL, 
	status_reason TEXT DEFAULT '' NOT NULL, 
	input_values BLOB NOT NULL, 
	output_values BLOB NOT NULL, 
	stack_user_project_id TEXT DEFAULT '' NOT NULL, 
	created_at DOUBLE NOT NULL, 
	updated_at DOUBLE, resource_id TEXT, 
	CONSTRAINT pk_software_deployment PRIMARY KEY (id)
)

CREATE INDEX ix_software_deployment_project_server_id ON software_deployment (project, server_id)

CREATE INDEX ix_software_deployment_config_id ON software_deployment (config_id)

CREATE TABLE delegated_credential (
	id TEXT NOT NULL, 
	project TEXT NOT NULL, 
	client TEXT NOT NULL, 
	stack_id TEXT, 
	options BLOB NOT NULL, 
	created_at DOUBLE NOT NULL, 
	CONSTRAINT pk_delegated_credential PRIMARY KEY (id)
)

CREATE INDEX ix_delegated_credential_stack_id ON delegated_credential (stack_id)

CREATE INDEX ix_software_config_resource_id ON software_config (resource_id)

CREATE TABLE step_log (
	traversal_id TEXT NOT NULL, 
	no INTEGER NOT NULL, 
	attempt INTEGER NOT NULL, 
	stack_id TEXT NOT NULL, 
	resource TEXT NOT NULL, 
	action TEXT NOT NULL, 
	worker TEXT NOT NULL, 
	at DOUBLE NOT NULL, 
	number INTEGER NOT NULL, 
	lines BLOB NOT NULL, 
	CONSTRAINT pk_step_log PRIMARY KEY (traversal_id, no, attempt)
)

CREATE INDEX ix_step_log_stack_id_resource_at ON step_log (stack_id, resource, at)

CREATE INDEX ix_step_log_at ON step_log (at)

CREATE TABLE observation (
	stack_id TEXT NOT NULL, 
	policy TEXT DEFAULT '{}' NOT NULL, 
	due_at DOUBLE, 
	attempt INTEGER DEFAULT '0' NOT NULL, 
	ended_attempt INTEGER DEFAULT '0' NOT NULL, 
	observed_at DOUBLE, 
	trouble TEXT DEFAULT '' NOT NULL, 
	repairs TEXT DEFAULT '[]' NOT NULL, 
	repair_traversal TEXT, 
	CONSTRAINT pk_observation PRIMARY KEY (stack_id)
)

CREATE INDEX ix_observation_due_at ON observation (due_at) WHERE due_at IS NOT NULL

CREATE INDEX ix_observation_repair_traversal ON observation (stack_id) WHERE repair_traversal IS NOT NULL

CREATE TABLE drift (
	resource_id TEXT NOT NULL, 
	"key" TEXT NOT NULL, 
	stack_id TEXT NOT NULL, 
	root_id TEXT NOT NULL, 
	path TEXT NOT NULL, 
	type TEXT NOT NULL, 
	finding BLOB NOT NULL, 
	since DOUBLE NOT NULL, 
	seen_at DOUBLE NOT NULL, 
	times INTEGER DEFAULT '1' NOT NULL, 
	standing TEXT NOT NULL, 
	why TEXT DEFAULT '' NOT NULL, 
	CONSTRAINT pk_drift PRIMARY KEY (resource_id, "key")
)

CREATE INDEX ix_drift_root_id ON drift (root_id)

CREATE INDEX ix_drift_stack_id ON drift (stack_id)

CREATE TABLE output_reader (
	resource_id TEXT NOT NULL, 
	stack_id TEXT NOT NULL, 
	root_id TEXT NOT NULL, 
	source_id TEXT NOT NULL, 
	output TEXT NOT NULL, 
	stale BOOLEAN DEFAULT 0 NOT NULL, 
	CONSTRAINT pk_output_reader PRIMARY KEY (resource_id)
)

CREATE INDEX ix_output_reader_root_id ON output_reader (root_id)

CREATE INDEX ix_output_reader_source_id ON output_reader (source_id)

CREATE INDEX ix_output_reader_stale ON output_reader (stack_id) WHERE stale

CREATE TABLE output_share (
	stack_id TEXT NOT NULL, 
	output TEXT NOT NULL, 
	project TEXT NOT NULL, 
	created_at DOUBLE NOT NULL, 
	CONSTRAINT pk_output_share PRIMARY KEY (stack_id, output, project)
)

CREATE INDEX ix_resource_transferred_at ON resource (transferred_at) WHERE transferred_at IS NOT NULL

INSERT INTO alembic_version VALUES ('0036')
