// What stored requests of earlier versions of the server say that has columns of its own since schema 12. The one place where the
// storage looks into a request, which is a message in the encoding of protobuf.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

namespace mercer::server {

struct RequestFields {
  std::string display_name;
  std::string model;    // of the version that the job uses; empty for trainings
  int64_t version = 0;  // of `model`
};

// Of the request of a job of this kind (JobKind). What cannot be read is empty.
RequestFields ReadRequestFields(int64_t kind, std::string_view request);

}  // namespace mercer::server
