// Progress of jobs: append-only, numbered without gaps.
#pragma once

#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/time/time.h"

#include "server/storage/completion.h"
#include "server/storage/records.h"

namespace mercer::server {

// Thread-safe; common errors as in DatasetStore.
class EventLog {
 public:
  virtual ~EventLog() = default;

  // Appends on behalf of the worker that holds the job; the last one becomes the job's last event.
  // Answers the events as stored. Errors: kAborted (reason LEASE_LOST).
  virtual void Append(Lease lease, std::vector<EventDraft> events, absl::Time now,
                      Done<std::vector<EventRecord>> done) = 0;
  absl::StatusOr<std::vector<EventRecord>> Append(Lease lease, std::vector<EventDraft> events,
                                                  absl::Time now) {
    return WaitFor(this, &EventLog::Append, std::move(lease), std::move(events), now);
  }

  // At most `limit` events with a sequence above `after_sequence`, in order. An unknown job has
  // none.
  virtual absl::StatusOr<std::vector<EventRecord>> Read(const std::string& job_id,
                                                        int64_t after_sequence, int limit) = 0;
};

}  // namespace mercer::server
