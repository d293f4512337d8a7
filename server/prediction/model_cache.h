// Models in memory, ready to predict: those that were not used lately leave when the budget is
// exceeded.
#pragma once

#include <atomic>
#include <cstdint>
#include <list>
#include <memory>
#include <string>
#include <utility>

#include "absl/base/thread_annotations.h"
#include "absl/status/statusor.h"
#include "absl/synchronization/mutex.h"
#include "absl/synchronization/notification.h"

#include "core/base/numeric/hash_table.h"
#include "core/training/model/predictor.h"
#include "server/blobs/blob_store.h"
#include "server/prediction/prediction_queue.h"
#include "server/prediction/prediction_statistics.h"
#include "server/storage/model_store.h"

namespace mercer::server {

// One version of a model, as predictions use it. Stays valid after it has left the cache.
struct LoadedModel {
  std::string model;
  int64_t version = 0;
  std::string name;                      // "models/{model}/versions/{n}"
  HashSet<std::string> ignored_columns;  // that rows to predict may have
  std::unique_ptr<Predictor> predictor;
  std::unique_ptr<PredictionQueue> queue;            // of the calls that it answers now
  std::shared_ptr<PredictionStatistics> statistics;  // outlive its stay in the cache
};

// What a cache holds now, and what it was good for since the start.
struct ModelCacheUse {
  int64_t models = 0;
  int64_t bytes = 0;
  int64_t hits = 0;    // a version was asked for, and was there
  int64_t misses = 0;  // it had to be read, by whoever asked or by another one at that moment
};

// Thread-safe. Nobody waits for the loading of another model; calls that need the same one at once
// wait for one of them to load it. Calls that find their models wait for nobody.
class ModelCache {
 public:
  // `threads` of predictions: so many of one model run at the same time.
  ModelCache(ModelStore& models, BlobStore& blobs, int64_t budget_bytes, int threads)
      : models_(models), blobs_(blobs), budget_bytes_(budget_bytes), threads_(threads) {}

  // A model that is kept.
  struct Entry {
    std::shared_ptr<const LoadedModel> loaded;
    int64_t bytes = 0;
    mutable std::atomic<bool> used{false};  // since it was last looked at for eviction

    Entry(std::shared_ptr<const LoadedModel> model, int64_t size)
        : loaded(std::move(model)), bytes(size) {}
  };
  using Entries = std::list<Entry>;

  // Null unless it is in memory; never blocks on files or SQL.
  std::shared_ptr<const LoadedModel> Find(const std::string& model, int64_t version)
      ABSL_LOCKS_EXCLUDED(mutex_);
  // `version` 0 means the newest. Errors: kNotFound, kDataLoss (also with reason BLOB_MISSING: the
  // file of a model that exists is gone), kFailedPrecondition (NEWER_FORMAT, UNKNOWN_TERM).
  absl::StatusOr<std::shared_ptr<const LoadedModel>> Load(const std::string& model, int64_t version)
      ABSL_LOCKS_EXCLUDED(mutex_);
  // Forgets a version, or with 0 all versions of the model.
  void Remove(const std::string& model, int64_t version) { Free(Unlink(model, version)); }
  // The same in two steps, of which the second may take long.
  Entries Unlink(const std::string& model, int64_t version) ABSL_LOCKS_EXCLUDED(mutex_);
  // Frees what was taken out, and gives the memory back to the system when it has become much.
  void Free(Entries removed) ABSL_LOCKS_EXCLUDED(mutex_);

  ModelCacheUse use() const ABSL_LOCKS_EXCLUDED(mutex_);
  const PredictionStatisticsTable& statistics() const { return statistics_; }

 private:
  using LoadedOr = absl::StatusOr<std::shared_ptr<const LoadedModel>>;
  // A loading that others wait for.
  struct Flight {
    absl::Notification ended;
    LoadedOr result = absl::UnknownError("");  // once `ended`
  };

  std::shared_ptr<const LoadedModel> FindLocked(const std::string& name) const
      ABSL_SHARED_LOCKS_REQUIRED(mutex_);
  LoadedOr ReadModel(const VersionRecord& record);
  // Reads the version and keeps it, unless it is deleted meanwhile.
  LoadedOr ReadAndKeep(const VersionRecord& record) ABSL_LOCKS_EXCLUDED(mutex_);
  void Insert(std::shared_ptr<const LoadedModel> loaded) ABSL_LOCKS_EXCLUDED(mutex_);
  // Moves to `removed` what has not been used lately, until `bytes` more fit into the budget.
  void Evict(int64_t bytes, Entries& removed) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  // Moves the entry to `removed`, whose memory is to be freed without the lock.
  void Erase(Entries::iterator entry, Entries& removed) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);

  ModelStore& models_;
  BlobStore& blobs_;
  const int64_t budget_bytes_;
  const int threads_;
  PredictionStatisticsTable statistics_;
  mutable absl::Mutex mutex_;
  // The next to be looked at for eviction is the last one: it goes, or when it was used meanwhile
  // begins a further round at the front.
  Entries entries_ ABSL_GUARDED_BY(mutex_);
  HashMap<std::string, Entries::iterator> by_name_ ABSL_GUARDED_BY(mutex_);
  HashMap<std::string, std::shared_ptr<Flight>> flights_ ABSL_GUARDED_BY(mutex_);
  int64_t bytes_ ABSL_GUARDED_BY(mutex_) = 0;
  mutable std::atomic<int64_t> hits_{0};
  std::atomic<int64_t> misses_{0};
  std::atomic<int64_t> freed_bytes_{0};  // since the last time that memory went back to the system
};

}  // namespace mercer::server
