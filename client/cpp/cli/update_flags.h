// The flags of commands that change labels and texts of a job, a data set, a model or a version, and what they answer.
#pragma once

#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include <CLI/CLI.hpp>
#include <google/protobuf/field_mask.pb.h>
#include <google/protobuf/map.h>

#include "client/cpp/cli/session.h"
#include "core/base/status/status_macros.h"

namespace mercer::client {

struct UpdateFlags {
  std::string name;
  std::vector<std::string> labels;
  bool no_labels = false;
  std::string display_name;
  std::string description;
  std::string etag;
  // Null: the command has no such flag.
  CLI::Option* has_display_name = nullptr;
  CLI::Option* has_description = nullptr;
};

// Those that all have: of labels, of the name and of the etag.
void AddUpdateFlags(CLI::App& command, UpdateFlags& flags);

// Sets the labels, and names them in the mask, where a flag was given. Errors: kInvalidArgument.
absl::Status ReadLabelFlags(const UpdateFlags& flags,
                            google::protobuf::Map<std::string, std::string>& labels,
                            google::protobuf::FieldMask& mask);

// Fills the resource `name` and the mask with what was given. Errors: kInvalidArgument, also when nothing was.
template <typename Resource>
absl::Status ReadUpdateFlags(const UpdateFlags& flags, const std::string& name, Resource& resource,
                             google::protobuf::FieldMask& mask) {
  const auto given = [](const CLI::Option* option) {
    return option != nullptr && option->count() > 0;
  };
  resource.set_name(name);
  resource.set_etag(flags.etag);
  MERCER_RETURN_IF_ERROR(ReadLabelFlags(flags, *resource.mutable_labels(), mask));
  if constexpr (requires { resource.set_display_name(""); }) {
    if (given(flags.has_display_name)) {
      resource.set_display_name(flags.display_name);
      mask.add_paths("display_name");
    }
  } else if (given(flags.has_display_name)) {
    return absl::InvalidArgumentError("--display-name: only a whole model has one");
  }
  if constexpr (requires { resource.set_description(""); }) {
    if (given(flags.has_description)) {
      resource.set_description(flags.description);
      mask.add_paths("description");
    }
  }
  return mask.paths().empty()
             ? absl::InvalidArgumentError("nothing to change: see --help for what can be")
             : absl::OkStatus();
}

template <typename Resource>
absl::StatusOr<ExitCode> PrintUpdated(Session& session, const absl::StatusOr<Resource>& updated) {
  MERCER_RETURN_IF_ERROR(updated.status());
  if (session.json()) {
    session.PrintJson(*updated);
  } else {
    session.out() << updated->name() << "  etag " << updated->etag() << std::endl;
  }
  return ExitCode::kOk;
}

}  // namespace mercer::client
