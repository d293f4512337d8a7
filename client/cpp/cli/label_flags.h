// The flags of commands that replace all labels of something.
#pragma once

#include <string>
#include <vector>

#include "absl/status/status.h"
#include <CLI/CLI.hpp>
#include <google/protobuf/field_mask.pb.h>
#include <google/protobuf/map.h>

namespace mercer::client {

struct LabelFlags {
  std::vector<std::string> labels;
  bool no_labels = false;
};

void AddLabelFlags(CLI::App& command, LabelFlags& flags);

// Sets the labels, and names them in the mask, where a flag was given. Errors: kInvalidArgument.
absl::Status ReadLabelFlags(const LabelFlags& flags,
                            google::protobuf::Map<std::string, std::string>& labels,
                            google::protobuf::FieldMask& mask);

// "stage=test, team=blue", or "no labels".
std::string LabelText(const google::protobuf::Map<std::string, std::string>& labels);

}  // namespace mercer::client
