// Filters and orders of list requests: which fields each resource has, and what their values mean.
#pragma once

#include <string_view>

#include "absl/status/statusor.h"

#include "server/storage/list_filter.h"

namespace mercer::server {

// Both texts may be empty. Errors: kInvalidArgument (reasons BAD_FILTER, BAD_ORDER_BY).
absl::StatusOr<ListQuery> ReadJobQuery(std::string_view filter, std::string_view order_by);
absl::StatusOr<ListQuery> ReadModelQuery(std::string_view filter, std::string_view order_by);
absl::StatusOr<ListQuery> ReadVersionQuery(std::string_view filter, std::string_view order_by);
absl::StatusOr<ListQuery> ReadDatasetQuery(std::string_view filter, std::string_view order_by);

}  // namespace mercer::server
