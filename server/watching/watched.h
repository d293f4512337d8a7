// What watchers are told, shared by all whom it is told: what goes to one of them is written once for all.
#pragma once

#include <optional>
#include <string>
#include <utility>

#include "absl/base/thread_annotations.h"
#include "absl/functional/function_ref.h"
#include "absl/status/statusor.h"
#include "absl/synchronization/mutex.h"

#include "core/base/process/run_safely.h"
#include "core/base/status/status_macros.h"
#include "server/jobs/record/job_event.h"
#include "server/storage/records.h"

namespace mercer::server {

// Thread-safe.
template <typename Record>
class Watched {
 public:
  using Writer = absl::FunctionRef<absl::StatusOr<std::string>(const Record&)>;

  explicit Watched(Record that) : record(std::move(that)) {}
  Watched(const Watched&) = delete;
  Watched& operator=(const Watched&) = delete;

  // What `write` makes of the record; it lives as long as this. Once it has succeeded nobody's is called again, so all must mean
  // the same.
  absl::StatusOr<const std::string*> Written(Writer write) const ABSL_LOCKS_EXCLUDED(mutex_) {
    absl::MutexLock lock(&mutex_);
    if (!written_.has_value()) {
      MERCER_ASSIGN_OR_RETURN(written_,
                              RunSafely("writing for watchers", [&] { return write(record); }));
    }
    return &*written_;
  }

  const Record record;

 private:
  mutable absl::Mutex mutex_;
  mutable std::optional<std::string> written_ ABSL_GUARDED_BY(mutex_);  // never changes again
};

using WatchedEvent = Watched<JobEvent>;

// A job as it is now.
struct WatchedJob : Watched<JobRecord> {
  explicit WatchedJob(JobRecord job, bool is_deleted = false)
      : Watched(std::move(job)), deleted(is_deleted) {}

  const bool deleted;  // there is no such job any more; the record is what it last was
};

}  // namespace mercer::server
