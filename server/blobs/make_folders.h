// Folders that are still there when the power has been lost.
#pragma once

#include <string>
#include <system_error>

#include "server/blobs/file_system.h"

namespace mercer::server {

// Makes the folder `path` and those above it, as far as they are missing, and puts the name of each on the disk. One
// whose parent may not be read is made all the same: whoever forbids that has to make it durable himself.
std::error_code MakeFolders(const std::string& path, FileSystem& files = PosixFileSystem());

}  // namespace mercer::server
