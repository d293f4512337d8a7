#include "server/jobs/dataset_cache.h"

#include <utility>

#include "core/base/run_safely.h"
#include "core/base/status_macros.h"
#include "core/data/dataset_file.h"

namespace mercer::server {

absl::StatusOr<OpenedDataset> DatasetCache::Open(const std::string& id) {
  OpenedDataset result;
  MERCER_ASSIGN_OR_RETURN(result.record, storage_->datasets().GetDataset(id));
  absl::StatusOr<DatasetPointer> opened = OpenBlob(result.record.blob);
  if (absl::IsNotFound(opened.status())) {
    // Either the data set was deleted meanwhile, or its file is lost.
    MERCER_RETURN_IF_ERROR(storage_->datasets().GetDataset(id).status());
    return BlobMissing(result.record.blob);
  }
  MERCER_ASSIGN_OR_RETURN(result.dataset, std::move(opened));
  return result;
}

absl::StatusOr<DatasetCache::DatasetPointer> DatasetCache::OpenBlob(const BlobDigest& blob) {
  std::shared_ptr<Opening> opening;
  {
    absl::MutexLock lock(&mutex_);
    const auto found = opened_.find(blob);
    DatasetPointer dataset = found == opened_.end() ? nullptr : found->second.lock();
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
  MERCER_ASSIGN_OR_RETURN(const std::string path, blobs_->VerifiedPath(blob));
  MERCER_ASSIGN_OR_RETURN(Dataset opened, mercer::OpenDataset(path));
  auto dataset = std::make_shared<const Dataset>(std::move(opened));
  absl::MutexLock lock(&mutex_);
  std::erase_if(opened_, [](const auto& entry) { return entry.second.expired(); });
  opened_[blob] = dataset;
  return dataset;
}

}  // namespace mercer::server
