#include "client/cpp/cli/label_flags.h"

#include <map>

#include "absl/strings/str_join.h"

#include "client/cpp/cli/text.h"
#include "core/base/status/status_macros.h"

namespace mercer::client {

void AddLabelFlags(CLI::App& command, LabelFlags& flags) {
  CLI::Option* labels =
      command
          .add_option("--label", flags.labels,
                      "NAME=VALUE (repeatable); these replace all that were there")
          ->allow_extra_args(false);
  command.add_flag("--no-labels", flags.no_labels, "Remove all labels")->excludes(labels);
}

absl::Status ReadLabelFlags(const LabelFlags& flags,
                            google::protobuf::Map<std::string, std::string>& labels,
                            google::protobuf::FieldMask& mask) {
  for (const std::string& text : flags.labels) {
    MERCER_ASSIGN_OR_RETURN(const auto label, SplitAssignment("--label", text));
    labels[label.first] = label.second;
  }
  if (flags.no_labels || !flags.labels.empty()) {
    mask.add_paths("labels");
  }
  return absl::OkStatus();
}

std::string LabelText(const google::protobuf::Map<std::string, std::string>& labels) {
  const std::map<std::string, std::string> sorted(labels.begin(), labels.end());
  return sorted.empty() ? "no labels" : absl::StrJoin(sorted, ", ", absl::PairFormatter("="));
}

}  // namespace mercer::client
