// Updates that change labels alone.
#pragma once

#include <string>
#include <string_view>

#include "absl/status/statusor.h"
#include <google/protobuf/field_mask.pb.h>
#include <google/protobuf/map.h>

#include "server/storage/records.h"

namespace mercer::server {

// The labels that an update of the request's field `resource` ("job") gives. `mask`: null where the request has none. Errors:
// kInvalidArgument with every bad field.
absl::StatusOr<Labels> ReadLabelUpdate(
    std::string_view resource, const google::protobuf::Map<std::string, std::string>& labels,
    const google::protobuf::FieldMask* mask);

}  // namespace mercer::server
