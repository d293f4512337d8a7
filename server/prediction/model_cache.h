// Models in memory, ready to predict: those that were not used lately leave when the budget is
// exceeded.
#pragma once

#include <atomic>
#include <cstdint>
#include <memory>
#include <string>

#include "absl/status/statusor.h"

#include "core/base/memory/lru_cache.h"
#include "core/base/numeric/hash_table.h"
#include "core/base/process/single_flight.h"
#include "core/training/model/predictor.h"
#include "server/blobs/blob_store.h"
#include "server/budget/freed_memory.h"
#include "server/prediction/prediction_queue.h"
#include "server/prediction/prediction_statistics.h"
#include "server/storage/model_store.h"

namespace mercer::server {

// One version of a model, as predictions use it. Stays valid after it has left the cache.
struct LoadedModel {
  std::string model;
  int64_t version = 0;
  std::string name;                      // "models/{model}/versions/{n}"
  BlobDigest blob;                       // of its file
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
      : models_(models), blobs_(blobs), threads_(threads), loaded_(budget_bytes) {}

  using ModelPointer = std::shared_ptr<const LoadedModel>;
  using Entries = LruCache<ModelPointer>::Entries;

  // Null unless it is in memory; never blocks on files or SQL.
  ModelPointer Find(const std::string& model, int64_t version);
  // `version` 0 means the newest. Errors: kNotFound, kDataLoss (also with reason BLOB_MISSING: the
  // file of a model that exists is gone), kFailedPrecondition (NEWER_FORMAT, UNKNOWN_TERM).
  absl::StatusOr<ModelPointer> Load(const std::string& model, int64_t version);
  // Forgets a version that was deleted, or with 0 all versions of the model.
  void Remove(const std::string& model, int64_t version) { Free(Unlink(model, version)); }
  // The same in two steps, of which the second may take long.
  Entries Unlink(const std::string& model, int64_t version);
  // Frees what was taken out, and gives the memory back to the system when it has become much.
  void Free(Entries removed);

  ModelCacheUse use() const;
  const PredictionStatisticsTable& statistics() const { return statistics_; }

 private:
  absl::StatusOr<ModelPointer> ReadModel(const VersionRecord& record);
  // Reads the version and keeps it, unless it is deleted meanwhile.
  absl::StatusOr<ModelPointer> ReadAndKeep(const VersionRecord& record);

  ModelStore& models_;
  BlobStore& blobs_;
  const int threads_;
  PredictionStatisticsTable statistics_;
  LruCache<ModelPointer> loaded_;  // by name
  SingleFlight<ModelPointer> loads_;
  std::atomic<int64_t> hits_{0};
  std::atomic<int64_t> misses_{0};
  FreedMemory freed_;
};

}  // namespace mercer::server
