// The option --time-limit of the commands that start jobs.
#pragma once

#include <string>

#include "absl/status/status.h"
#include <google/protobuf/duration.pb.h>

namespace mercer::client {

// Of commands other than train, whose job has nothing to keep then.
inline constexpr char kTimeLimitHelp[] =
    "Of its running time, after which it fails: seconds, or 90s, 10m, 1h30m";

// Reads seconds, "90", or a time, "90s", "1h30m". Errors: kInvalidArgument naming the option.
absl::Status ReadTimeLimit(const std::string& text, google::protobuf::Duration& limit);

// The limit of `message`, unless the text is empty.
template <typename Message>
absl::Status SetTimeLimit(const std::string& text, Message& message) {
  return text.empty() ? absl::OkStatus() : ReadTimeLimit(text, *message.mutable_time_limit());
}

}  // namespace mercer::client
