// What a job tells its watchers. Stored as bytes in the event log; the numbers of enumerators are
// stored.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/time/time.h"

#include "core/training/contract/learner.h"
#include "server/storage/records.h"

namespace mercer::server {

enum class JobEventKind : uint8_t {
  kState = 1,     // the job is now in `state`; final states close the stream
  kProgress = 2,  // `report` and `phase` of a training step
  kResumed =
      3,  // a new attempt goes on at `iteration`; later events of earlier attempts are obsolete
};

struct JobEvent {
  // From the log.
  int64_t sequence = 0;
  int32_t attempt = 0;
  int64_t iteration =
      0;  // kResumed: the iteration that the attempt continues from, 0: from the start
  absl::Time time;

  JobEventKind kind = JobEventKind::kState;
  JobState state = JobState::kQueued;  // kState only
  std::string message;  // kState: why, one word (the reason of a failure, "DRAINED"); kResumed: why
                        // from the start
  std::string trace_id;  // kState: of the call that made the job, with its first event; or empty
  std::string phase;     // kProgress: "train", "fold 2 of 5"
  StepReport report;     // kProgress
  double elapsed_seconds = 0;  // kProgress: since the attempt began

  bool is_terminal() const { return kind == JobEventKind::kState && IsFinal(state); }
};

// Payload for an EventDraft; sequence, attempt, iteration and time are the log's own.
std::string EncodeJobEvent(const JobEvent& event);
// Errors: kDataLoss.
absl::StatusOr<JobEvent> DecodeJobEvent(const EventRecord& record);

EventDraft StateEvent(JobState state, std::string message = "");
// The first event of a job.
EventDraft QueuedEvent(std::string trace_id);

// A status and its payloads, as stored with a failed job, and back.
StoredError EncodeError(const absl::Status& status);
absl::Status DecodeError(const StoredError& error);

}  // namespace mercer::server
