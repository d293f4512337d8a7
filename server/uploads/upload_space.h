// The disk space that one unfinished upload takes, of what all of them, and those of its caller, may take.
#pragma once

#include <cstdint>
#include <string>
#include <utility>

#include "absl/status/status.h"

#include "server/budget/budget.h"

namespace mercer::server {

// Not thread-safe.
class UploadSpace {
 public:
  UploadSpace() = default;  // of nothing, without limits
  // Nothing yet.
  UploadSpace(const Budget& all, std::string caller, BudgetLimits limits)
      : share_(all.NewShare(caller)), caller_(std::move(caller)), limits_(limits) {}

  // Takes more. Nothing changes when a limit forbids it. Errors: kResourceExhausted (UPLOAD_SPACE_EXCEEDED).
  absl::Status Grow(int64_t bytes);
  void Release() { share_.Release(); }

 private:
  Budget::Share share_;
  std::string caller_;
  BudgetLimits limits_;
};

}  // namespace mercer::server
