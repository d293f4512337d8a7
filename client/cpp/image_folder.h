// Folders of images: textures/sand/1.png is an image of the class "sand".
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "absl/status/statusor.h"

#include "client/cpp/client.h"

namespace mercer::client {

struct FolderImage {
  std::string path;
  std::string name;   // below the folder: "sand/1.png"
  std::string label;  // "sand"; empty: images of the folder itself
  int64_t bytes = 0;
};

struct ImageFolder {
  std::vector<FolderImage> images;  // by label, then by name
  size_t left_out = 0;              // files of other names, hidden ones apart
};

// Files whose names end with .pgm or .png, in capitals or not: those of each subfolder, at any depth, are of the class that the
// subfolder is named after; without subfolders those of the folder itself, which have no class. Hidden files and folders do not
// count. Errors: kNotFound (no such folder); kInvalidArgument (no image in it or in one of its subfolders; images beside subfolders;
// an empty image; a name that is no UTF-8).
absl::StatusOr<ImageFolder> FindImages(const std::string& folder);

// The bytes of all, one after the other. Reading fails with kInvalidArgument when a file has another size than `images` says.
UploadSource ImageSource(std::vector<FolderImage> images);

}  // namespace mercer::client
