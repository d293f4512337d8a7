#include "server/jobs/dataset_cache.h"

#include <utility>

#include "core/base/status_macros.h"
#include "core/data/dataset_file.h"

namespace mercer::server {

absl::StatusOr<OpenedDataset> DatasetCache::Open(const std::string& id) {
  OpenedDataset result;
  MERCER_ASSIGN_OR_RETURN(result.record, storage_->datasets().GetDataset(id));
  {
    absl::MutexLock lock(&mutex_);
    const auto found = opened_.find(result.record.blob);
    if (found != opened_.end()) {
      result.dataset = found->second.lock();
    }
  }
  if (result.dataset != nullptr) {
    return result;
  }
  // Two threads may open the same file at the same time: both mappings are right, one of them is
  // kept.
  MERCER_ASSIGN_OR_RETURN(const std::string path, blobs_->VerifiedPath(result.record.blob));
  MERCER_ASSIGN_OR_RETURN(Dataset dataset, mercer::OpenDataset(path));
  result.dataset = std::make_shared<const Dataset>(std::move(dataset));
  absl::MutexLock lock(&mutex_);
  absl::erase_if(opened_, [](const auto& entry) { return entry.second.expired(); });
  opened_[result.record.blob] = result.dataset;
  return result;
}

}  // namespace mercer::server
