// The file that tells on which port a server listens: there while it does, for scripts that start one on a free port.
#pragma once

#include <string>

#include "absl/status/status.h"

#include "server/blobs/file_system.h"

namespace mercer::server {

// Whoever waits for the file never reads half of it. Errors: those of the file system; `path` is then as it was.
absl::Status WritePortFile(FileSystem& files, const std::string& path, int port);

// A file that is not there is no error.
absl::Status RemovePortFile(FileSystem& files, const std::string& path);

}  // namespace mercer::server
