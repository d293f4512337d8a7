#include "server/storage/sqlite/database/migrations.h"

#include <iterator>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"

#include "core/base/encoding/bytes.h"
#include "core/base/status/errors.h"
#include "core/base/status/status_macros.h"
#include "server/storage/sqlite/database/request_fields.h"
#include "server/storage/sqlite/database/row_checksums.h"

namespace mercer::server {
namespace {

// Times are microseconds since 1970, UTC. Columns that the later stages of leases, quotas, retries
// and aliases need are there already: a new column on a large table is cheap, a new meaning of an
// old row is not.
constexpr char kSchema1[] = R"sql(
CREATE TABLE datasets(
  number INTEGER PRIMARY KEY AUTOINCREMENT,
  id TEXT NOT NULL UNIQUE,
  display_name TEXT NOT NULL,
  blob TEXT NOT NULL,
  size_bytes INTEGER NOT NULL,
  row_count INTEGER NOT NULL,
  info BLOB NOT NULL,
  create_time INTEGER NOT NULL
);
CREATE INDEX datasets_by_blob ON datasets(blob);
CREATE TABLE dataset_labels(
  owner INTEGER NOT NULL REFERENCES datasets(number) ON DELETE CASCADE,
  key TEXT NOT NULL,
  value TEXT NOT NULL,
  PRIMARY KEY(owner, key)
) WITHOUT ROWID;

CREATE TABLE jobs(
  number INTEGER PRIMARY KEY AUTOINCREMENT,
  id TEXT NOT NULL UNIQUE,
  state INTEGER NOT NULL,
  priority INTEGER NOT NULL,
  attempt INTEGER NOT NULL DEFAULT 0,
  epoch INTEGER NOT NULL DEFAULT 0,
  lease_worker TEXT,
  lease_until INTEGER,
  not_before INTEGER NOT NULL DEFAULT 0,
  caller TEXT NOT NULL DEFAULT '',
  stop_requested INTEGER NOT NULL DEFAULT 0,
  request_id TEXT UNIQUE,
  request_digest TEXT NOT NULL,
  learner TEXT NOT NULL,
  model_name TEXT NOT NULL,
  model_version INTEGER NOT NULL DEFAULT 0,
  memory_bytes INTEGER NOT NULL,
  error_code INTEGER,
  error_message TEXT,
  error_details BLOB,
  create_time INTEGER NOT NULL,
  start_time INTEGER,
  end_time INTEGER,
  last_sequence INTEGER NOT NULL DEFAULT 0,
  last_attempt INTEGER NOT NULL DEFAULT 0,
  last_iteration INTEGER NOT NULL DEFAULT 0,
  last_time INTEGER,
  last_payload BLOB
);
CREATE INDEX jobs_queue ON jobs(priority DESC, number) WHERE state = 1;
CREATE INDEX jobs_by_state ON jobs(state, number);
-- Apart from jobs, because each event rewrites the job's row.
CREATE TABLE job_requests(
  job INTEGER PRIMARY KEY REFERENCES jobs(number) ON DELETE CASCADE,
  request BLOB NOT NULL
);
CREATE TABLE job_labels(
  owner INTEGER NOT NULL REFERENCES jobs(number) ON DELETE CASCADE,
  key TEXT NOT NULL,
  value TEXT NOT NULL,
  PRIMARY KEY(owner, key)
) WITHOUT ROWID;
CREATE INDEX job_labels_by_value ON job_labels(key, value, owner);
CREATE TABLE job_datasets(
  job INTEGER NOT NULL REFERENCES jobs(number) ON DELETE CASCADE,
  position INTEGER NOT NULL,
  dataset_id TEXT NOT NULL,
  PRIMARY KEY(job, position)
) WITHOUT ROWID;
CREATE INDEX job_datasets_by_dataset ON job_datasets(dataset_id, job);

CREATE TABLE attempts(
  job INTEGER NOT NULL REFERENCES jobs(number) ON DELETE CASCADE,
  attempt INTEGER NOT NULL,
  host TEXT NOT NULL,
  worker TEXT NOT NULL,
  start_time INTEGER NOT NULL,
  end_time INTEGER,
  reason INTEGER NOT NULL DEFAULT 0,
  PRIMARY KEY(job, attempt)
) WITHOUT ROWID;

CREATE TABLE events(
  job INTEGER NOT NULL REFERENCES jobs(number) ON DELETE CASCADE,
  sequence INTEGER NOT NULL,
  attempt INTEGER NOT NULL,
  iteration INTEGER NOT NULL,
  time INTEGER NOT NULL,
  payload BLOB NOT NULL,
  PRIMARY KEY(job, sequence)
) WITHOUT ROWID;

CREATE TABLE checkpoints(
  job INTEGER PRIMARY KEY REFERENCES jobs(number) ON DELETE CASCADE,
  attempt INTEGER NOT NULL,
  iteration INTEGER NOT NULL,
  code_version TEXT NOT NULL,
  blob TEXT NOT NULL,
  create_time INTEGER NOT NULL
);
CREATE INDEX checkpoints_by_blob ON checkpoints(blob);

-- The row of a deleted model stays, because its version numbers are not used again.
CREATE TABLE models(
  number INTEGER PRIMARY KEY AUTOINCREMENT,
  name TEXT NOT NULL UNIQUE,
  description TEXT NOT NULL DEFAULT '',
  next_version INTEGER NOT NULL DEFAULT 1,
  create_time INTEGER NOT NULL,
  update_time INTEGER NOT NULL
);
CREATE TABLE model_labels(
  owner INTEGER NOT NULL REFERENCES models(number) ON DELETE CASCADE,
  key TEXT NOT NULL,
  value TEXT NOT NULL,
  PRIMARY KEY(owner, key)
) WITHOUT ROWID;
CREATE TABLE versions(
  number INTEGER PRIMARY KEY AUTOINCREMENT,
  model INTEGER NOT NULL REFERENCES models(number),
  version INTEGER NOT NULL,
  job_id TEXT NOT NULL,
  learner TEXT NOT NULL,
  model_blob TEXT NOT NULL,
  model_bytes INTEGER NOT NULL,
  witness_blob TEXT NOT NULL,
  witness_bytes INTEGER NOT NULL,
  summary BLOB NOT NULL,
  create_time INTEGER NOT NULL,
  UNIQUE(model, version)
);
CREATE INDEX versions_by_model_blob ON versions(model_blob);
CREATE INDEX versions_by_witness_blob ON versions(witness_blob);
CREATE TABLE version_labels(
  owner INTEGER NOT NULL REFERENCES versions(number) ON DELETE CASCADE,
  key TEXT NOT NULL,
  value TEXT NOT NULL,
  PRIMARY KEY(owner, key)
) WITHOUT ROWID;
CREATE TABLE aliases(
  model INTEGER NOT NULL REFERENCES models(number),
  alias TEXT NOT NULL,
  version INTEGER NOT NULL,
  etag TEXT NOT NULL,
  update_time INTEGER NOT NULL,
  PRIMARY KEY(model, alias)
) WITHOUT ROWID;
)sql";

// Aliases with their history, what UpdateModel changes, retention. The table `aliases` was there but
// never written; a row that somebody has put into it becomes the first change of its alias.
constexpr char kSchemaRegistry[] = R"sql(
ALTER TABLE models ADD COLUMN keep_newest INTEGER NOT NULL DEFAULT 0;
ALTER TABLE versions ADD COLUMN description TEXT NOT NULL DEFAULT '';
ALTER TABLE versions ADD COLUMN revision INTEGER NOT NULL DEFAULT 1;
CREATE INDEX version_labels_by_value ON version_labels(key, value, owner);
CREATE INDEX aliases_by_version ON aliases(model, version);
CREATE TABLE alias_changes(
  model INTEGER NOT NULL REFERENCES models(number),
  alias TEXT NOT NULL,
  sequence INTEGER NOT NULL,
  time INTEGER NOT NULL,
  caller TEXT NOT NULL,
  from_version INTEGER NOT NULL,
  to_version INTEGER NOT NULL,
  is_rollback INTEGER NOT NULL DEFAULT 0,
  request_id TEXT UNIQUE,
  request_digest TEXT NOT NULL DEFAULT '',
  PRIMARY KEY(model, alias, sequence)
) WITHOUT ROWID;
CREATE INDEX alias_changes_by_time ON alias_changes(model, alias, time, sequence);
INSERT INTO alias_changes(model, alias, sequence, time, caller, from_version, to_version)
  SELECT model, alias, 1, update_time, '', 0, version FROM aliases;
UPDATE aliases SET etag = '1';
)sql";

// The order of the queue (job_store.h) in three seeks per caller, and who was served when.
constexpr char kSchemaFairQueue[] = R"sql(
DROP INDEX jobs_queue;
CREATE INDEX jobs_ready ON jobs(caller, priority DESC, number) WHERE state = 1 AND not_before = 0;
CREATE INDEX jobs_delayed ON jobs(not_before) WHERE state = 1 AND not_before > 0;
CREATE INDEX jobs_open ON jobs(caller, state) WHERE state < 5;
-- A claim replaces the row of its caller, which gets a turn after all others.
CREATE TABLE queue_turns(
  turn INTEGER PRIMARY KEY AUTOINCREMENT,
  caller TEXT NOT NULL UNIQUE
);
)sql";

// Data sets that are to be deleted when the last job that needs them has ended.
constexpr char kSchemaHiddenDatasets[] = R"sql(
ALTER TABLE datasets ADD COLUMN hidden INTEGER NOT NULL DEFAULT 0;
CREATE INDEX datasets_hidden ON datasets(number) WHERE hidden = 1;
)sql";

// Which trace a job belongs to; the jobs that ended the longest ago, in order.
constexpr char kSchemaJobTraces[] = R"sql(
ALTER TABLE jobs ADD COLUMN trace_id TEXT NOT NULL DEFAULT '';
CREATE INDEX jobs_ended ON jobs(end_time, number) WHERE state >= 5;
)sql";

// A checksum in every row that is served (row_checksums.h), which the migration fills.
constexpr char kSchemaChecksums[] = R"sql(
ALTER TABLE datasets ADD COLUMN checksum INTEGER NOT NULL DEFAULT 0;
ALTER TABLE dataset_labels ADD COLUMN checksum INTEGER NOT NULL DEFAULT 0;
ALTER TABLE jobs ADD COLUMN checksum INTEGER NOT NULL DEFAULT 0;
ALTER TABLE job_requests ADD COLUMN checksum INTEGER NOT NULL DEFAULT 0;
ALTER TABLE job_labels ADD COLUMN checksum INTEGER NOT NULL DEFAULT 0;
ALTER TABLE job_datasets ADD COLUMN checksum INTEGER NOT NULL DEFAULT 0;
ALTER TABLE attempts ADD COLUMN checksum INTEGER NOT NULL DEFAULT 0;
ALTER TABLE events ADD COLUMN checksum INTEGER NOT NULL DEFAULT 0;
ALTER TABLE checkpoints ADD COLUMN checksum INTEGER NOT NULL DEFAULT 0;
ALTER TABLE models ADD COLUMN checksum INTEGER NOT NULL DEFAULT 0;
ALTER TABLE model_labels ADD COLUMN checksum INTEGER NOT NULL DEFAULT 0;
ALTER TABLE versions ADD COLUMN checksum INTEGER NOT NULL DEFAULT 0;
ALTER TABLE version_labels ADD COLUMN checksum INTEGER NOT NULL DEFAULT 0;
ALTER TABLE aliases ADD COLUMN checksum INTEGER NOT NULL DEFAULT 0;
ALTER TABLE alias_changes ADD COLUMN checksum INTEGER NOT NULL DEFAULT 0;
)sql";

// Whose data sets and models are, empty for what was there before; request_ids are each caller's own. A column with a
// constraint UNIQUE can neither lose it nor be dropped: the old one of jobs and of changes of aliases stays, empty.
constexpr char kSchemaOwners[] = R"sql(
ALTER TABLE datasets ADD COLUMN owner TEXT NOT NULL DEFAULT '';
ALTER TABLE models ADD COLUMN owner TEXT NOT NULL DEFAULT '';
ALTER TABLE jobs RENAME COLUMN request_id TO former_request_id;
ALTER TABLE jobs ADD COLUMN request_id TEXT;
UPDATE jobs SET request_id = former_request_id, former_request_id = NULL
  WHERE former_request_id IS NOT NULL;
CREATE UNIQUE INDEX jobs_by_request ON jobs(caller, request_id) WHERE request_id IS NOT NULL;
CREATE INDEX jobs_of_model ON jobs(model_name, number) WHERE state < 5;
ALTER TABLE alias_changes RENAME COLUMN request_id TO former_request_id;
ALTER TABLE alias_changes ADD COLUMN request_id TEXT;
UPDATE alias_changes SET request_id = former_request_id, former_request_id = NULL
  WHERE former_request_id IS NOT NULL;
CREATE UNIQUE INDEX alias_changes_by_request ON alias_changes(caller, request_id)
  WHERE request_id IS NOT NULL;
)sql";

// Jobs that are no trainings, and what they leave; those that are ready, for workers that take no others.
constexpr char kSchemaJobKinds[] = R"sql(
ALTER TABLE jobs ADD COLUMN kind INTEGER NOT NULL DEFAULT 1;
ALTER TABLE jobs ADD COLUMN result BLOB;
CREATE INDEX jobs_ready_others ON jobs(caller, priority DESC, number)
  WHERE state = 1 AND not_before = 0 AND kind > 1;
)sql";

// What names the upload that has made a data set; NULL for what was there before, until MoveUploadIds.
constexpr char kSchemaUploadKeys[] = R"sql(
ALTER TABLE datasets ADD COLUMN request_key TEXT;
ALTER TABLE datasets ADD COLUMN upload_key TEXT;
CREATE UNIQUE INDEX datasets_by_request ON datasets(request_key)
  WHERE request_key IS NOT NULL AND hidden = 0;
CREATE UNIQUE INDEX datasets_by_upload ON datasets(upload_key)
  WHERE upload_key IS NOT NULL AND hidden = 0;
)sql";

// What UpdateModel changes of a model itself; models in the order of their creation.
constexpr char kSchemaModels[] = R"sql(
ALTER TABLE models ADD COLUMN display_name TEXT NOT NULL DEFAULT '';
ALTER TABLE models ADD COLUMN revision INTEGER NOT NULL DEFAULT 1;
CREATE INDEX models_by_time ON models(create_time, number);
)sql";

// What updates change of jobs and data sets; the version that a job uses, and the data sets that a version was trained on, which
// stay when its job is deleted; orders of lists.
constexpr char kSchemaUpdates[] = R"sql(
ALTER TABLE jobs ADD COLUMN display_name TEXT NOT NULL DEFAULT '';
ALTER TABLE jobs ADD COLUMN revision INTEGER NOT NULL DEFAULT 1;
ALTER TABLE jobs ADD COLUMN used_model TEXT NOT NULL DEFAULT '';
ALTER TABLE jobs ADD COLUMN used_version INTEGER NOT NULL DEFAULT 0;
ALTER TABLE datasets ADD COLUMN revision INTEGER NOT NULL DEFAULT 1;
CREATE INDEX jobs_by_priority ON jobs(priority, number);
-- Jobs that have not ended are later than all others.
ALTER TABLE jobs ADD COLUMN end_order INTEGER AS (IFNULL(end_time, 9223372036854775807));
CREATE INDEX jobs_by_end ON jobs(end_order, number);
CREATE INDEX datasets_by_size ON datasets(size_bytes, number);
CREATE INDEX datasets_by_rows ON datasets(row_count, number);
CREATE INDEX models_by_update ON models(update_time, number);
CREATE INDEX versions_by_size ON versions(model_bytes, number);
CREATE TABLE version_datasets(
  version INTEGER NOT NULL REFERENCES versions(number) ON DELETE CASCADE,
  position INTEGER NOT NULL,
  dataset_id TEXT NOT NULL,
  checksum INTEGER NOT NULL DEFAULT 0,
  PRIMARY KEY(version, position)
) WITHOUT ROWID;
)sql";

// The ids of uploads that have made data sets before there were keys stand in `info` alone, behind the description and around a
// digest; the earliest had no upload_id. Of several data sets with one id the newest has its key.
absl::Status MoveUploadIds(Connection& connection) {
  MERCER_ASSIGN_OR_RETURN(
      const std::vector<int64_t> without,
      connection.SelectAll<int64_t>("SELECT number FROM datasets WHERE request_key IS NULL AND "
                                    "upload_key IS NULL AND hidden = 0 ORDER BY number DESC"));
  for (const int64_t number : without) {
    using OwnerAndInfo = std::pair<std::string, std::string>;
    MERCER_ASSIGN_OR_RETURN(const OwnerAndInfo row,
                            connection.SelectValue<OwnerAndInfo>(
                                "SELECT owner, info FROM datasets WHERE number = ?", number));
    const std::string owner = row.first == "anyone" ? "" : row.first;
    ByteReader info(row.second);
    info.ReadString();
    const std::string request_id = info.ReadString();
    info.ReadString();
    const std::string upload_id = info.AtEnd() ? "" : info.ReadString();
    if (info.ok() && !request_id.empty()) {
      MERCER_RETURN_IF_ERROR(
          connection.Run("UPDATE OR IGNORE datasets SET request_key = ? WHERE number = ?",
                         absl::StrCat(owner, "\nrequest\n", request_id), number));
    }
    if (info.ok() && !upload_id.empty()) {
      MERCER_RETURN_IF_ERROR(
          connection.Run("UPDATE OR IGNORE datasets SET upload_key = ? WHERE number = ?",
                         absl::StrCat(owner, "\nupload\n", upload_id), number));
    }
  }
  return absl::OkStatus();
}

// The data sets that a version was trained on stood in its summary alone.
absl::Status MoveVersionDatasets(Connection& connection) {
  MERCER_ASSIGN_OR_RETURN(const std::vector<int64_t> versions,
                          connection.SelectAll<int64_t>("SELECT number FROM versions"));
  for (const int64_t version : versions) {
    MERCER_ASSIGN_OR_RETURN(const std::string summary,
                            connection.SelectValue<std::string>(
                                "SELECT summary FROM versions WHERE number = ?", version));
    int64_t position = 0;
    for (const std::string& id : ReadTrainedDatasets(summary)) {
      MERCER_RETURN_IF_ERROR(connection.Run(
          "INSERT INTO version_datasets(version, position, dataset_id) VALUES (?, ?, ?)", version,
          position++, id));
    }
  }
  return absl::OkStatus();
}

// Names of jobs, and the versions that they use, stood in their requests alone: messages in the encoding of protobuf.
absl::Status MoveRequestFields(Connection& connection) {
  MERCER_ASSIGN_OR_RETURN(const std::vector<int64_t> jobs,
                          connection.SelectAll<int64_t>("SELECT job FROM job_requests"));
  for (const int64_t job : jobs) {
    using KindAndRequest = std::pair<int64_t, std::string>;
    MERCER_ASSIGN_OR_RETURN(
        const KindAndRequest row,
        connection.SelectValue<KindAndRequest>(
            "SELECT kind, request FROM job_requests JOIN jobs ON number = job WHERE job = ?", job));
    const RequestFields fields = ReadRequestFields(row.first, row.second);
    MERCER_RETURN_IF_ERROR(connection.Run(
        "UPDATE jobs SET display_name = ?, used_model = ?, used_version = ? WHERE number = ?",
        fields.display_name, fields.model, fields.version, job));
  }
  return MoveVersionDatasets(connection);
}

struct Step {
  const char* sql;
  absl::Status (*move)(Connection& connection) = nullptr;  // what SQL cannot say, behind it
};

// Step i leads from version i to version i + 1.
constexpr Step kSteps[] = {{kSchema1},          {kSchemaRegistry},
                           {kSchemaFairQueue},  {kSchemaHiddenDatasets},
                           {kSchemaJobTraces},  {kSchemaChecksums},
                           {kSchemaOwners},     {kSchemaJobKinds},
                           {kSchemaUploadKeys}, {kSchemaModels},
                           {"", MoveUploadIds}, {kSchemaUpdates, MoveRequestFields}};

absl::Status RunStep(Connection& connection, int64_t version, absl::Time now) {
  std::vector<RowName> damaged;
  MERCER_RETURN_IF_ERROR(
      FindDamagedRows(connection, [&](const std::string& table, const std::string& row) {
        damaged.push_back({table, row});
      }));
  const Step& step = kSteps[version];
  MERCER_RETURN_IF_ERROR(connection.Execute(step.sql));
  if (step.move != nullptr) {
    MERCER_RETURN_IF_ERROR(step.move(connection));
  }
  MERCER_RETURN_IF_ERROR(RefreshChecksums(connection, damaged));
  MERCER_RETURN_IF_ERROR(connection.Run(
      "INSERT INTO schema_versions(version, applied_time) VALUES (?, ?)", version + 1, now));
  return connection.Execute("COMMIT");
}

}  // namespace

int64_t CurrentSchemaVersion() { return std::ssize(kSteps); }

absl::StatusOr<int64_t> ReadSchemaVersion(Connection& connection) {
  MERCER_ASSIGN_OR_RETURN(
      const bool there,
      connection.SelectValue<bool>(
          "SELECT 1 FROM sqlite_schema WHERE type = 'table' AND name = 'schema_versions'"));
  return there ? connection.SelectValue<int64_t>(
                     "SELECT COALESCE(MAX(version), 0) FROM schema_versions")
               : 0;
}

absl::Status CheckSchemaVersion(Connection& connection) {
  MERCER_ASSIGN_OR_RETURN(const int64_t version, ReadSchemaVersion(connection));
  if (version < 0) {
    return WithReason(absl::DataLossError(
                          absl::StrCat("database: damaged: its schema has the version ", version)),
                      "DATABASE_DAMAGED");
  }
  if (version <= CurrentSchemaVersion()) {
    return absl::OkStatus();
  }
  return WithReason(
      absl::FailedPreconditionError(absl::StrCat("the database has schema ", version,
                                                 ", written by a newer version; this one supports ",
                                                 CurrentSchemaVersion())),
      "NEWER_SCHEMA",
      {{"found", absl::StrCat(version)}, {"supported", absl::StrCat(CurrentSchemaVersion())}});
}

absl::Status MigrateDatabase(Connection& connection, absl::Time now) {
  return MigrateDatabaseTo(connection, CurrentSchemaVersion(), now);
}

absl::Status MigrateDatabaseTo(Connection& connection, int64_t target, absl::Time now) {
  MERCER_RETURN_IF_ERROR(CheckSchemaVersion(connection));
  MERCER_RETURN_IF_ERROR(
      connection.Execute("CREATE TABLE IF NOT EXISTS schema_versions(version INTEGER PRIMARY KEY, "
                         "applied_time INTEGER NOT NULL)"));
  MERCER_ASSIGN_OR_RETURN(int64_t version, ReadSchemaVersion(connection));
  for (; version < target; ++version) {
    MERCER_RETURN_IF_ERROR(connection.Execute("BEGIN IMMEDIATE"));
    const absl::Status status = RunStep(connection, version, now);
    if (!status.ok()) {
      if (connection.in_transaction()) {
        connection.Execute("ROLLBACK").IgnoreError();  // the first error says more
      }
      return status;
    }
  }
  return absl::OkStatus();
}

}  // namespace mercer::server
