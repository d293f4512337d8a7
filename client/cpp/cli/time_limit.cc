#include "client/cpp/cli/time_limit.h"

#include <cstdint>

#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/time/time.h"

namespace mercer::client {

absl::Status ReadTimeLimit(const std::string& text, google::protobuf::Duration& limit) {
  absl::Duration time;
  double seconds = 0.0;
  if (absl::SimpleAtod(text, &seconds)) {
    time = absl::Seconds(seconds);
  } else if (!absl::ParseDuration(text, &time)) {
    return absl::InvalidArgumentError(
        absl::StrCat("--time-limit: must be seconds or a time like 90s or 1h30m, is '", text, "'"));
  }
  const int64_t whole = absl::ToInt64Seconds(time);
  limit.set_seconds(whole);
  limit.set_nanos(static_cast<int32_t>(absl::ToInt64Nanoseconds(time - absl::Seconds(whole))));
  return absl::OkStatus();
}

}  // namespace mercer::client
