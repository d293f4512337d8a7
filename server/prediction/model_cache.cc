#include "server/prediction/model_cache.h"

#include <malloc.h>
#include <utility>

#include "core/base/process/run_safely.h"
#include "core/base/status/errors.h"
#include "core/base/status/status_macros.h"
#include "mercer/v1/model_version.pb.h"
#include "server/translation/resource_names.h"
#include "server/translation/whole_message.h"

namespace mercer::server {
namespace {

constexpr int64_t kTrimBytes = int64_t{32} << 20;

}  // namespace
absl::StatusOr<std::shared_ptr<const LoadedModel>> ModelCache::ReadModel(
    const VersionRecord& record) {
  const absl::StatusOr<std::unique_ptr<MappedFile>> file = blobs_.Read(record.model_blob);
  if (!file.ok()) {
    return file.status();
  }
  MERCER_ASSIGN_OR_RETURN(Model model, LoadModel((*file)->contents()));
  auto loaded = std::make_shared<LoadedModel>();
  loaded->model = record.model;
  loaded->version = record.version;
  loaded->name = ModelVersionName(record.model, record.version);
  v1::ModelVersion summary;
  if (ParseWhole(record.summary, summary)) {
    loaded->ignored_columns.insert(summary.ignored_columns().begin(),
                                   summary.ignored_columns().end());
  }
  loaded->queue = std::make_unique<PredictionQueue>(threads_, RowsPerBatch(model));
  loaded->statistics = statistics_.Of(loaded->name);
  MERCER_ASSIGN_OR_RETURN(loaded->predictor,
                          Predictor::Make(std::make_shared<const Model>(std::move(model))));
  return loaded;
}

std::shared_ptr<const LoadedModel> ModelCache::FindLocked(const std::string& name) const {
  const auto found = by_name_.find(name);
  if (found == by_name_.end()) {
    return nullptr;
  }
  found->second->used.store(true, std::memory_order_relaxed);
  hits_.fetch_add(1, std::memory_order_relaxed);
  return found->second->loaded;
}

std::shared_ptr<const LoadedModel> ModelCache::Find(const std::string& model, int64_t version) {
  const std::string name = ModelVersionName(model, version);
  absl::ReaderMutexLock lock(&mutex_);
  return FindLocked(name);
}

absl::StatusOr<std::shared_ptr<const LoadedModel>> ModelCache::Load(const std::string& model,
                                                                    int64_t version) {
  if (version != 0) {
    if (std::shared_ptr<const LoadedModel> loaded = Find(model, version)) {
      return loaded;
    }
  }
  const absl::StatusOr<VersionRecord> record = models_.GetVersion(model, version);
  if (!record.ok()) {
    const std::string name = version == 0 ? ModelName(model) : ModelVersionName(model, version);
    return record.status().code() == absl::StatusCode::kNotFound ? ResourceNotFound("model", name)
                                                                 : record.status();
  }
  const std::string name = ModelVersionName(model, record->version);
  std::shared_ptr<Flight> flight;
  bool is_first = false;
  {
    absl::MutexLock lock(&mutex_);
    if (std::shared_ptr<const LoadedModel> loaded = FindLocked(name)) {
      return loaded;
    }
    misses_.fetch_add(1, std::memory_order_relaxed);
    std::shared_ptr<Flight>& known = flights_[name];
    is_first = known == nullptr;
    if (is_first) {
      known = std::make_shared<Flight>();
    }
    flight = known;
  }
  if (!is_first) {
    flight->ended.WaitForNotification();
    return flight->result;
  }
  flight->result = RunSafely("loading a model", [&] { return ReadAndKeep(*record); });
  {
    absl::MutexLock lock(&mutex_);
    flights_.erase(name);
  }
  flight->ended.Notify();
  return flight->result;
}

ModelCache::LoadedOr ModelCache::ReadAndKeep(const VersionRecord& record) {
  absl::StatusOr<std::shared_ptr<const LoadedModel>> loaded = ReadModel(record);
  if (loaded.ok()) {
    Insert(*loaded);
  }
  // A deletion removes the row, then the version from here, then the file. One that came since
  // `record` was read may have done the second before there was anything to remove; the version would
  // then answer until it is evicted.
  if (models_.GetVersion(record.model, record.version).status().code() ==
      absl::StatusCode::kNotFound) {
    Remove(record.model, record.version);
    return ResourceNotFound("model", ModelVersionName(record.model, record.version));
  }
  return loaded.status().code() == absl::StatusCode::kNotFound ? BlobMissing(record.model_blob)
                                                               : loaded;
}

void ModelCache::Insert(std::shared_ptr<const LoadedModel> loaded) {
  const int64_t bytes = static_cast<int64_t>(loaded->predictor->MemoryBytes());
  Entries added;  // before an entry is half there, as this may find no memory
  added.emplace_front(std::move(loaded), bytes);
  const std::string& name = added.front().loaded->name;
  Entries removed;
  {
    absl::MutexLock lock(&mutex_);
    if (bytes > budget_bytes_ || by_name_.contains(name)) {
      return;
    }
    Evict(bytes, removed);
    by_name_[name] = added.begin();
    entries_.splice(entries_.begin(), added);
    bytes_ += bytes;
  }
  Free(std::move(removed));
}

void ModelCache::Free(Entries removed) {
  int64_t bytes = 0;
  for (const Entry& entry : removed) {
    bytes += entry.bytes;
  }
  removed.clear();
  // The allocator keeps what lies between blocks that are in use, in every thread's arena.
  if (freed_bytes_.fetch_add(bytes) + bytes >= kTrimBytes) {
    freed_bytes_ = 0;
    malloc_trim(0);
  }
}

void ModelCache::Evict(int64_t bytes, Entries& removed) {
  while (bytes_ + bytes > budget_bytes_ && !entries_.empty()) {
    const auto last = std::prev(entries_.end());
    if (last->used.exchange(false, std::memory_order_relaxed)) {
      entries_.splice(entries_.begin(), entries_, last);
    } else {
      Erase(last, removed);
    }
  }
}

void ModelCache::Erase(Entries::iterator entry, Entries& removed) {
  bytes_ -= entry->bytes;
  by_name_.erase(entry->loaded->name);
  removed.splice(removed.begin(), entries_, entry);
}

ModelCache::Entries ModelCache::Unlink(const std::string& model, int64_t version) {
  Entries removed;
  absl::MutexLock lock(&mutex_);
  for (auto entry = entries_.begin(); entry != entries_.end();) {
    const auto next = std::next(entry);
    if (entry->loaded->model == model && (version == 0 || entry->loaded->version == version)) {
      Erase(entry, removed);
    }
    entry = next;
  }
  return removed;
}

ModelCacheUse ModelCache::use() const {
  absl::ReaderMutexLock lock(&mutex_);
  return {static_cast<int64_t>(entries_.size()), bytes_, hits_, misses_};
}

}  // namespace mercer::server
