// What watchers are told, shared by all whom it is told: what goes to one of them is written once for all.
#pragma once

#include <string>
#include <utility>

#include "absl/base/call_once.h"
#include "absl/functional/function_ref.h"
#include "absl/status/statusor.h"

#include "core/base/process/run_safely.h"
#include "server/jobs/job_event.h"
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

  // What `write` makes of the record. Only the first call's is called, so all must mean the same.
  const absl::StatusOr<std::string>& Written(Writer write) const {
    absl::call_once(once_, [&] {
      written_ = RunSafely("writing for watchers", [&] { return write(record); });
    });
    return written_;
  }

  const Record record;

 private:
  mutable absl::once_flag once_;
  mutable absl::StatusOr<std::string> written_;
};

using WatchedEvent = Watched<JobEvent>;

// A job as it is now.
struct WatchedJob : Watched<JobRecord> {
  explicit WatchedJob(JobRecord job, bool is_deleted = false)
      : Watched(std::move(job)), deleted(is_deleted) {}

  const bool deleted;  // there is no such job any more; the record is what it last was
};

}  // namespace mercer::server
