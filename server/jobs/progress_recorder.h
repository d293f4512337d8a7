// Writes the progress of one attempt to the event log, at a bounded rate.
//
// Urgent are the first event, the first of each stage, and what WriteNow is given. They are written
// without delay, but for the first moments of the attempt: what comes in these waits for their end,
// so that an attempt of milliseconds writes its events along with its end instead of waiting for
// the disk several times more. All others wait until the interval since the last write has passed;
// of those that wait only the newest is kept. At most one write is under way. A write that fails is
// tried again after the interval: no urgent event gets lost, except with the lease.
#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "absl/base/thread_annotations.h"
#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/synchronization/mutex.h"
#include "absl/time/time.h"

#include "core/training/run/run_training.h"
#include "server/jobs/record/clock.h"
#include "server/jobs/record/job_event.h"
#include "server/storage/storage.h"

namespace mercer::server {

// Thread-safe. The destructor waits for the write that is under way.
class ProgressRecorder {
 public:
  struct Dependencies {
    EventLog* log = nullptr;
    Clock* clock = nullptr;
    std::function<void(const absl::Status&)> on_error;  // called on a thread of the storage
    JobStore* jobs = nullptr;                           // for BeginVerifying
  };

  // Nothing is written until `quiet` has passed.
  ProgressRecorder(Dependencies dependencies, Lease lease, absl::Duration interval,
                   absl::Duration quiet = absl::ZeroDuration());
  ~ProgressRecorder();
  ProgressRecorder(const ProgressRecorder&) = delete;
  ProgressRecorder& operator=(const ProgressRecorder&) = delete;

  void Record(const ProgressEvent& event) ABSL_LOCKS_EXCLUDED(mutex_);
  void WriteNow(EventDraft event) ABSL_LOCKS_EXCLUDED(mutex_);
  // Makes the job VERIFYING, as of now, behind all that waits, unless that cannot be written. Waits for nothing: it is told of once it is stored.
  void BeginVerifying(EventDraft event) ABSL_LOCKS_EXCLUDED(mutex_);
  // Writes what has waited long enough.
  void Flush() ABSL_LOCKS_EXCLUDED(mutex_);
  struct Waiting {
    std::vector<EventDraft> events;
    std::optional<EventDraft> verifying;  // comes after them

    int parts() const { return (events.empty() ? 0 : 1) + (verifying.has_value() ? 1 : 0); }
  };
  // What still waits, for a change that writes it along; waits for the write that is under way.
  // Nothing is kept afterwards.
  Waiting TakeWaiting() ABSL_LOCKS_EXCLUDED(mutex_);
  // What has been done before: iteration() until an event says another.
  void BeginAt(int64_t iteration) ABSL_LOCKS_EXCLUDED(mutex_);
  // Of the last event recorded or given to WriteNow.
  int64_t iteration() const ABSL_LOCKS_EXCLUDED(mutex_);

 private:
  // What is newest waits no longer.
  void MakeNewestUrgent() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  // Takes what is due and marks a write as under way; empty when there is nothing to write now.
  Waiting TakeDue() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  void Write(Waiting due) ABSL_LOCKS_EXCLUDED(mutex_);
  // Keeps the events of a write that failed.
  void OnEvents(const absl::Status& stored) ABSL_LOCKS_EXCLUDED(mutex_);
  void Report(const absl::Status& written);
  // Ends a part of the write that was under way; behind the last one the next write begins when there is something urgent.
  // Afterwards the recorder may be gone.
  void EndPart() ABSL_LOCKS_EXCLUDED(mutex_);
  // The events of a write that failed wait again.
  void Restore() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  bool IsQuiet() const ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_) { return writing_parts_ == 0; }

  const Dependencies dependencies_;
  const Lease lease_;
  const absl::Duration interval_;
  const absl::Duration quiet_;
  const absl::Duration start_;
  mutable absl::Mutex mutex_;
  std::vector<EventDraft> urgent_ ABSL_GUARDED_BY(mutex_);
  std::optional<EventDraft> newest_ ABSL_GUARDED_BY(mutex_);     // comes after the urgent ones
  std::optional<EventDraft> verifying_ ABSL_GUARDED_BY(mutex_);  // comes after all of them
  // Of the write that is under way: a copy, in case it fails.
  std::vector<EventDraft> written_ ABSL_GUARDED_BY(mutex_);
  bool written_newest_ ABSL_GUARDED_BY(mutex_) = false;  // the last of them is not urgent
  std::set<std::pair<std::string, std::string>> stages_
      ABSL_GUARDED_BY(mutex_);  // (phase, stage) seen
  absl::Duration last_write_ ABSL_GUARDED_BY(mutex_) = -absl::InfiniteDuration();
  int64_t iteration_ ABSL_GUARDED_BY(mutex_) = 0;
  int writing_parts_ ABSL_GUARDED_BY(mutex_) =
      0;                                         // of the write that is under way, not answered yet
  bool failed_ ABSL_GUARDED_BY(mutex_) = false;  // the last write
};

}  // namespace mercer::server
