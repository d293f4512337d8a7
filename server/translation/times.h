// Times of the API.
#pragma once

#include "absl/time/time.h"
#include <google/protobuf/duration.pb.h>
#include <google/protobuf/timestamp.pb.h>

namespace mercer::server {

// In whole microseconds, as times are stored: the answer to a call and what is read later agree.
inline void SetTimestamp(absl::Time time, google::protobuf::Timestamp* timestamp) {
  const int64_t microseconds = absl::ToUnixMicros(time);
  // Rounded down, without a product: the microseconds of an infinite time are the smallest or largest number there is.
  const int64_t rest = microseconds % 1'000'000;
  const int64_t fraction = rest < 0 ? rest + 1'000'000 : rest;
  timestamp->set_seconds(microseconds / 1'000'000 - (rest < 0 ? 1 : 0));
  timestamp->set_nanos(static_cast<int32_t>(fraction) * 1000);
}

inline void SetDuration(absl::Duration duration, google::protobuf::Duration* message) {
  const int64_t nanoseconds = absl::ToInt64Nanoseconds(duration);
  message->set_seconds(nanoseconds / 1'000'000'000);
  message->set_nanos(static_cast<int32_t>(nanoseconds % 1'000'000'000));
}

// Of any seconds and nanoseconds; an infinite one where it is too long.
inline absl::Duration ToDuration(const google::protobuf::Duration& message) {
  return absl::Seconds(message.seconds()) + absl::Nanoseconds(message.nanos());
}

}  // namespace mercer::server
