// What stored requests and summaries of earlier versions of the server say that has columns of its own since schema 12. The one place
// where the storage looks into them: they are messages in the encoding of protobuf.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace mercer::server {

struct RequestFields {
  std::string display_name;
  std::string model;    // of the version that the job uses; empty for trainings
  int64_t version = 0;  // of `model`
};

// Of the request of a job of this kind (JobKind). What cannot be read is empty.
RequestFields ReadRequestFields(int64_t kind, std::string_view request);

// The ids of the data sets of the request in the lineage of a version, of which this is the summary. What cannot be read is left out.
std::vector<std::string> ReadTrainedDatasets(std::string_view summary);

}  // namespace mercer::server
