#include "server/jobs/checkpoints.h"

#include <algorithm>
#include <utility>

#include "absl/strings/str_cat.h"

#include "server/jobs/record/retry_policy.h"
#include "server/jobs/upkeep/blob_collector.h"

namespace mercer::server {

bool Checkpoints::IsDue(absl::Duration pause) const {
  switch (frame_.interruption()->kind()) {
    case AttemptInterruptionKind::kNone:
      return frame_.dependencies().clock->Monotonic() - last_ >=
             std::max(frame_.environment().options.checkpoint_interval, pause);
    case AttemptInterruptionKind::kDrain:
      return true;
    case AttemptInterruptionKind::kCancel:
    case AttemptInterruptionKind::kAbandon:
      return false;
  }
  return false;
}

bool Checkpoints::AreOfUse() const {
  return frame_.interruption()->kind() <= AttemptInterruptionKind::kDrain;
}

void Checkpoints::Save(absl::FunctionRef<absl::StatusOr<PinnedBlob>()> write) {
  const JobManagerDependencies& dependencies = frame_.dependencies();
  last_ = dependencies.clock->Monotonic();
  absl::StatusOr<PinnedBlob> blob = write();
  if (!blob.ok()) {
    frame_.Log("cannot write a checkpoint", blob.status());
    return;
  }
  const BlobDigest digest = blob->digest();
  const absl::StatusOr<std::optional<BlobDigest>> previous =
      dependencies.storage->jobs().SaveCheckpoint(
          frame_.lease(), {frame_.recorder().iteration(), frame_.environment().options.code_version,
                           digest, dependencies.clock->Now()});
  if (!previous.ok()) {
    frame_.Log("cannot store a checkpoint", previous.status());
    // On a full disk, where this fails, nobody shall wait for the next collection.
    blob = absl::CancelledError();
    DeleteReleasedBlobs(*dependencies.storage, *dependencies.blobs, {digest}).IgnoreError();
    if (absl::IsAborted(previous.status())) {
      frame_.Abandon();
    }
    return;
  }
  if (previous->has_value()) {
    const auto deleted =
        DeleteReleasedBlobs(*dependencies.storage, *dependencies.blobs, {**previous});
    if (!deleted.ok()) {
      frame_.Log("cannot delete an old checkpoint", deleted.status());
    }
  }
}

absl::StatusOr<std::unique_ptr<MappedFile>> Checkpoints::Load() {
  if (frame_.job().attempt <= 1) {
    return nullptr;
  }
  const JobManagerDependencies& dependencies = frame_.dependencies();
  const absl::StatusOr<std::optional<CheckpointRecord>> checkpoint = frame_.KeepTrying(
      "cannot look for the checkpoint", kReadTries,
      [&] { return dependencies.storage->jobs().GetCheckpoint(frame_.job().id); });
  if (!checkpoint.ok()) {
    return StartOverAfter(checkpoint.status(), "cannot look for the checkpoint",
                          "the checkpoint cannot be looked for");
  }
  if (!checkpoint->has_value()) {
    StartOver("there is no checkpoint yet");
    return nullptr;
  }
  const CheckpointRecord& found = **checkpoint;
  if (found.code_version != frame_.environment().options.code_version) {
    StartOver(absl::StrCat("the checkpoint is of version ", found.code_version));
    return nullptr;
  }
  absl::StatusOr<std::unique_ptr<MappedFile>> blob =
      frame_.KeepTrying("cannot read the checkpoint yet", kReadTries,
                        [&] { return dependencies.blobs->Read(found.blob, frame_.token()); });
  if (!blob.ok()) {
    return StartOverAfter(blob.status(), "cannot read the checkpoint",
                          "the checkpoint cannot be read");
  }
  frame_.recorder().BeginAt(found.iteration);
  absl::MutexLock lock(&mutex_);
  loaded_ = found.iteration;
  return blob;
}

void Checkpoints::GoOn() {
  absl::MutexLock lock(&mutex_);  // nobody tells of later work before
  if (const auto iteration = std::exchange(loaded_, std::nullopt)) {
    frame_.TellResumed(*iteration, "");
  }
}

void Checkpoints::StartOver(std::string why) {
  {
    absl::MutexLock lock(&mutex_);
    loaded_.reset();
  }
  frame_.TellResumed(0, std::move(why));
}

absl::StatusOr<std::unique_ptr<MappedFile>> Checkpoints::StartOverAfter(const absl::Status& error,
                                                                        const char* what,
                                                                        std::string why) {
  if (!IsForGood(error)) {
    return error;
  }
  frame_.Log(what, error);
  StartOver(std::move(why));
  return nullptr;
}

}  // namespace mercer::server
