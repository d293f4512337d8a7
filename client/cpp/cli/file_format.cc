#include "client/cpp/cli/file_format.h"

#include <cstdint>
#include <filesystem>

#include "absl/strings/ascii.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"

#include "core/base/status/errors.h"
#include "core/base/status/status_macros.h"

namespace mercer::client {

bool IsSvmlight(const std::string& file, const std::string& format) {
  if (!format.empty()) {
    return format == "svmlight";
  }
  const std::string name = absl::AsciiStrToLower(std::filesystem::path(file).filename().string());
  return absl::StrContains(name, ".svm") || absl::StrContains(name, ".libsvm");
}

absl::StatusOr<std::unique_ptr<ByteSource>> OpenInflated(const std::string& path) {
  const std::string file_path = path == kStandardInput ? "/dev/stdin" : path;
  std::error_code error;
  if (!std::filesystem::exists(file_path, error) ||
      std::filesystem::is_directory(file_path, error)) {
    return absl::NotFoundError(absl::StrCat("there is no file '", path, "'"));
  }
  MERCER_ASSIGN_OR_RETURN(std::unique_ptr<ByteSource> file, OpenFileSource(file_path));
  return MakeInflatingSource(std::move(file), SIZE_MAX);
}

absl::StatusOr<int64_t> RegularFileSize(const std::string& path) {
  std::error_code error;
  if (!std::filesystem::exists(path, error)) {
    return absl::NotFoundError(absl::StrCat("there is no file '", path, "'"));
  }
  if (!std::filesystem::is_regular_file(path, error)) {
    return absl::InvalidArgumentError(absl::StrCat("'", path, "' is not a regular file"));
  }
  const uintmax_t size = std::filesystem::file_size(path, error);
  return error ? absl::StatusOr<int64_t>(
                     absl::NotFoundError(absl::StrCat("'", path, "': ", error.message())))
               : static_cast<int64_t>(size);
}

absl::Status RefuseFlags(const std::vector<GivenFlag>& flags, const std::string& why) {
  FieldViolations violations;
  for (const GivenFlag& flag : flags) {
    violations.Check(!flag.given, flag.name, why);
  }
  return violations.ToStatus();
}

}  // namespace mercer::client
