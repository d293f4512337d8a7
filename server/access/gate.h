// The door: who calls, and may he? One gate for every RPC.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "absl/base/thread_annotations.h"
#include "absl/status/statusor.h"
#include "absl/synchronization/mutex.h"
#include "absl/time/time.h"

#include "server/access/token_table.h"

namespace mercer::server {

// Thread-safe.
class Gate {
 public:
  // Open to everybody: every caller has every scope and the name "anyone".
  Gate() = default;
  // Admits the holders of the tokens in the file. Errors: kFailedPrecondition with reason
  // TOKEN_FILE_UNREADABLE, kInvalidArgument with reason BAD_TOKEN_FILE.
  static absl::StatusOr<std::unique_ptr<Gate>> FromFile(const std::string& path);

  // Reads the file again; when it is unreadable or wrong the tokens stay as they were, and the
  // error says why. True when they are other ones now.
  absl::StatusOr<bool> Reload() ABSL_LOCKS_EXCLUDED(mutex_);

  // `authorization`: the values of the call's header of that name, "Bearer TOKEN". Errors:
  // kUnauthenticated (TOKEN_MISSING, TOKEN_MALFORMED, TOKEN_UNKNOWN, TOKEN_EXPIRED),
  // kPermissionDenied (SCOPE_MISSING).
  absl::StatusOr<Caller> Admit(const std::vector<std::string_view>& authorization, Scope needed,
                               absl::Time now) const ABSL_LOCKS_EXCLUDED(mutex_);

  bool open() const { return !path_.has_value(); }

 private:
  explicit Gate(std::string path) : path_(std::move(path)) {}

  const std::optional<std::string> path_;  // none: open
  mutable absl::Mutex mutex_;
  std::string text_ ABSL_GUARDED_BY(mutex_);  // of the file, as last read
  std::shared_ptr<const TokenTable> tokens_ ABSL_GUARDED_BY(mutex_);
};

}  // namespace mercer::server
