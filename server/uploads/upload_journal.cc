#include "server/uploads/upload_journal.h"

#include <string_view>
#include <utility>

#include "absl/strings/str_cat.h"

#include "core/base/encoding/bytes.h"
#include "core/base/encoding/crc32c.h"
#include "core/base/status/status_macros.h"
#include "server/uploads/upload_part_files.h"

namespace mercer::server {
namespace {

constexpr std::string_view kMagic = "MERCERUP";
constexpr uint64_t kVersion = 2;
constexpr size_t kPrefixBytes = 32;
constexpr size_t kCallerSizeBytes = 8;
constexpr size_t kRecordBytes = 32;
constexpr size_t kVouchedBytes = 24;  // of a record
constexpr int64_t kMaxParts = 1000;

absl::Status WriteBeginning(WritableFile& file, const std::string& bytes, FileSystem& file_system,
                            const std::string& folder) {
  MERCER_RETURN_IF_ERROR(file.Append(bytes));
  MERCER_RETURN_IF_ERROR(file.Sync());
  return file_system.SyncFolder(folder);
}

absl::Status Damaged(const std::string& path) {
  return absl::DataLossError(absl::StrCat("the journal '", path, "' is damaged"));
}

// False when it cannot be.
bool ReadBeginning(uint64_t version, std::string_view bytes, JournalContent& content) {
  if (version == 1) {
    content.header = std::string(bytes);
    return true;
  }
  if (bytes.size() < kCallerSizeBytes) {
    return false;
  }
  ByteReader reader(bytes.substr(0, kCallerSizeBytes));
  const uint64_t caller_size = reader.ReadUint64();
  if (caller_size > bytes.size() - kCallerSizeBytes) {
    return false;
  }
  content.caller = std::string(bytes.substr(kCallerSizeBytes, caller_size));
  content.header = std::string(bytes.substr(kCallerSizeBytes + caller_size));
  return true;
}

// The record at the front of `bytes`; false when it is not whole or cannot be.
bool TakeRecord(std::string_view bytes, JournalContent& content) {
  if (bytes.size() < kRecordBytes) {
    return false;
  }
  ByteReader reader(bytes.substr(0, kRecordBytes));
  const int64_t part = reader.ReadInt64();
  const int64_t size = reader.ReadInt64();
  const int64_t time = reader.ReadInt64();
  const uint64_t checksum = reader.ReadUint64();
  const auto begun = static_cast<int64_t>(content.sizes.size());
  if (checksum != Crc32c(bytes.substr(0, kVouchedBytes)) || part < 0 || part > begun ||
      part >= kMaxParts || size < 0) {
    return false;
  }
  // Parts behind this one were taken back.
  content.sizes.resize(static_cast<size_t>(part) + 1);
  content.sizes.back() = size;
  content.last_time = absl::FromUnixMicros(time);
  return true;
}

}  // namespace

absl::StatusOr<std::unique_ptr<UploadJournal>> UploadJournal::Create(const std::string& path,
                                                                     const std::string& caller,
                                                                     const std::string& header,
                                                                     FileSystem& file_system) {
  ByteWriter caller_size;
  caller_size.WriteUint64(caller.size());
  const std::string beginning = absl::StrCat(std::string(caller_size.bytes()), caller, header);
  ByteWriter prefix;
  prefix.WriteUint64(kVersion);
  prefix.WriteUint64(beginning.size());
  prefix.WriteUint64(Crc32c(beginning));
  MERCER_ASSIGN_OR_RETURN(std::unique_ptr<WritableFile> file, CreateAnew(file_system, path));
  const absl::Status begun =
      WriteBeginning(*file, absl::StrCat(std::string(kMagic), prefix.bytes(), beginning),
                     file_system, FolderOf(path));
  if (!begun.ok()) {
    file_system.Remove(path).IgnoreError();
    return begun;
  }
  return std::unique_ptr<UploadJournal>(new UploadJournal(std::move(file)));
}

absl::StatusOr<std::unique_ptr<UploadJournal>> UploadJournal::Open(const std::string& path,
                                                                   FileSystem& file_system,
                                                                   JournalContent* content) {
  size_t good = 0;
  {
    MERCER_ASSIGN_OR_RETURN(const std::unique_ptr<MappedFile> file, file_system.Map(path));
    const std::string_view bytes = file->contents();
    if (bytes.size() < kPrefixBytes || bytes.substr(0, kMagic.size()) != kMagic) {
      return Damaged(path);
    }
    ByteReader prefix(bytes.substr(kMagic.size(), kPrefixBytes - kMagic.size()));
    const uint64_t version = prefix.ReadUint64();
    const uint64_t beginning_size = prefix.ReadUint64();
    const uint64_t checksum = prefix.ReadUint64();
    if (version < 1 || version > kVersion || beginning_size > bytes.size() - kPrefixBytes ||
        Crc32c(bytes.substr(kPrefixBytes, beginning_size)) != checksum ||
        !ReadBeginning(version, bytes.substr(kPrefixBytes, beginning_size), *content)) {
      return Damaged(path);
    }
    good = kPrefixBytes + beginning_size;
    while (TakeRecord(bytes.substr(good), *content)) {
      good += kRecordBytes;
    }
  }
  MERCER_ASSIGN_OR_RETURN(std::unique_ptr<WritableFile> file,
                          file_system.Reopen(path, static_cast<int64_t>(good)));
  return std::unique_ptr<UploadJournal>(new UploadJournal(std::move(file)));
}

absl::Status UploadJournal::Record(int part, int64_t size, absl::Time now) {
  ByteWriter record;
  record.WriteInt64(part);
  record.WriteInt64(size);
  record.WriteInt64(absl::ToUnixMicros(now));
  record.WriteUint64(Crc32c(record.bytes()));
  MERCER_RETURN_IF_ERROR(file_->Append(record.bytes()));
  return file_->Sync();
}

}  // namespace mercer::server
