// Takes versions out of the cache of models that the end of a job has deleted, before watchers hear of that end: who does must
// not be answered from memory by what is gone.
#pragma once

#include <memory>
#include <utility>

#include "server/prediction/model_cache.h"
#include "server/watching/posted_work.h"
#include "server/watching/watched_storage.h"

namespace mercer::server {

class DroppedVersions final : public JobListener {
 public:
  // Is told before those who listen later. Memory is freed on `executor`. `cache` may be null until the first job begins.
  DroppedVersions(JobListeners& listeners, const std::unique_ptr<ModelCache>& cache,
                  Executor* executor)
      : listeners_(listeners), cache_(cache), posted_(std::make_shared<PostedWork>(executor)) {
    listeners_.Add(this);
  }
  ~DroppedVersions() override {
    listeners_.Remove(this);
    posted_->Wait();
  }
  DroppedVersions(const DroppedVersions&) = delete;
  DroppedVersions& operator=(const DroppedVersions&) = delete;

 private:
  void OnCommit(const JobCommit& commit) override {
    if (commit.ended == nullptr) {
      return;
    }
    for (const int64_t version : commit.ended->deleted_versions) {
      ModelCache::Entries removed = cache_->Unlink(commit.ended->job.model_name, version);
      if (!removed.empty()) {
        posted_->Post([cache = cache_.get(), removed = std::move(removed)]() mutable {
          cache->Free(std::move(removed));
        });
      }
    }
  }

  JobListeners& listeners_;
  const std::unique_ptr<ModelCache>& cache_;
  const std::shared_ptr<PostedWork> posted_;
};

}  // namespace mercer::server
