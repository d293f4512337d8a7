// The checkpoints of one attempt, of whatever kind its job is: when one is due, how it is stored, and what the attempt goes on from.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>

#include "absl/base/thread_annotations.h"
#include "absl/functional/function_ref.h"
#include "absl/status/statusor.h"
#include "absl/synchronization/mutex.h"
#include "absl/time/time.h"

#include "server/blobs/blob_store.h"
#include "server/jobs/attempt_frame.h"

namespace mercer::server {

// Belongs to the thread that works.
class Checkpoints {
 public:
  // `frame` outlives it.
  explicit Checkpoints(AttemptFrame& frame) : frame_(frame) {}

  // Whether one is to be written now: the interval has passed since the last, and `pause`, or the server drains.
  bool IsDue(absl::Duration pause = absl::ZeroDuration()) const;
  // Whether a later attempt may go on from one: this one is neither cancelled nor abandoned.
  bool AreOfUse() const;

  // Stores what `write` has made. A checkpoint that cannot be written costs work after a crash, not the job.
  void Save(absl::FunctionRef<absl::StatusOr<PinnedBlob>()> write);

  // The state to continue from, to be followed by GoOn or StartOver once it has been tried; null for the start, of which watchers of a
  // second attempt are told. Errors: kCancelled; those of disk and storage, after which the next attempt asks again.
  absl::StatusOr<std::unique_ptr<MappedFile>> Load();
  // Tells watchers, once, that the attempt goes on from what was loaded. Nothing, if nothing was. Thread-safe, beside itself.
  void GoOn() ABSL_LOCKS_EXCLUDED(mutex_);
  // Tells watchers that the attempt begins from the start, and why.
  void StartOver(std::string why) ABSL_LOCKS_EXCLUDED(mutex_);

 private:
  // The start, unless another try may do better: then that error.
  absl::StatusOr<std::unique_ptr<MappedFile>> StartOverAfter(const absl::Status& error,
                                                             const char* what, std::string why);

  AttemptFrame& frame_;
  absl::Mutex mutex_;
  // The iteration of what was loaded, until watchers are told of it.
  std::optional<int64_t> loaded_ ABSL_GUARDED_BY(mutex_);
  absl::Duration last_ = frame_.dependencies().clock->Monotonic();
};

}  // namespace mercer::server
