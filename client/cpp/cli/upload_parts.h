// What commands that store a data set have in common.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include <CLI/CLI.hpp>

#include "client/cpp/cli/exit_code.h"
#include "client/cpp/cli/session.h"
#include "client/cpp/client.h"

namespace mercer::client {

// How the data set is to be called.
struct HeaderFlags {
  std::string id;
  std::string display_name;
  std::vector<std::string> labels;
};

// --id, --display-name and --label. `default_name` says what the display name is without its flag.
void AddHeaderFlags(CLI::App& command, HeaderFlags& flags, const std::string& default_name);

// A header without parts; the display name is by default the last part of `path`. Errors: kInvalidArgument.
absl::StatusOr<v1::UploadHeader> MakeHeader(const HeaderFlags& flags, const std::string& path);

// A data set under construction.
struct UploadParts {
  v1::UploadHeader header;
  std::vector<UploadSource> sources;
  int64_t bytes = 0;  // of all sources
};

// Sends it, shows how much of it is sent, and prints the stored data set.
absl::StatusOr<ExitCode> SendUpload(Session& session, UploadParts parts);

}  // namespace mercer::client
