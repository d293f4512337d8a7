#include "server/jobs/dataset_cache.h"

#include <utility>

#include "core/base/process/run_safely.h"
#include "core/base/status/status_macros.h"
#include "core/io/store/dataset_file.h"

namespace mercer::server {

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
  absl::MutexLock lock(&mutex_);
  const auto found = opened_.find(blob);
  if (found != opened_.end() && found->second.file != unless) {
    opened_.erase(found);
  }
}

absl::StatusOr<DatasetCache::DatasetPointer> DatasetCache::OpenBlob(const BlobDigest& blob) {
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
  absl::MutexLock lock(&mutex_);
  std::erase_if(opened_, [](const auto& entry) { return entry.second.dataset.expired(); });
  opened_[blob] = {dataset, file};
  return dataset;
}

}  // namespace mercer::server
