// The content of a data set on its way into a file, looked after while it is written.
#pragma once

#include <cstddef>
#include <functional>
#include <string_view>
#include <utility>

#include "absl/status/status.h"

#include "core/base/status/status_macros.h"
#include "core/io/store/dataset_file.h"

namespace mercer::server {

// Asks `check` before the first bytes, and again after every kCheckedBytes: a column may come as a whole.
class CheckedSink final : public ByteSink {
 public:
  CheckedSink(std::function<absl::Status(std::string_view)> append,
              std::function<absl::Status()> check)
      : append_(std::move(append)), check_(std::move(check)) {}

  absl::Status Write(std::string_view bytes) override {
    while (!bytes.empty()) {
      if (unchecked_ >= kCheckedBytes) {
        MERCER_RETURN_IF_ERROR(check_());
        unchecked_ = 0;
      }
      const std::string_view piece = bytes.substr(0, kCheckedBytes - unchecked_);
      MERCER_RETURN_IF_ERROR(append_(piece));
      unchecked_ += piece.size();
      bytes.remove_prefix(piece.size());
    }
    return absl::OkStatus();
  }

 private:
  static constexpr size_t kCheckedBytes = size_t{16} << 20;

  const std::function<absl::Status(std::string_view)> append_;
  const std::function<absl::Status()> check_;
  size_t unchecked_ = kCheckedBytes;
};

}  // namespace mercer::server
