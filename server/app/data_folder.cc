#include "server/app/data_folder.h"

#include <cstdint>
#include <filesystem>
#include <system_error>

#include "absl/strings/str_cat.h"

#include "core/base/status/errors.h"
#include "server/blobs/make_folders.h"
#include "server/maintenance/restore.h"

namespace mercer::server {

absl::Status MakeFolder(const std::string& path) {
  const std::error_code error = MakeFolders(path);
  const std::string message =
      absl::StrCat("the folder '", path, "' cannot be made: ", error.message());
  if (error == std::errc::no_space_on_device) {
    return WithReason(absl::ResourceExhaustedError(message), "DISK_FULL", {{"path", path}});
  }
  if (error == std::errc::io_error) {
    return absl::InternalError(message);
  }
  return error ? WithReason(absl::FailedPreconditionError(message), "STORAGE_READ_ONLY")
               : absl::OkStatus();
}

absl::Status MakeEmptyFolder(const std::string& path) {
  std::error_code error;
  std::filesystem::remove_all(path, error);
  return MakeFolder(path);
}

absl::Status CheckBlobsHaveDatabase(const std::string& folder) {
  std::error_code error;
  if (std::filesystem::exists(absl::StrCat(folder, "/", kUnfinishedRestore), error)) {
    return WithReason(
        absl::DataLossError(absl::StrCat("a restore into the folder '", folder,
                                         "' was broken off: empty it and restore again")),
        "RESTORE_UNFINISHED");
  }
  const std::uintmax_t size = std::filesystem::file_size(folder + "/mercer.db", error);
  if (!error && size > 0) {
    return absl::OkStatus();
  }
  std::filesystem::recursive_directory_iterator blobs(folder + "/blobs", error);
  for (; !error && blobs != std::filesystem::recursive_directory_iterator();
       blobs.increment(error)) {
    if (blobs->is_regular_file(error)) {
      return WithReason(
          absl::DataLossError(absl::StrCat("the database '", folder,
                                           "/mercer.db' is missing or empty, but there are blobs: "
                                           "put the database back, or take another folder")),
          "DATABASE_MISSING");
    }
  }
  return absl::OkStatus();
}

}  // namespace mercer::server
