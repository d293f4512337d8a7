#include "client/cpp/image_folder.h"

#include <algorithm>
#include <filesystem>
#include <memory>
#include <system_error>
#include <tuple>
#include <type_traits>
#include <utility>

#include "absl/strings/ascii.h"
#include "absl/strings/str_cat.h"

#include "core/base/status/status_macros.h"
#include "core/base/status/utf8.h"

namespace mercer::client {
namespace {

namespace fs = std::filesystem;

bool IsHidden(const fs::path& path) { return path.filename().string().substr(0, 1) == "."; }

bool IsImage(const fs::path& path) {
  const std::string ending = absl::AsciiStrToLower(path.extension().string());
  return ending == ".pgm" || ending == ".png";
}

absl::Status CannotBeRead(const fs::path& path, const std::error_code& error) {
  return absl::InvalidArgumentError(
      absl::StrCat("'", path.string(), "' cannot be read: ", error.message()));
}

absl::Status NoImage(const fs::path& folder) {
  return absl::InvalidArgumentError(
      absl::StrCat("there is no .pgm or .png file in '", folder.string(), "'"));
}

absl::StatusOr<FolderImage> DescribeImage(const fs::path& folder, const fs::path& path,
                                          const std::string& label) {
  std::error_code error;
  const auto bytes = static_cast<int64_t>(fs::file_size(path, error));
  if (error) {
    return CannotBeRead(path, error);
  }
  if (bytes == 0) {
    return absl::InvalidArgumentError(absl::StrCat("the image '", path.string(), "' is empty"));
  }
  std::string name = path.lexically_relative(folder).generic_string();
  if (!IsUtf8(name)) {
    return absl::InvalidArgumentError(
        absl::StrCat("the name of '", path.string(), "' is not UTF-8"));
  }
  return FolderImage{path.string(), std::move(name), label, bytes};
}

// The images that `files`, an iterator over what a folder holds, finds.
template <typename Files>
absl::Status AddImages(const fs::path& folder, const std::string& label, Files files,
                       const std::error_code& opened, ImageFolder& found) {
  std::error_code error = opened;
  for (; !error && files != Files(); files.increment(error)) {
    const fs::path& path = files->path();
    std::error_code unknown;
    if constexpr (std::is_same_v<Files, fs::recursive_directory_iterator>) {
      if (IsHidden(path) && files->is_directory(unknown)) {
        files.disable_recursion_pending();
      }
    }
    if (IsHidden(path) || !files->is_regular_file(unknown)) {
      continue;
    }
    if (!IsImage(path)) {
      ++found.left_out;
      continue;
    }
    MERCER_ASSIGN_OR_RETURN(FolderImage image, DescribeImage(folder, path, label));
    found.images.push_back(std::move(image));
  }
  return error ? CannotBeRead(folder, error) : absl::OkStatus();
}

// Of one class, at any depth.
absl::Status AddClass(const fs::path& folder, const fs::path& subfolder, ImageFolder& found) {
  const size_t before = found.images.size();
  std::error_code error;
  fs::recursive_directory_iterator files(subfolder, error);
  MERCER_RETURN_IF_ERROR(
      AddImages(folder, subfolder.filename().string(), std::move(files), error, found));
  return found.images.size() > before ? absl::OkStatus() : NoImage(subfolder);
}

absl::StatusOr<std::vector<fs::path>> FindSubfolders(const fs::path& folder) {
  std::vector<fs::path> subfolders;
  std::error_code error;
  for (fs::directory_iterator entries(folder, error); !error && entries != fs::directory_iterator();
       entries.increment(error)) {
    std::error_code unknown;
    if (entries->is_directory(unknown) && !IsHidden(entries->path())) {
      subfolders.push_back(entries->path());
    }
  }
  if (error) {
    return CannotBeRead(folder, error);
  }
  return subfolders;
}

// Reads files one after the other.
class FilesSource final : public ByteSource {
 public:
  explicit FilesSource(std::shared_ptr<const std::vector<FolderImage>> images)
      : images_(std::move(images)) {}

  absl::StatusOr<size_t> Read(char* buffer, size_t capacity) override {
    while (next_ < images_->size() || file_ != nullptr) {
      if (file_ == nullptr) {
        MERCER_ASSIGN_OR_RETURN(file_, OpenFileSource((*images_)[next_].path));
        missing_ = (*images_)[next_].bytes;
        ++next_;
      }
      MERCER_ASSIGN_OR_RETURN(const size_t size, file_->Read(buffer, capacity));
      missing_ -= static_cast<int64_t>(size);
      if (missing_ < 0 || (size == 0 && missing_ > 0)) {
        return absl::InvalidArgumentError(absl::StrCat("the image '", (*images_)[next_ - 1].path,
                                                       "' has changed while it was uploaded"));
      }
      if (size > 0) {
        return size;
      }
      file_.reset();
    }
    return 0;
  }

 private:
  std::shared_ptr<const std::vector<FolderImage>> images_;
  size_t next_ = 0;                   // position of the next file
  std::unique_ptr<ByteSource> file_;  // null: none is open
  int64_t missing_ = 0;               // bytes of the open one
};

}  // namespace

absl::StatusOr<ImageFolder> FindImages(const std::string& path) {
  std::error_code unknown;
  if (!fs::is_directory(path, unknown)) {
    return absl::NotFoundError(absl::StrCat("there is no folder '", path, "'"));
  }
  const fs::path folder(path);
  ImageFolder found;
  std::error_code error;
  fs::directory_iterator files(folder, error);
  MERCER_RETURN_IF_ERROR(AddImages(folder, "", std::move(files), error, found));
  MERCER_ASSIGN_OR_RETURN(const std::vector<fs::path> subfolders, FindSubfolders(folder));
  if (!found.images.empty() && !subfolders.empty()) {
    return absl::InvalidArgumentError(
        absl::StrCat("the image '", found.images[0].path,
                     "' has no class: it lies beside the folders of the classes, not in one"));
  }
  for (const fs::path& subfolder : subfolders) {
    MERCER_RETURN_IF_ERROR(AddClass(folder, subfolder, found));
  }
  if (found.images.empty()) {
    return NoImage(folder);
  }
  std::sort(found.images.begin(), found.images.end(),
            [](const FolderImage& a, const FolderImage& b) {
              return std::tie(a.label, a.name) < std::tie(b.label, b.name);
            });
  return found;
}

UploadSource ImageSource(std::vector<FolderImage> images) {
  auto shared = std::make_shared<const std::vector<FolderImage>>(std::move(images));
  return [shared = std::move(shared)]() -> absl::StatusOr<std::unique_ptr<ByteSource>> {
    return std::make_unique<FilesSource>(shared);
  };
}

}  // namespace mercer::client
