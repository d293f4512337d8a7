// One upload on its way: the bytes that have come so far, for the stream that sends them and, when the upload can be
// resumed, for those that will go on with it.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "absl/base/thread_annotations.h"
#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/synchronization/mutex.h"
#include "absl/time/time.h"

#include "mercer/v1/dataset_service.pb.h"
#include "server/budget/budget.h"
#include "server/digest/sha256.h"
#include "server/jobs/record/clock.h"
#include "server/uploads/upload_journal.h"
#include "server/uploads/upload_part_files.h"

namespace mercer::server {

struct UploadPolicy {
  std::string folder;                       // exists
  int64_t upload_bytes = 0;                 // of one upload
  int64_t space_bytes = 0;                  // of all unfinished ones
  int64_t caller_space_bytes = 0;           // of those of one caller
  absl::Duration expiry = absl::Hours(24);  // without a new byte
  const Clock* clock = &RealClock();        // outlives the uploads, as do `files`
  FileSystem* files = &PosixFileSystem();
};

struct UploadSessionOptions {
  std::string stem;    // a path that no other upload uses
  std::string caller;  // who begins it
  UploadPolicy policy;
  Budget space;  // of all uploads
};

// Thread-safe; the calls block on files. The upload belongs to the stream that came last: `ticket` says which one calls.
class UploadSession {
 public:
  // An upload that cannot be resumed: destroying it removes its files.
  UploadSession(const v1::UploadHeader& header, UploadSessionOptions options);
  // One that can: what has come and is vouched for survives this object and the process; it takes the space for all of its bytes.
  // Errors: kResourceExhausted (UPLOAD_SPACE_EXCEEDED), those of the file system.
  static absl::StatusOr<std::shared_ptr<UploadSession>> Create(const v1::UploadHeader& header,
                                                               UploadSessionOptions options);
  // One that an earlier process has left, with the bytes that are vouched for and its space, whatever the limits are now.
  // Errors: kDataLoss.
  static absl::StatusOr<std::shared_ptr<UploadSession>> Load(UploadSessionOptions options);

  const v1::UploadHeader& header() const { return header_; }
  // Who began it. Empty: unknown.
  const std::string& caller() const { return options_.caller; }

  // A new stream sends the upload from now on. Errors: kUnavailable (UPLOAD_FINISHING), kAborted (UPLOAD_TAKEN_OVER: it was
  // deleted), those of the file system.
  absl::StatusOr<int64_t> Attach() ABSL_LOCKS_EXCLUDED(mutex_);
  // Errors: kAborted (UPLOAD_TAKEN_OVER), kInvalidArgument (BAD_FIELDS, BAD_UPLOAD_ORDER, BAD_UPLOAD_OFFSET, BAD_SIZE),
  // kDataLoss (CHUNK_CHECKSUM), kResourceExhausted.
  absl::Status Append(int64_t ticket, const v1::UploadChunk& chunk) ABSL_LOCKS_EXCLUDED(mutex_);
  // The stream has ended, however: vouches for what it has brought, and holds no file open until the next one comes.
  void Detach(int64_t ticket) ABSL_LOCKS_EXCLUDED(mutex_);

  // All bytes are there; no stream may attach until EndFinish. Errors: as Append; BAD_SIZE.
  absl::Status BeginFinish(int64_t ticket) ABSL_LOCKS_EXCLUDED(mutex_);
  // Only between BeginFinish and EndFinish. The digest of all bytes. Errors: kCancelled.
  absl::StatusOr<std::string> ContentDigest(const std::function<bool()>& is_cancelled)
      ABSL_LOCKS_EXCLUDED(mutex_);
  const UploadFiles& files() const ABSL_NO_THREAD_SAFETY_ANALYSIS { return files_; }
  void EndFinish() ABSL_LOCKS_EXCLUDED(mutex_);

  // Removes all there is on the disk, for good; every stream is out. Errors: kUnavailable (UPLOAD_FINISHING); those of the
  // file system, after which it is still there, or gone (removed() says which) but may be back after a loss of power.
  absl::Status Remove() ABSL_LOCKS_EXCLUDED(mutex_);
  bool removed() const ABSL_LOCKS_EXCLUDED(mutex_);
  // The same, unless it is being finished or something has come within the last `time`. How long the upload has been idle is
  // measured by the monotonic clock; only the time before it was loaded is told by the wall clock.
  bool RemoveIfIdleFor(absl::Duration time) ABSL_LOCKS_EXCLUDED(mutex_);

  // The fields of v1::Upload that are about its bytes.
  void Describe(absl::Duration expiry, v1::Upload& upload) const ABSL_LOCKS_EXCLUDED(mutex_);

 private:
  UploadSession(v1::UploadHeader header, UploadSessionOptions options, Budget::Share space,
                std::unique_ptr<UploadJournal> journal, JournalContent content);

  bool resumable() const { return !header_.upload_id().empty(); }
  int64_t bytes() const ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  absl::Status CheckOwner(int64_t ticket) const ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  absl::Status BadOffset(const v1::UploadChunk& chunk) const ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  // How many bytes of the chunk are there already; they are the same.
  absl::StatusOr<int64_t> Overlap(const v1::UploadChunk& chunk)
      ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  absl::Status CheckRoom(int64_t more) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  absl::Status Write(int part, std::string_view bytes) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  absl::Status BeginPart() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  // The journal is open and says what is vouched for.
  absl::Status OpenJournal() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  // What has come is on the disk and in the journal.
  absl::Status Vouch() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  // After a failure: back to what is vouched for.
  absl::Status Rewind(const absl::Status& why) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  absl::Status RemoveFiles() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);

  const v1::UploadHeader header_;
  const UploadSessionOptions options_;
  mutable absl::Mutex mutex_;
  Budget::Share space_ ABSL_GUARDED_BY(mutex_);
  UploadFiles files_ ABSL_GUARDED_BY(mutex_);
  std::unique_ptr<UploadJournal> journal_
      ABSL_GUARDED_BY(mutex_);  // null: no stream, after a failure, or not resumable
  std::vector<int64_t> vouched_ ABSL_GUARDED_BY(mutex_);  // sizes of the parts
  absl::Time last_time_ ABSL_GUARDED_BY(mutex_);          // of the last bytes
  absl::Duration last_bytes_at_ ABSL_GUARDED_BY(mutex_);  // monotonic
  absl::Duration vouched_at_ ABSL_GUARDED_BY(mutex_);     // monotonic
  std::optional<Sha256> hash_ ABSL_GUARDED_BY(mutex_);    // of all that has come; none: not known
  std::string digest_ ABSL_GUARDED_BY(mutex_);            // of the whole, once it was computed
  int64_t owner_ ABSL_GUARDED_BY(mutex_) = 0;             // the ticket of the newest stream
  bool finishing_ ABSL_GUARDED_BY(mutex_) = false;
  bool removed_ ABSL_GUARDED_BY(mutex_) = false;
};

}  // namespace mercer::server
