// Content-addressed storage of large immutable byte strings: data sets, models, witnesses,
// checkpoints.
//
//   MERCER_ASSIGN_OR_RETURN(std::unique_ptr<BlobWriter> writer, blobs.NewBlob());
//   MERCER_RETURN_IF_ERROR(writer->Append(bytes));            // as often as needed
//   MERCER_ASSIGN_OR_RETURN(PinnedBlob blob, writer->Commit());  // durable from here on
//   ... write the row that names blob.digest(); then let `blob` go out of scope ...
//
// A pin keeps a blob from being collected between Commit and the commit of the row that names it, by this process or by another
// one that has the same folder open. The same content is stored once.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "absl/functional/function_ref.h"
#include "absl/status/status.h"
#include "absl/status/statusor.h"

#include "core/base/process/cancellation.h"
#include "server/blobs/file_system.h"

namespace mercer::server {

// A blob that is not deleted while this object lives. Movable.
class PinnedBlob {
 public:
  PinnedBlob() = default;
  PinnedBlob(std::string digest, int64_t size, std::shared_ptr<void> pin)
      : digest_(std::move(digest)), size_(size), pin_(std::move(pin)) {}
  PinnedBlob(PinnedBlob&&) = default;
  PinnedBlob& operator=(PinnedBlob&&) = default;

  const std::string& digest() const { return digest_; }  // 64 hexadecimal digits
  int64_t size() const { return size_; }                 // bytes

 private:
  std::string digest_;
  int64_t size_ = 0;
  std::shared_ptr<void> pin_;
};

// Writes one blob. Destroying it before Commit leaves nothing behind. Not thread-safe. Must not
// outlive its store.
class BlobWriter {
 public:
  virtual ~BlobWriter() = default;
  // Errors: kResourceExhausted (reason DISK_FULL), kInternal. After an error only the destructor
  // may follow.
  virtual absl::Status Append(std::string_view bytes) = 0;
  virtual int64_t size() const = 0;  // bytes appended
  // What has been appended so far.
  virtual absl::StatusOr<std::unique_ptr<MappedFile>> Map() const = 0;
  virtual absl::StatusOr<PinnedBlob> Commit() = 0;
};

// Thread-safe. Digests that are no digests are kInvalidArgument.
class BlobStore {
 public:
  virtual ~BlobStore() = default;

  virtual absl::StatusOr<std::unique_ptr<BlobWriter>> NewBlob() = 0;
  absl::StatusOr<PinnedBlob> Put(std::string_view bytes);

  // The bytes, mapped; they stay valid after deletion. Their digest is computed anew by every call: what was right once
  // may have rotted since. Errors: kNotFound, kDataLoss (reason BLOB_DAMAGED), kCancelled.
  virtual absl::StatusOr<std::unique_ptr<MappedFile>> Read(
      const std::string& digest, const CancellationToken& cancellation) = 0;
  absl::StatusOr<std::unique_ptr<MappedFile>> Read(const std::string& digest) {
    return Read(digest, CancellationToken());
  }
  // The path of the file, for readers that map it themselves. Verified on the first access of a process to a blob that it
  // has not written itself, and again when the file shows a change: enough to look at its shape; whoever uses its values
  // calls Verify besides. Errors as of Read.
  virtual absl::StatusOr<std::string> VerifiedPath(const std::string& digest) = 0;
  // Finds out whether the file as it is now is right, and answers which file that was: by its digest, or once that was found
  // right and the file shows no change, by a quicker checksum of all its bytes, which finds what rots. Errors: those of
  // Read, kCancelled.
  virtual absl::StatusOr<FileIdentity> Verify(const std::string& digest,
                                              const CancellationToken& cancellation) = 0;
  // Which file it is now. Errors: kNotFound.
  virtual absl::StatusOr<FileIdentity> Identify(const std::string& digest) = 0;

  // Keeps a stored blob from being deleted. Errors: kNotFound.
  virtual absl::StatusOr<PinnedBlob> Pin(const std::string& digest) = 0;
  // While the answer lives, DeleteIf deletes nothing: for whoever is about to pin blobs that rows name which others
  // may delete meanwhile. What is kept by it is found by the next collection.
  virtual absl::StatusOr<std::shared_ptr<void>> HoldDeletions() = 0;

  // All digests, sorted.
  virtual absl::StatusOr<std::vector<std::string>> List() = 0;
  // Deletes the blob when nobody pins it and `is_unreferenced` says so; answers whether it did. No
  // blob is committed or pinned by this process while `is_unreferenced` runs; it is asked once more where another one may have
  // done so. A missing blob is no error.
  virtual absl::StatusOr<bool> DeleteIf(
      const std::string& digest, absl::FunctionRef<absl::StatusOr<bool>()> is_unreferenced) = 0;
};

// What kNotFound is to whoever holds a row that names the blob: kDataLoss, reason BLOB_MISSING.
absl::Status BlobMissing(std::string_view digest);

// Blobs as files folder/<first two digits>/<digest>. Makes the folder when it is missing and
// removes temporary files that a crash has left; those of the living, each of whom has a folder of his own
// (owned_folder.h), stay. `file_system` must outlive the store.
absl::StatusOr<std::unique_ptr<BlobStore>> OpenBlobStore(
    const std::string& folder, FileSystem& file_system = PosixFileSystem());

}  // namespace mercer::server
