// A job as it is now, shared by all its watchers: what goes to one of them is written once for all.
#pragma once

#include <string>
#include <utility>

#include "absl/base/call_once.h"
#include "absl/functional/function_ref.h"
#include "absl/status/statusor.h"

#include "server/storage/records.h"

namespace mercer::server {

// Thread-safe.
class WatchedJob {
 public:
  using Writer = absl::FunctionRef<absl::StatusOr<std::string>(const JobRecord&)>;

  explicit WatchedJob(JobRecord job, bool is_deleted = false)
      : record(std::move(job)), deleted(is_deleted) {}
  WatchedJob(const WatchedJob&) = delete;
  WatchedJob& operator=(const WatchedJob&) = delete;

  // What `write` makes of the record. Only the first call's is called, so all must mean the same.
  const absl::StatusOr<std::string>& Written(Writer write) const {
    absl::call_once(once_, [&] { written_ = write(record); });
    return written_;
  }

  const JobRecord record;
  const bool deleted;  // there is no such job any more; the record is what it last was

 private:
  mutable absl::once_flag once_;
  mutable absl::StatusOr<std::string> written_;
};

}  // namespace mercer::server
