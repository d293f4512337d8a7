#include "server/translation/job_translator.h"

#include <algorithm>
#include <cmath>
#include <string_view>

#include "absl/strings/ascii.h"

#include "core/base/status/errors.h"
#include "core/base/status/status_macros.h"
#include "server/translation/error_details.h"
#include "server/translation/recipe_translator.h"
#include "server/translation/request_paths.h"
#include "server/translation/resource_names.h"
#include "server/translation/times.h"
#include "server/translation/whole_message.h"

namespace mercer::server {
namespace {

static_assert(v1::JOB_STATE_QUEUED == static_cast<int>(JobState::kQueued));
static_assert(v1::JOB_STATE_CANCELLED == static_cast<int>(JobState::kCancelled));
static_assert(v1::JOB_KIND_TRAINING == static_cast<int>(JobKind::kTraining));
static_assert(v1::JOB_KIND_VERIFICATION == static_cast<int>(JobKind::kVerification));

// From 1 % on, where the extrapolation begins to mean something.
constexpr double kSmallestFraction = 0.01;

void WriteProgress(const JobEvent& event, v1::TrainingProgress* progress) {
  const StepReport& report = event.report;
  progress->set_phase(event.phase);
  progress->set_stage(report.stage);
  if (report.stage_fraction.has_value()) {
    progress->set_stage_fraction(*report.stage_fraction);
  }
  progress->set_fraction(report.fraction);
  if (std::isfinite(report.primal)) {
    progress->set_primal(report.primal);
  }
  if (std::isfinite(report.dual)) {
    progress->set_dual(report.dual);
  }
  if (std::isfinite(report.accuracy)) {
    progress->set_relative_gap(report.accuracy);
  }
  progress->set_active_kernels(report.active_kernels);
  progress->set_active_groups(report.active_groups);
  progress->set_support_vectors(report.support_vectors);
  progress->set_inner_iterations(report.inner_iterations);
  progress->set_has_model(report.has_model);
  SetDuration(absl::Seconds(event.elapsed_seconds), progress->mutable_elapsed());
  if (report.fraction >= kSmallestFraction && report.fraction <= 1) {
    SetDuration(absl::Seconds(event.elapsed_seconds * (1 - report.fraction) / report.fraction),
                progress->mutable_remaining());
  }
}

void WriteAttempt(const AttemptRecord& record, v1::Attempt* attempt) {
  attempt->set_number(record.attempt);
  attempt->set_worker(record.host.empty() ? record.worker : record.host + " " + record.worker);
  SetTimestamp(record.start_time, attempt->mutable_start_time());
  if (record.reason != AttemptReason::kRunning) {
    SetTimestamp(record.end_time, attempt->mutable_end_time());
    attempt->set_end_reason(std::string(AttemptReasonName(record.reason)));
    attempt->set_end_reason_code(ReasonNumber(attempt->end_reason()));
  }
}

// A reason as docs/errors.md has them. Logs of earlier versions hold sentences in its place, which may
// quote what is nobody's business.
bool IsWord(std::string_view text) {
  return std::all_of(text.begin(), text.end(), [](char c) {
    return absl::ascii_isupper(static_cast<unsigned char>(c)) ||
           absl::ascii_isdigit(static_cast<unsigned char>(c)) || c == '_';
  });
}

google::rpc::Status WriteError(const StoredError& error, const v1::Learner& learner) {
  return ToRpcStatus(WithRequestPaths(DecodeError(error), learner));
}

void WriteOutcome(const JobRecord& record, v1::Job* job) {
  if (record.error.has_value()) {
    const absl::Status error = DecodeError(*record.error);
    if (record.state == JobState::kFailed) {
      *job->mutable_error() = WriteError(*record.error, job->request().learner());
    }
    job->set_reason(record.state == JobState::kFailed ? ReasonOf(error) : GetReason(error));
    job->set_reason_code(ReasonNumber(job->reason()));
  }
  if (record.model_version > 0) {
    job->set_model(ModelVersionName(record.model_name, record.model_version));
  }
}

absl::Status WriteTraining(const JobRecord& record, v1::Job& job) {
  MERCER_ASSIGN_OR_RETURN(*job.mutable_request(), DecodeTrainRequest(record.request));
  job.mutable_request()->set_request_id(record.request_id);
  return absl::OkStatus();
}

// Request and result of a job of another kind.
template <typename Request, typename Result>
absl::Status WriteOther(const JobRecord& record, Request* (v1::Job::*mutable_request)(),
                        Result* (v1::Job::*mutable_result)(), v1::Job& job) {
  Request& request = Choose(job, mutable_request);
  if (!ParseWhole(record.request, request)) {
    return WithReason(absl::DataLossError("a stored request cannot be read"),
                      "STORED_REQUEST_DAMAGED");
  }
  request.set_request_id(record.request_id);
  if (!record.result.empty() && !ParseWhole(record.result, Choose(job, mutable_result))) {
    return WithReason(absl::DataLossError("a stored result cannot be read"),
                      "STORED_RESULT_DAMAGED");
  }
  return absl::OkStatus();
}

absl::Status WriteWork(const JobRecord& record, v1::Job& job) {
  switch (record.kind) {
    case JobKind::kTraining:
      return WriteTraining(record, job);
    case JobKind::kPrediction:
      return WriteOther(record, &v1::Job::mutable_prediction_request, &v1::Job::mutable_prediction,
                        job);
    case JobKind::kEvaluation:
      return WriteOther(record, &v1::Job::mutable_evaluation_request, &v1::Job::mutable_evaluation,
                        job);
    case JobKind::kVerification:
      return WriteOther(record, &v1::Job::mutable_verification_request,
                        &v1::Job::mutable_verification, job);
  }
  return absl::OkStatus();  // of a later version of the server
}

}  // namespace

v1::JobState WriteJobState(JobState state) { return static_cast<v1::JobState>(state); }

v1::ProgressEvent WriteEvent(const JobEvent& event) {
  const ScopedAllocations scope(Allocations::kNeeded);  // see whole_message.h
  v1::ProgressEvent message;
  message.set_sequence(event.sequence);
  SetTimestamp(event.time, message.mutable_time());
  message.set_attempt(event.attempt);
  message.set_iteration(event.iteration);
  switch (event.kind) {
    case JobEventKind::kState: {
      v1::StateChange& change = Choose(message, &v1::ProgressEvent::mutable_state_change);
      change.set_state(WriteJobState(event.state));
      if (IsWord(event.message)) {
        change.set_reason(event.message);
        change.set_reason_code(ReasonNumber(event.message));
      }
      change.set_trace_id(event.trace_id);
      break;
    }
    case JobEventKind::kProgress:
      WriteProgress(event, &Choose(message, &v1::ProgressEvent::mutable_progress));
      break;
    case JobEventKind::kResumed:
      Choose(message, &v1::ProgressEvent::mutable_resumed).set_from_iteration(event.iteration);
      break;
  }
  return message;
}

void CompleteTerminalEvent(const JobRecord& record, v1::ProgressEvent* event) {
  v1::StateChange* change = &Choose(*event, &v1::ProgressEvent::mutable_state_change);
  if (record.error.has_value() && record.state == JobState::kFailed) {
    const ScopedAllocations scope(Allocations::kNeeded);  // see whole_message.h
    const v1::TrainRequest request =
        record.kind == JobKind::kTraining
            ? DecodeTrainRequest(record.request).value_or(v1::TrainRequest())
            : v1::TrainRequest();
    *change->mutable_error() = WriteError(*record.error, request.learner());
  }
  if (record.model_version > 0) {
    change->set_model(ModelVersionName(record.model_name, record.model_version));
  }
}

absl::StatusOr<v1::Job> WriteJob(const JobRecord& record,
                                 const std::vector<AttemptRecord>& attempts) {
  const ScopedAllocations scope(Allocations::kNeeded);  // see whole_message.h
  v1::Job job;
  MERCER_RETURN_IF_ERROR(WriteWork(record, job));
  job.set_kind(static_cast<v1::JobKind>(record.kind));
  job.set_name(JobName(record.id));
  job.set_display_name(record.display_name);
  job.set_etag(JobEtag(record));
  job.set_owner(record.caller);
  job.set_state(WriteJobState(record.state));
  SetTimestamp(record.create_time, job.mutable_create_time());
  if (record.attempt > 0) {
    SetTimestamp(record.start_time, job.mutable_start_time());
  }
  if (IsFinal(record.state)) {
    SetTimestamp(record.end_time, job.mutable_end_time());
  }
  for (const AttemptRecord& attempt : attempts) {
    WriteAttempt(attempt, job.add_attempts());
  }
  if (record.last_event.has_value()) {
    job.set_last_sequence(record.last_event->sequence);
    const absl::StatusOr<JobEvent> event = DecodeJobEvent(*record.last_event);
    if (event.ok() && event->kind == JobEventKind::kProgress) {
      *job.mutable_progress() = WriteEvent(*event);
    }
  }
  WriteOutcome(record, &job);
  PutAll(record.labels, *job.mutable_labels());
  job.set_learner(record.learner);
  job.set_priority(record.priority);
  job.set_memory_estimate_bytes(record.memory_bytes);
  if (record.not_before != absl::InfinitePast()) {
    SetTimestamp(record.not_before, job.mutable_next_attempt_time());
  }
  job.set_stop_requested(record.stop_requested);
  job.set_trace_id(record.trace_id);
  return job;
}

}  // namespace mercer::server
