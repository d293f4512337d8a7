#include "server/storage/sqlite/database/database_check.h"

#include <limits>
#include <string>

#include "absl/strings/str_cat.h"

#include "core/base/status/status_macros.h"
#include "server/storage/sqlite/database/migrations.h"
#include "server/storage/sqlite/database/row_checksums.h"

namespace mercer::server {
namespace {

constexpr char kRestoreBackup[] = "restore a backup, or ask for help and keep the folder as it is";
constexpr char kAskForHelp[] =
    "keep a copy of the folder and report it; the server works, but what it says of this may be "
    "wrong";

// Rows that must not be there: `sql` selects what names each.
struct RowRule {
  const char* reason;
  const char* kind;  // what the names name
  const char* sql;
  const char* meaning;
  // The schemas that have its columns, and obey it.
  int64_t since = 1;
  int64_t before = std::numeric_limits<int64_t>::max();
};

// The numbers of states and reasons are those of records.h.
constexpr RowRule kRules[] = {
    {"EVENTS_BROKEN", "job",
     "SELECT jobs.id FROM events JOIN jobs ON jobs.number = events.job GROUP BY events.job "
     "HAVING MIN(sequence) <> 1 OR MAX(sequence) <> COUNT(*)",
     "its events are not numbered 1, 2, 3, ...: watchers miss some"},
    {"EVENTS_BROKEN", "job",
     "SELECT id FROM jobs WHERE last_sequence <> (SELECT COUNT(*) FROM events WHERE job = number)",
     "it counts other events than it has"},
    {"EVENTS_BROKEN", "job",
     "SELECT id FROM jobs JOIN events ON job = number AND sequence = last_sequence WHERE "
     "last_attempt <> events.attempt OR last_iteration <> events.iteration OR last_time IS NOT "
     "events.time OR last_payload IS NOT events.payload",
     "its row and its newest event tell different things"},
    {"STATE_UNKNOWN", "job", "SELECT id FROM jobs WHERE state NOT BETWEEN 1 AND 7",
     "it is in a state that does not exist"},
    {"ATTEMPTS_BROKEN", "job",
     "SELECT id FROM jobs WHERE attempt <> (SELECT COUNT(*) FROM attempts WHERE job = number) OR "
     "attempt <> (SELECT COALESCE(MAX(attempt), 0) FROM attempts WHERE job = number)",
     "it counts other attempts than it has"},
    {"ATTEMPTS_BROKEN", "job",
     "SELECT id FROM jobs WHERE state IN (2, 3, 4) AND (SELECT COUNT(*) FROM attempts WHERE job = "
     "number AND attempts.reason = 0 AND attempts.attempt = jobs.attempt) <> 1",
     "it runs, but its last attempt has ended"},
    {"ATTEMPTS_BROKEN", "job",
     "SELECT id FROM jobs WHERE EXISTS (SELECT 1 FROM attempts WHERE job = number AND reason = 0 "
     "AND "
     "(jobs.state NOT IN (2, 3, 4) OR attempts.attempt <> jobs.attempt))",
     "an attempt at it has not ended that should have"},
    {"LEASE_BROKEN", "job",
     "SELECT id FROM jobs WHERE (state IN (2, 3, 4)) <> (lease_worker IS NOT NULL)",
     "a worker holds it that should not, or none where one should"},
    {"END_BROKEN", "job", "SELECT id FROM jobs WHERE (state >= 5) <> (end_time IS NOT NULL)",
     "its state and the time of its end do not fit"},
    {"END_BROKEN", "job", "SELECT id FROM jobs WHERE state = 6 AND error_code IS NULL",
     "it has failed without an error"},
    {"MODEL_BROKEN", "job", "SELECT id FROM jobs WHERE (state = 5) <> (model_version > 0)",
     "it has a model without success, or success without a model", 1, kSchemaWithKinds},
    {"MODEL_BROKEN", "job",
     "SELECT id FROM jobs WHERE (state = 5 AND kind = 1) <> (model_version > 0)",
     "it has a model without success, or success without a model", kSchemaWithKinds},
    {"RESULT_BROKEN", "job",
     "SELECT id FROM jobs WHERE (state = 5 AND kind > 1) <> (result IS NOT NULL)",
     "it has a result without success, or success without one", kSchemaWithKinds},
    {"MODEL_BROKEN", "job",
     "SELECT jobs.id FROM jobs JOIN models ON models.name = jobs.model_name JOIN versions ON "
     "versions.model = models.number AND versions.version = jobs.model_version WHERE "
     "versions.job_id <> jobs.id",
     "the model that it names is of another job"},
    {"CHECKPOINT_LEFT", "job",
     "SELECT id FROM jobs JOIN checkpoints ON job = number WHERE state >= 5",
     "it has ended and keeps a checkpoint"},
    {"DATASET_GONE", "job",
     "SELECT DISTINCT id FROM jobs JOIN job_datasets ON job = number WHERE state < 5 AND NOT "
     "EXISTS "
     "(SELECT 1 FROM datasets WHERE datasets.id = dataset_id)",
     "it has not ended, and its data set does not exist: it will fail"},
    {"REQUEST_GONE", "job",
     "SELECT id FROM jobs WHERE NOT EXISTS (SELECT 1 FROM job_requests WHERE job = number)",
     "what it was asked to do is lost"},
    {"VERSION_COUNTER", "model",
     "SELECT name FROM models WHERE next_version <= (SELECT COALESCE(MAX(version), 0) FROM "
     "versions "
     "WHERE model = models.number)",
     "its next version would get a number that is taken"},
    {"ALIAS_DANGLING", "model",
     "SELECT name || '@' || alias FROM aliases JOIN models ON model = number WHERE NOT EXISTS "
     "(SELECT 1 FROM versions WHERE versions.model = aliases.model AND versions.version = "
     "aliases.version)",
     "the alias names a version that does not exist"},
    {"ROW_COUNTER", "table",
     "WITH counted(name, newest) AS (SELECT 'datasets', MAX(number) FROM datasets UNION ALL SELECT "
     "'jobs', MAX(number) FROM jobs UNION ALL SELECT 'models', MAX(number) FROM models UNION ALL "
     "SELECT 'versions', MAX(number) FROM versions) SELECT name FROM counted WHERE newest > "
     "COALESCE((SELECT seq FROM sqlite_sequence WHERE sqlite_sequence.name = counted.name), 0)",
     "its counter is behind its rows: numbers could be used again"},
};

}  // namespace

absl::Status CheckDatabaseFile(Connection& connection, const FindingSink& sink) {
  MERCER_RETURN_IF_ERROR(CheckSchemaVersion(connection));
  const auto tell_damage = [&](const Statement& row) {
    if (row.Bytes(0) != "ok") {
      sink({Severity::kError, "DATABASE_DAMAGED", "database", row.Bytes(0), kRestoreBackup});
    }
    return absl::OkStatus();
  };
  MERCER_RETURN_IF_ERROR(connection.ForEachRow(tell_damage, "PRAGMA integrity_check(100)"));
  const auto tell_reference = [&](const Statement& row) {
    sink({Severity::kError, "FOREIGN_KEY_BROKEN", absl::StrCat("table ", row.Bytes(0)),
          absl::StrCat("a row names one in ", row.Bytes(2), " that does not exist"), kAskForHelp});
    return absl::OkStatus();
  };
  MERCER_RETURN_IF_ERROR(connection.ForEachRow(tell_reference, "PRAGMA foreign_key_check"));
  MERCER_ASSIGN_OR_RETURN(const int64_t version, ReadSchemaVersion(connection));
  if (version < CurrentSchemaVersion()) {
    sink({Severity::kNote, "SCHEMA_OLDER", "database",
          absl::StrCat("it has schema ", version, ", the next start of a server brings it to ",
                       CurrentSchemaVersion()),
          "nothing"});
  }
  return absl::OkStatus();
}

absl::Status CheckDatabaseRows(Connection& connection, const FindingSink& sink) {
  MERCER_RETURN_IF_ERROR(
      FindDamagedRows(connection, [&](const std::string& table, const std::string& row) {
        sink({Severity::kError, "ROW_DAMAGED", absl::StrCat("table ", table, ", row ", row),
              "it changed on the disk since it was written: whoever asks for it gets an error",
              kRestoreBackup});
      }));
  MERCER_ASSIGN_OR_RETURN(const int64_t version, ReadSchemaVersion(connection));
  for (const RowRule& rule : kRules) {
    if (rule.since <= version && version < rule.before) {
      const auto tell = [&](const Statement& row) {
        sink({Severity::kError, rule.reason, absl::StrCat(rule.kind, " ", row.Bytes(0)),
              rule.meaning, kAskForHelp});
        return absl::OkStatus();
      };
      MERCER_RETURN_IF_ERROR(connection.ForEachRow(tell, rule.sql));
    }
  }
  return absl::OkStatus();
}

}  // namespace mercer::server
