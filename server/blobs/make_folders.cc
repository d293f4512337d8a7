#include "server/blobs/make_folders.h"

#include <filesystem>
#include <vector>

namespace mercer::server {

std::error_code MakeFolders(const std::string& path, FileSystem& files) {
  std::filesystem::path folder = std::filesystem::absolute(path).lexically_normal();
  if (!folder.has_filename()) {
    folder = folder.parent_path();  // of "data/" that is "data" itself
  }
  std::error_code error;
  std::vector<std::filesystem::path> parents;
  for (auto missing = folder; missing.has_relative_path() && !exists(missing, error);
       missing = missing.parent_path()) {
    parents.push_back(missing.parent_path());
  }
  std::filesystem::create_directories(folder, error);
  if (!error) {
    for (const std::filesystem::path& parent : parents) {
      files.SyncFolder(parent.string()).IgnoreError();
    }
  }
  return error;
}

}  // namespace mercer::server
