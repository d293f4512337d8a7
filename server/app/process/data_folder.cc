#include "server/app/process/data_folder.h"

#include <algorithm>
#include <cstdint>
#include <filesystem>
#include <system_error>
#include <vector>

#include "absl/strings/str_cat.h"

#include "core/base/status/errors.h"
#include "core/base/status/status_macros.h"
#include "server/blobs/file_system.h"
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

namespace {

std::string JournalOf(const std::string& name) {
  return absl::StrCat(name.substr(0, name.rfind('.')), ".journal");
}

// Of an upload that is in both folders, that of `to` stays. Journals come last, by their names: without one the bytes of an upload
// are nothing, so a crash in between costs none.
absl::Status MoveUploads(const std::string& from, const std::string& to) {
  FileSystem& files = PosixFileSystem();
  MERCER_ASSIGN_OR_RETURN(const std::vector<std::string> there, files.List(to));
  MERCER_ASSIGN_OR_RETURN(const std::vector<std::string> names, files.List(from));
  for (const std::string& name : names) {
    const std::string path = absl::StrCat(from, "/", name);
    if (files.List(path).ok()) {
      continue;  // the folder of somebody
    }
    const bool is_there = std::binary_search(there.begin(), there.end(), JournalOf(name));
    const absl::Status moved =
        is_there ? files.Remove(path) : files.Rename(path, absl::StrCat(to, "/", name));
    if (!absl::IsNotFound(moved)) {  // of the folder that all share, another one may take it
      MERCER_RETURN_IF_ERROR(moved);
    }
  }
  return files.SyncFolder(to);
}

}  // namespace

absl::StatusOr<std::shared_ptr<OwnedFolder>> TakeEmptyFolder(const std::string& path) {
  MERCER_RETURN_IF_ERROR(MakeFolder(path));
  return OwnedFolder::TakeEmpty(PosixFileSystem(), path);
}

absl::StatusOr<std::shared_ptr<OwnedFolder>> TakeUploadFolder(const std::string& path) {
  MERCER_RETURN_IF_ERROR(MakeFolder(path));
  MERCER_ASSIGN_OR_RETURN(std::shared_ptr<OwnedFolder> own,
                          OwnedFolder::Take(PosixFileSystem(), path,
                                            [](const std::string& left, const OwnedFolder& taken) {
                                              return MoveUploads(left, taken.path());
                                            }));
  MERCER_RETURN_IF_ERROR(MoveUploads(path, own->path()));
  // Uploads that the server has vouched for would go with a folder that has not reached the disk.
  MERCER_RETURN_IF_ERROR(PosixFileSystem().SyncFolder(path));
  return own;
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

absl::Status WritePortFile(FileSystem& files, const std::string& path, int port) {
  const std::string temporary = path + ".new";
  MERCER_RETURN_IF_ERROR(RemovePortFile(files, temporary));  // what a crash has left
  MERCER_ASSIGN_OR_RETURN(const std::unique_ptr<WritableFile> file, files.Create(temporary));
  MERCER_RETURN_IF_ERROR(file->Append(absl::StrCat(port, "\n")));
  MERCER_RETURN_IF_ERROR(file->Close());
  return files.Rename(temporary, path);
}

absl::Status RemovePortFile(FileSystem& files, const std::string& path) {
  const absl::Status removed = files.Remove(path);
  return absl::IsNotFound(removed) ? absl::OkStatus() : removed;
}

}  // namespace mercer::server
