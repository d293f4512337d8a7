#include "server/jobs/data/dataset_cache.h"

#include <utility>

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
  return WithRecord(record, OpenShape(record.blob));
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
  return OpenShape(blob);
}

// What is mapped of another file than the one `unless` is opened anew by those who come.
void DatasetCache::Forget(const BlobDigest& blob, const FileIdentity& unless) {
  {
    absl::MutexLock lock(&mutex_);
    const auto found = opened_.find(blob);
    if (found == opened_.end() || found->second.file == unless) {
      return;
    }
    opened_.erase(found);
  }
  kept_.Take(blob);
}

void DatasetCache::DropUnused(absl::Duration now) {
  {
    absl::MutexLock lock(&mutex_);
    if (now - last_look_ < kLookPeriod) {
      return;
    }
    last_look_ = now;
  }
  kept_.TakeIf([](const auto& kept) { return !kept.used.exchange(false); });
}

void DatasetCache::Keep(const BlobDigest& blob, const DatasetPointer& dataset, int64_t bytes) {
  if (kept_.Find(blob) != dataset && dataset->MemoryBytes() <= kMostHeldBytes) {
    kept_.Put(blob, dataset, bytes);
    kept_.Find(blob);  // it has been asked for
  }
}

DatasetCache::DatasetPointer DatasetCache::FindOpened(const BlobDigest& blob) {
  absl::MutexLock lock(&mutex_);
  const auto found = opened_.find(blob);
  return found == opened_.end() ? nullptr : found->second.dataset.lock();
}

DatasetCache::DatasetPointer DatasetCache::FindOpen(const BlobDigest& blob) {
  if (FindOpened(blob) == nullptr) {
    return nullptr;
  }
  // Of a file that is gone, or another by now, nobody begins to use what is mapped.
  const absl::StatusOr<FileIdentity> file = blobs_->Identify(blob);
  Forget(blob, file.ok() ? *file : FileIdentity());
  DatasetPointer dataset = file.ok() ? FindOpened(blob) : nullptr;
  if (dataset != nullptr) {
    Keep(blob, dataset, file->size);
  }
  return dataset;
}

absl::StatusOr<DatasetCache::DatasetPointer> DatasetCache::OpenShape(const BlobDigest& blob) {
  if (DatasetPointer dataset = FindOpen(blob); dataset != nullptr) {
    return dataset;
  }
  return openings_.Run(blob, "opening a data set", [&] { return OpenFile(blob); });
}

absl::StatusOr<DatasetCache::DatasetPointer> DatasetCache::OpenFile(const BlobDigest& blob) {
  if (DatasetPointer dataset = FindOpened(blob); dataset != nullptr) {
    return dataset;  // it was opened just before
  }
  MERCER_ASSIGN_OR_RETURN(const FileIdentity file, blobs_->Identify(blob));
  MERCER_ASSIGN_OR_RETURN(const std::string path, blobs_->VerifiedPath(blob));
  MERCER_ASSIGN_OR_RETURN(Dataset opened, mercer::OpenDataset(path));
  auto dataset = std::make_shared<const Dataset>(std::move(opened));
  {
    absl::MutexLock lock(&mutex_);
    std::erase_if(opened_, [](const auto& entry) { return entry.second.dataset.expired(); });
    opened_[blob] = {dataset, file};
  }
  Keep(blob, dataset, file.size);
  return dataset;
}

}  // namespace mercer::server
