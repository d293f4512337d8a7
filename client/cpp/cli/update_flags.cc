#include "client/cpp/cli/update_flags.h"

#include "client/cpp/cli/text.h"

namespace mercer::client {

void AddUpdateFlags(CLI::App& command, UpdateFlags& flags) {
  CLI::Option* labels =
      command
          .add_option("--label", flags.labels,
                      "NAME=VALUE (repeatable); these replace all that were there")
          ->allow_extra_args(false);
  command.add_flag("--no-labels", flags.no_labels, "Remove all labels")->excludes(labels);
  flags.has_display_name = command.add_option("--display-name", flags.display_name,
                                              "What people call it, at most 200 bytes");
  command.add_option("--etag", flags.etag, "Only if it still has this etag");
}

absl::Status ReadLabelFlags(const UpdateFlags& flags,
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

}  // namespace mercer::client
