#include "server/uploads/upload_part_files.h"

#include "absl/strings/str_cat.h"

#include "core/base/memory/memory_reserve.h"
#include "core/base/status/status_macros.h"

namespace mercer::server {

absl::StatusOr<std::unique_ptr<WritableFile>> CreateAnew(FileSystem& files,
                                                         const std::string& path) {
  absl::StatusOr<std::unique_ptr<WritableFile>> file = files.Create(path);
  if (absl::IsAlreadyExists(file.status()) && files.Remove(path).ok()) {
    file = files.Create(path);
  }
  return file;
}

UploadFiles::UploadFiles(std::string stem, std::vector<int64_t> sizes, FileSystem& file_system)
    : stem_(std::move(stem)), file_system_(file_system), sizes_(std::move(sizes)) {}

UploadFiles::~UploadFiles() {
  const ScopedAllocations scope(Allocations::kNeeded);
  file_.reset();
  for (int part = 0; part < parts() && !kept_; ++part) {
    file_system_.Remove(path(part)).IgnoreError();
  }
}

std::string UploadFiles::path(int part) const { return absl::StrCat(stem_, ".", part); }

absl::Status UploadFiles::BeginPart() {
  MERCER_RETURN_IF_ERROR(Close());
  MERCER_ASSIGN_OR_RETURN(file_, CreateAnew(file_system_, path(parts())));
  sizes_.push_back(0);
  return absl::OkStatus();
}

absl::Status UploadFiles::Open() {
  if (file_ == nullptr) {
    MERCER_ASSIGN_OR_RETURN(file_, file_system_.Reopen(path(parts() - 1), sizes_.back()));
  }
  return absl::OkStatus();
}

absl::Status UploadFiles::Append(std::string_view bytes) {
  MERCER_RETURN_IF_ERROR(Open());
  MERCER_RETURN_IF_ERROR(file_->Append(bytes));
  sizes_.back() += static_cast<int64_t>(bytes.size());
  return absl::OkStatus();
}

absl::Status UploadFiles::Sync() {
  MERCER_RETURN_IF_ERROR(Open());
  return file_->Sync();
}

absl::Status UploadFiles::Close() {
  if (file_ == nullptr) {
    return absl::OkStatus();
  }
  const absl::Status status = file_->Close();
  file_.reset();
  return status;
}

void UploadFiles::Rewind(std::vector<int64_t> sizes) {
  file_.reset();
  for (int part = static_cast<int>(sizes.size()); part < parts(); ++part) {
    file_system_.Remove(path(part)).IgnoreError();
  }
  sizes_ = std::move(sizes);
}

absl::StatusOr<bool> UploadFiles::Holds(int part, int64_t offset, std::string_view bytes) const {
  MERCER_ASSIGN_OR_RETURN(const std::unique_ptr<MappedFile> file, file_system_.Map(path(part)));
  const std::string_view contents = file->contents();
  const auto begin = static_cast<size_t>(offset);
  return begin <= contents.size() && contents.substr(begin, bytes.size()) == bytes;
}

}  // namespace mercer::server
