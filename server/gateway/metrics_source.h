// What /metrics shows. The gateway knows only that there is something to show.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "absl/status/status.h"

namespace mercer::gateway {

// Thread-safe; outlives the gateway.
class MetricsSource {
 public:
  virtual ~MetricsSource() = default;
  // Whether a caller may see them, by the values of his header "authorization". Errors: kUnauthenticated, kPermissionDenied.
  virtual absl::Status Admit(const std::vector<std::string_view>& authorization) const = 0;
  // In Prometheus' text form. May block.
  virtual std::string Text(int64_t open_event_streams) = 0;
};

}  // namespace mercer::gateway
