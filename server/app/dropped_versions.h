// Takes versions out of the cache of models that the end of a job has deleted, before watchers hear of that end: who does must
// not be answered from memory by what is gone.
#pragma once

#include <memory>

#include "server/prediction/model_cache.h"
#include "server/watching/watched_storage.h"

namespace mercer::server {

class DroppedVersions final : public JobListener {
 public:
  // Is told before those who listen later. `cache` may be null until the first job begins.
  DroppedVersions(JobListeners& listeners, const std::unique_ptr<ModelCache>& cache)
      : listeners_(listeners), cache_(cache) {
    listeners_.Add(this);
  }
  ~DroppedVersions() override { listeners_.Remove(this); }
  DroppedVersions(const DroppedVersions&) = delete;
  DroppedVersions& operator=(const DroppedVersions&) = delete;

 private:
  void OnCommit(const JobCommit& commit) override {
    if (commit.ended == nullptr) {
      return;
    }
    for (const int64_t version : commit.ended->deleted_versions) {
      cache_->Remove(commit.ended->job.model_name, version);
    }
  }

  JobListeners& listeners_;
  const std::unique_ptr<ModelCache>& cache_;
};

}  // namespace mercer::server
