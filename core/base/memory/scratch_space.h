// Where a run keeps tables that are too large for memory: files without a name, read through a map,
// so that what is read often is in memory and nothing else has to be.
//
//   MERCER_ASSIGN_OR_RETURN(ScratchWriter writer, space.Create(bytes));
//   MERCER_RETURN_IF_ERROR(writer.Append(rows, size));                  // front to back
//   MERCER_ASSIGN_OR_RETURN(const ScratchBytes kept, writer.Finish());
//
// The process may end at any moment: the system frees what has no name.
#pragma once

#include <cstddef>
#include <memory>
#include <string>
#include <utility>

#include "absl/status/status.h"
#include "absl/status/statusor.h"

namespace mercer {

// Bytes of a file, mapped read-only for as long as the owner lives.
struct ScratchBytes {
  std::shared_ptr<const void> owner;
  const char* data = nullptr;  // page-aligned
};

// Not thread-safe. Move-only.
class ScratchWriter {
 public:
  ~ScratchWriter();
  ScratchWriter(ScratchWriter&& other) noexcept;
  ScratchWriter& operator=(ScratchWriter&& other) = delete;

  // No more bytes than the file was made for. Few of them wait in memory to be written by the
  // system. Errors: those of ScratchSpace::Create.
  absl::Status Append(const char* bytes, size_t size);
  // Requires that all bytes were appended. Only the destructor may follow.
  absl::StatusOr<ScratchBytes> Finish();

 private:
  friend class ScratchSpace;
  ScratchWriter(std::string folder, int descriptor, size_t size)
      : folder_(std::move(folder)), descriptor_(descriptor), size_(size) {}

  // Lets the disk write what has come, and waits for what came a while before.
  absl::Status LimitUnwritten();

  std::string folder_;
  int descriptor_;
  size_t size_;
  size_t written_ = 0;
  size_t begun_ = 0;   // so much the disk was told to write
  size_t waited_ = 0;  // and so much it has written
};

// A folder for such files. Thread-safe.
class ScratchSpace {
 public:
  // Tables of more than `largest_in_memory` bytes belong here. The folder must exist when the first
  // is made.
  ScratchSpace(std::string folder, size_t largest_in_memory)
      : folder_(std::move(folder)), largest_in_memory_(largest_in_memory) {}
  virtual ~ScratchSpace() = default;
  ScratchSpace(const ScratchSpace&) = delete;
  ScratchSpace& operator=(const ScratchSpace&) = delete;

  size_t largest_in_memory() const { return largest_in_memory_; }
  bool Takes(size_t bytes) const { return bytes > largest_in_memory_; }

  // A file of `size` > 0 bytes, for which the disk has room. Errors: kResourceExhausted (reason
  // DISK_FULL, or OUT_OF_MEMORY for the map), kFailedPrecondition (reason STORAGE_READ_ONLY),
  // kUnavailable (reason TOO_MANY_FILES), kInternal.
  absl::StatusOr<ScratchWriter> Create(size_t size) const;

 protected:
  // Takes room on the disk for the file: 0 or an errno. Where files cannot be given room in
  // advance, writing says that it lacks.
  virtual int Allocate(int descriptor, size_t size) const;

 private:
  const std::string folder_;
  const size_t largest_in_memory_;
};

// Whether it is the disk, or the number of open files, that a run could not go on for: DISK_FULL,
// STORAGE_READ_ONLY, kUnavailable. That says nothing about the run, and may be over later.
bool IsDiskError(const absl::Status& status);

}  // namespace mercer
