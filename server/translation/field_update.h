// What an update of a resource changes: the fields that its mask names.
#pragma once

#include <string>
#include <string_view>

#include "absl/status/statusor.h"
#include <google/protobuf/field_mask.pb.h>
#include <google/protobuf/map.h>

#include "server/storage/resource_update.h"

namespace mercer::server {

// The fields of a resource that updates may change; null: it has no such one.
struct ChangeableFields {
  const std::string& etag;
  const google::protobuf::Map<std::string, std::string>* labels = nullptr;
  const std::string* display_name = nullptr;
  const std::string* description = nullptr;
};

// What the fields `given` of the request's field `resource` ("job") change, without the check. `mask`: null where the request has
// none; all of them do then. Errors: kInvalidArgument with every bad field.
absl::StatusOr<ResourceUpdate> ReadFieldUpdate(std::string_view resource,
                                               const ChangeableFields& given,
                                               const google::protobuf::FieldMask* mask);

template <typename Request>
const google::protobuf::FieldMask* MaskOf(const Request& request) {
  return request.has_update_mask() ? &request.update_mask() : nullptr;
}

}  // namespace mercer::server
