#include <string>

#include "absl/strings/str_cat.h"

#include "core/base/status/status_macros.h"
#include "server/jobs/record/job_event.h"
#include "server/maintenance/checks.h"
#include "server/storage/sqlite/database/migrations.h"
#include "server/translation/dataset_translator.h"
#include "server/translation/job_translator.h"
#include "server/translation/model_translator.h"

namespace mercer::server {
namespace {

void Report(const FindingSink& sink, const std::string& reason, const std::string& subject,
            const absl::Status& why, const std::string& action) {
  sink({Severity::kError, reason, subject, std::string(why.message()), action});
}

// What the last state event of a job tells.
struct ToldState {
  std::string job;
  int64_t stored = 0;  // in the job's row
  int64_t told = 0;    // 0: no event has told a state
};

void CompareStates(const ToldState& state, const FindingSink& sink) {
  if (!state.job.empty() && state.told != 0 && state.told != state.stored) {
    sink({Severity::kError, "EVENTS_BROKEN", absl::StrCat("job ", state.job),
          "its row and its events tell different states", "report it"});
  }
}

absl::Status CheckEvents(Connection& connection, const FindingSink& sink) {
  ToldState state;
  const auto look = [&](const Statement& row) {
    if (row.Bytes(0) != state.job) {
      CompareStates(state, sink);
      state = {row.Bytes(0), row.Int64(1), 0};
    }
    const EventRecord record{row.Int64(2), static_cast<int32_t>(row.Int64(3)), row.Int64(4),
                             row.Time(5), row.Bytes(6)};
    const absl::StatusOr<JobEvent> event = DecodeJobEvent(record);
    if (!event.ok()) {
      Report(sink, "EVENT_DAMAGED", absl::StrCat("job ", state.job, " event ", record.sequence),
             event.status(), "watchers of the job end with an error there; restore a backup");
    } else if (event->kind == JobEventKind::kState) {
      state.told = static_cast<int64_t>(event->state);
    }
    return absl::OkStatus();
  };
  MERCER_RETURN_IF_ERROR(connection.ForEachRow(
      look,
      "SELECT jobs.id, jobs.state, events.sequence, events.attempt, events.iteration, events.time, "
      "events.payload FROM events JOIN jobs ON jobs.number = events.job ORDER BY events.job, "
      "events.sequence"));
  CompareStates(state, sink);
  return absl::OkStatus();
}

// Messages of one kind.
struct Payloads {
  const char* sql;  // the first column says whose it is
  absl::Status (*read)(const Statement& row);
  const char* reason;  // when it cannot be read
  const char* action;
};

absl::Status ReadRequest(const Statement& row) {
  JobRecord job;
  job.request = row.Bytes(1);
  job.kind = static_cast<JobKind>(row.Int64(2));
  job.result = row.Bytes(3);
  return WriteJob(job, {}).status();
}

absl::Status ReadInfo(const Statement& row) { return DecodeDatasetInfo(row.Bytes(1)).status(); }

absl::Status ReadSummary(const Statement& row) {
  VersionRecord record;
  record.model = row.Bytes(1);
  record.version = row.Int64(2);
  record.job_id = row.Bytes(3);
  record.summary = row.Bytes(4);
  return WriteVersion(record).status();
}

}  // namespace

absl::Status CheckPayloads(Connection& connection, const FindingSink& sink) {
  MERCER_RETURN_IF_ERROR(CheckEvents(connection, sink));
  MERCER_ASSIGN_OR_RETURN(const int64_t version, ReadSchemaVersion(connection));
  const Payloads kinds[] = {
      {version < kSchemaWithKinds ? "SELECT 'job ' || jobs.id, request, 1, NULL FROM job_requests "
                                    "JOIN jobs ON jobs.number = job_requests.job"
                                  : "SELECT 'job ' || jobs.id, request, kind, result FROM "
                                    "job_requests JOIN jobs ON jobs.number = job_requests.job",
       &ReadRequest, "STORED_REQUEST_DAMAGED",
       "a job that has not ended will fail: submit it again"},
      {"SELECT 'data set ' || id, info FROM datasets", &ReadInfo, "STORED_INFO_DAMAGED",
       "delete the data set and upload it again"},
      {"SELECT 'model ' || models.name || ' version ' || version, models.name, version, job_id, "
       "summary FROM versions JOIN models ON models.number = model",
       &ReadSummary, "STORED_SUMMARY_DAMAGED",
       "export the model if it still predicts, then delete the version"},
  };
  for (const Payloads& kind : kinds) {
    const auto look = [&](const Statement& row) {
      if (const absl::Status read = kind.read(row); !read.ok()) {
        Report(sink, kind.reason, row.Bytes(0), read, kind.action);
      }
      return absl::OkStatus();
    };
    MERCER_RETURN_IF_ERROR(connection.ForEachRow(look, kind.sql));
  }
  return absl::OkStatus();
}

}  // namespace mercer::server
