// The uploads that can be resumed, by their ids and callers, and the space that these and all other unfinished ones take.
//
// Each caller has ids of his own. The uploads lie in one folder: "r-<id>@<caller>.journal" and "r-<id>@<caller>.<part>",
// with no name those that are nobody's, and without "@<caller>" those of servers which knew one id for all callers. The files of uploads that cannot be resumed have other
// names and do not outlive the process.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <string>

#include "absl/base/thread_annotations.h"
#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/synchronization/mutex.h"
#include "absl/time/time.h"

#include "server/storage/records.h"
#include "server/uploads/upload_session.h"

namespace mercer::server {

// Thread-safe.
class UnfinishedUploads {
 public:
  // Takes up what an earlier process has left and removes what is too old or damaged, and all other files of the folder.
  // Call it before all else. Errors: those of the file system.
  absl::Status Recover(const UploadPolicy& policy) ABSL_LOCKS_EXCLUDED(mutex_);

  // An upload that cannot be resumed.
  std::shared_ptr<UploadSession> NewPlain(const v1::UploadHeader& header, const std::string& caller,
                                          const UploadPolicy& policy);
  // What Find finds for header.upload_id(), which is begun for `caller` if there is none. Errors: kAlreadyExists (UPLOAD_ID_REUSED: it
  // has another header), kResourceExhausted (UPLOAD_SPACE_EXCEEDED), those of the file system.
  absl::StatusOr<std::shared_ptr<UploadSession>> Resume(const v1::UploadHeader& header,
                                                        const std::string& caller,
                                                        const UploadPolicy& policy)
      ABSL_LOCKS_EXCLUDED(mutex_);
  // Those behind `after` (empty, or a page's next_token), by their ids and callers.
  Page<std::shared_ptr<UploadSession>> List(const std::string& after, int count) const
      ABSL_LOCKS_EXCLUDED(mutex_);
  // The one of `caller`, or else one of nobody. Null: none.
  std::shared_ptr<UploadSession> Find(const std::string& caller, const std::string& id) const
      ABSL_LOCKS_EXCLUDED(mutex_);
  // Errors: those of UploadSession::Remove.
  absl::Status Remove(const std::shared_ptr<UploadSession>& upload) ABSL_LOCKS_EXCLUDED(mutex_);
  void RemoveExpired(const UploadPolicy& policy) ABSL_LOCKS_EXCLUDED(mutex_);

  int64_t taken_bytes() const { return space_.taken(); }

 private:
  // Errors: kResourceExhausted (UPLOAD_SPACE_EXCEEDED).
  absl::Status CheckNumber(const std::string& caller, const UploadPolicy& policy) const
      ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  // `stem`: the name of its journal without ".journal".
  absl::StatusOr<std::shared_ptr<UploadSession>> Load(const std::string& stem,
                                                      const UploadPolicy& policy)
      ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  std::shared_ptr<UploadSession> FindLocked(const std::string& caller, const std::string& id) const
      ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);

  const Budget space_;
  mutable absl::Mutex mutex_;  // before those of the sessions
  std::map<std::string, std::shared_ptr<UploadSession>> uploads_ ABSL_GUARDED_BY(mutex_);  // by key
};

// kAlreadyExists with reason UPLOAD_ID_REUSED.
absl::Status UploadIdReused(const std::string& upload_id);

// What an upload means: the digest of its header without what only identifies the call, and of its content.
std::string UploadDigest(const v1::UploadHeader& header, const std::string& content_digest);

}  // namespace mercer::server
