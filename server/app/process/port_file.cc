#include "server/app/process/port_file.h"

#include <memory>

#include "absl/strings/str_cat.h"

#include "core/base/status/status_macros.h"

namespace mercer::server {

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
