#include "client/cpp/cli/upload_parts.h"

#include <filesystem>

#include "absl/strings/match.h"

#include "client/cpp/cli/dataset_text.h"
#include "client/cpp/cli/text.h"
#include "client/cpp/upload.h"
#include "core/base/status/status_macros.h"

namespace mercer::client {

void AddHeaderFlags(CLI::App& command, HeaderFlags& flags, const std::string& default_name) {
  command.add_option("--id", flags.id, "The id of datasets/ID; default: chosen by the server");
  command.add_option("--display-name", flags.display_name, "For people; default: " + default_name);
  command.add_option("--label", flags.labels, "NAME=VALUE (repeatable)")->allow_extra_args(false);
}

absl::StatusOr<v1::UploadHeader> MakeHeader(const HeaderFlags& flags, const std::string& path) {
  v1::UploadHeader header;
  header.set_dataset_id(absl::StartsWith(flags.id, "datasets/") ? flags.id.substr(9) : flags.id);
  header.set_display_name(flags.display_name.empty()
                              ? std::filesystem::path(path).filename().string()
                              : flags.display_name);
  for (const std::string& text : flags.labels) {
    MERCER_ASSIGN_OR_RETURN(const auto label, SplitAssignment("--label", text));
    (*header.mutable_labels())[label.first] = label.second;
  }
  return header;
}

absl::StatusOr<ExitCode> SendUpload(Session& session, UploadParts parts) {
  // The same command, given again after an interruption, goes on where this one ended.
  if (ShouldBeResumable(parts.bytes, parts.header)) {
    MERCER_ASSIGN_OR_RETURN(const ContentDigest content, DigestSources(parts.sources));
    MakeResumable(content, parts.header);
  }
  const bool show_progress = session.terminal().interactive && !session.json();
  const auto on_progress = [&](int64_t sent) {
    if (show_progress) {
      session.out() << "\r\x1b[2Kupload " << FormatBytes(sent) << " of " << FormatBytes(parts.bytes)
                    << std::flush;
    }
  };
  const absl::StatusOr<v1::Dataset> dataset =
      session.client().UploadDataset(std::move(parts.header), parts.sources, on_progress);
  if (show_progress) {
    session.out() << "\r\x1b[2K" << std::flush;
  }
  MERCER_RETURN_IF_ERROR(dataset.status());
  if (session.json()) {
    session.PrintJson(*dataset);
  } else {
    session.out() << FormatDatasetSummary(*dataset) << std::flush;
  }
  return ExitCode::kOk;
}

}  // namespace mercer::client
