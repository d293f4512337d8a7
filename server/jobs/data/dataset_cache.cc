#include "server/jobs/data/dataset_cache.h"

#include <algorithm>
#include <iterator>
#include <utility>

#include "core/base/process/run_safely.h"
#include "core/base/status/status_macros.h"
#include "core/io/store/dataset_file.h"
#include "server/storage/refusals.h"

namespace mercer::server {

absl::StatusOr<std::shared_ptr<const Dataset>> IfVisible(absl::StatusOr<OpenedDataset> opened) {
  MERCER_RETURN_IF_ERROR(opened.status());
  if (opened->record.hidden) {
    return DatasetNotFound(opened->record.id);
  }
  return std::move(opened->dataset);
}

absl::StatusOr<OpenedDataset> DatasetCache::Open(const std::string& id) {
  MERCER_ASSIGN_OR_RETURN(const DatasetRecord record, storage_->datasets().GetDataset(id));
  return WithRecord(record, OpenBlob(record.blob));
}

absl::StatusOr<OpenedDataset> DatasetCache::OpenVerified(const std::string& id,
                                                         const CancellationToken& cancellation) {
  MERCER_ASSIGN_OR_RETURN(const DatasetRecord record, storage_->datasets().GetDataset(id));
  return WithRecord(record, OpenContent(record.blob, cancellation));
}

absl::StatusOr<OpenedDataset> DatasetCache::WithRecord(const DatasetRecord& record,
                                                       absl::StatusOr<DatasetPointer> opened) {
  if (absl::IsNotFound(opened.status())) {
    // Either the data set was deleted meanwhile, or its file is lost.
    MERCER_RETURN_IF_ERROR(storage_->datasets().GetDataset(record.id).status());
    return BlobMissing(record.blob);
  }
  MERCER_RETURN_IF_ERROR(opened.status());
  return OpenedDataset{record, *std::move(opened)};
}

absl::StatusOr<DatasetCache::DatasetPointer> DatasetCache::OpenContent(
    const BlobDigest& blob, const CancellationToken& cancellation) {
  const absl::StatusOr<FileIdentity> verified = blobs_->Verify(blob, cancellation);
  if (absl::IsDataLoss(verified.status())) {
    Forget(blob, FileIdentity());
  }
  MERCER_RETURN_IF_ERROR(verified.status());
  Forget(blob, *verified);
  return OpenBlob(blob);
}

// What is mapped of another file than the one `unless` is opened anew by those who come.
void DatasetCache::Forget(const BlobDigest& blob, const FileIdentity& unless) {
  KeptList dropped;
  absl::MutexLock lock(&mutex_);
  const auto found = opened_.find(blob);
  if (found == opened_.end() || found->second.file == unless) {
    return;
  }
  opened_.erase(found);
  const auto kept = std::find_if(kept_.begin(), kept_.end(),
                                 [&](const Kept& entry) { return entry.blob == blob; });
  if (kept != kept_.end()) {
    kept_bytes_ -= kept->bytes;
    dropped.splice(dropped.end(), kept_, kept);
  }
}

void DatasetCache::DropUnused(absl::Duration now) {
  KeptList dropped;
  absl::MutexLock lock(&mutex_);
  if (now - last_look_ < kLookPeriod) {
    return;
  }
  last_look_ = now;
  for (auto entry = kept_.begin(); entry != kept_.end();) {
    const auto here = entry++;
    if (!std::exchange(here->asked_for, false)) {
      kept_bytes_ -= here->bytes;
      dropped.splice(dropped.end(), kept_, here);
    }
  }
}

void DatasetCache::Keep(const BlobDigest& blob, const DatasetPointer& dataset, int64_t bytes,
                        KeptList& dropped) {
  const auto kept = std::find_if(kept_.begin(), kept_.end(),
                                 [&](const Kept& entry) { return entry.blob == blob; });
  if (kept != kept_.end()) {
    kept->asked_for = true;
    kept_.splice(kept_.begin(), kept_, kept);
    return;
  }
  if (most_kept_bytes_ <= 0 || bytes > most_kept_bytes_ ||
      dataset->MemoryBytes() > kMostHeldBytes) {
    return;
  }
  kept_.push_front({blob, dataset, bytes});
  kept_bytes_ += bytes;
  while (kept_bytes_ > most_kept_bytes_) {
    kept_bytes_ -= kept_.back().bytes;
    dropped.splice(dropped.end(), kept_, std::prev(kept_.end()));
  }
}

DatasetCache::DatasetPointer DatasetCache::FindOpen(const BlobDigest& blob) {
  {
    absl::MutexLock lock(&mutex_);
    if (!opened_.contains(blob)) {
      return nullptr;
    }
  }
  // Of a file that is gone, or another by now, nobody begins to use what is mapped.
  const absl::StatusOr<FileIdentity> file = blobs_->Identify(blob);
  Forget(blob, file.ok() ? *file : FileIdentity());
  KeptList dropped;
  absl::MutexLock lock(&mutex_);
  const auto found = opened_.find(blob);
  DatasetPointer dataset = found == opened_.end() ? nullptr : found->second.dataset.lock();
  if (dataset != nullptr) {
    Keep(blob, dataset, found->second.file.size, dropped);
  }
  return dataset;
}

absl::StatusOr<DatasetCache::DatasetPointer> DatasetCache::OpenBlob(const BlobDigest& blob) {
  if (DatasetPointer dataset = FindOpen(blob); dataset != nullptr) {
    return dataset;
  }
  std::shared_ptr<Opening> opening;
  {
    absl::MutexLock lock(&mutex_);
    const auto found = opened_.find(blob);
    DatasetPointer dataset = found == opened_.end() ? nullptr : found->second.dataset.lock();
    if (dataset != nullptr) {
      return dataset;
    }
    std::shared_ptr<Opening>& entry = openings_[blob];
    if (entry != nullptr) {
      opening = entry;
      mutex_.Await(absl::Condition(&opening->done));
      return opening->result;
    }
    entry = std::make_shared<Opening>();
    opening = entry;
  }
  // The others must get an answer whatever happens here.
  absl::StatusOr<DatasetPointer> result =
      RunSafely("opening a data set", [&] { return OpenFile(blob); });
  absl::MutexLock lock(&mutex_);
  openings_.erase(blob);
  opening->result = result;
  opening->done = true;
  return result;
}

absl::StatusOr<DatasetCache::DatasetPointer> DatasetCache::OpenFile(const BlobDigest& blob) {
  MERCER_ASSIGN_OR_RETURN(const FileIdentity file, blobs_->Identify(blob));
  MERCER_ASSIGN_OR_RETURN(const std::string path, blobs_->VerifiedPath(blob));
  MERCER_ASSIGN_OR_RETURN(Dataset opened, mercer::OpenDataset(path));
  auto dataset = std::make_shared<const Dataset>(std::move(opened));
  KeptList dropped;
  absl::MutexLock lock(&mutex_);
  std::erase_if(opened_, [](const auto& entry) { return entry.second.dataset.expired(); });
  opened_[blob] = {dataset, file};
  Keep(blob, dataset, file.size, dropped);
  return dataset;
}

}  // namespace mercer::server
