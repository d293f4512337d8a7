#include "server/maintenance/payload_check.h"

#include <string>

#include "absl/strings/str_cat.h"

#include "core/base/status/status_macros.h"
#include "server/jobs/record/job_event.h"
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
  MERCER_ASSIGN_OR_RETURN(
      Statement select,
      connection.Prepare("SELECT jobs.id, jobs.state, events.sequence, events.attempt, "
                         "events.iteration, events.time, events.payload FROM events JOIN jobs ON "
                         "jobs.number = events.job ORDER BY events.job, events.sequence"));
  ToldState state;
  while (true) {
    MERCER_ASSIGN_OR_RETURN(const bool more, select.Step());
    if (!more) {
      CompareStates(state, sink);
      return absl::OkStatus();
    }
    if (select.Bytes(0) != state.job) {
      CompareStates(state, sink);
      state = {select.Bytes(0), select.Int64(1), 0};
    }
    const EventRecord record{select.Int64(2), static_cast<int32_t>(select.Int64(3)),
                             select.Int64(4), select.Time(5), select.Bytes(6)};
    const absl::StatusOr<JobEvent> event = DecodeJobEvent(record);
    if (!event.ok()) {
      Report(sink, "EVENT_DAMAGED", absl::StrCat("job ", state.job, " event ", record.sequence),
             event.status(), "watchers of the job end with an error there; restore a backup");
    } else if (event->kind == JobEventKind::kState) {
      state.told = static_cast<int64_t>(event->state);
    }
  }
}

absl::Status CheckRequests(Connection& connection, const FindingSink& sink) {
  MERCER_ASSIGN_OR_RETURN(const int64_t version, ReadSchemaVersion(connection));
  MERCER_ASSIGN_OR_RETURN(
      Statement select,
      connection.Prepare(version < kSchemaWithKinds
                             ? "SELECT jobs.id, request, 1, NULL FROM job_requests JOIN jobs ON "
                               "jobs.number = job_requests.job"
                             : "SELECT jobs.id, request, kind, result FROM job_requests JOIN jobs "
                               "ON jobs.number = job_requests.job"));
  while (true) {
    MERCER_ASSIGN_OR_RETURN(const bool more, select.Step());
    if (!more) {
      return absl::OkStatus();
    }
    JobRecord job;
    job.request = select.Bytes(1);
    job.kind = static_cast<JobKind>(select.Int64(2));
    job.result = select.Bytes(3);
    const absl::Status read = WriteJob(job, {}).status();
    if (!read.ok()) {
      Report(sink, "STORED_REQUEST_DAMAGED", absl::StrCat("job ", select.Bytes(0)), read,
             "a job that has not ended will fail: submit it again");
    }
  }
}

absl::Status CheckDatasets(Connection& connection, const FindingSink& sink) {
  MERCER_ASSIGN_OR_RETURN(Statement select, connection.Prepare("SELECT id, info FROM datasets"));
  while (true) {
    MERCER_ASSIGN_OR_RETURN(const bool more, select.Step());
    if (!more) {
      return absl::OkStatus();
    }
    const absl::Status read = DecodeDatasetInfo(select.Bytes(1)).status();
    if (!read.ok()) {
      Report(sink, "STORED_INFO_DAMAGED", absl::StrCat("data set ", select.Bytes(0)), read,
             "delete the data set and upload it again");
    }
  }
}

absl::Status CheckSummaries(Connection& connection, const FindingSink& sink) {
  MERCER_ASSIGN_OR_RETURN(Statement select,
                          connection.Prepare("SELECT models.name, version, job_id, summary FROM "
                                             "versions JOIN models ON models.number = model"));
  while (true) {
    MERCER_ASSIGN_OR_RETURN(const bool more, select.Step());
    if (!more) {
      return absl::OkStatus();
    }
    VersionRecord record;
    record.model = select.Bytes(0);
    record.version = select.Int64(1);
    record.job_id = select.Bytes(2);
    record.summary = select.Bytes(3);
    const absl::Status read = WriteVersion(record).status();
    if (!read.ok()) {
      Report(sink, "STORED_SUMMARY_DAMAGED",
             absl::StrCat("model ", record.model, " version ", record.version), read,
             "export the model if it still predicts, then delete the version");
    }
  }
}

}  // namespace

absl::Status CheckPayloads(Connection& connection, const FindingSink& sink) {
  MERCER_RETURN_IF_ERROR(CheckEvents(connection, sink));
  MERCER_RETURN_IF_ERROR(CheckRequests(connection, sink));
  MERCER_RETURN_IF_ERROR(CheckDatasets(connection, sink));
  return CheckSummaries(connection, sink);
}

}  // namespace mercer::server
