#include "server/storage/memory/memory_storage.h"

#include <algorithm>
#include <functional>
#include <limits>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"

#include "core/base/status/status_macros.h"
#include "server/storage/memory/memory_job_store.h"
#include "server/storage/memory/memory_model_store.h"
#include "server/storage/memory/memory_state.h"
#include "server/storage/page_token.h"
#include "server/storage/refusals.h"

namespace mercer::server {
namespace {

class MemoryDatasetStore final : public DatasetStore {
 public:
  explicit MemoryDatasetStore(std::shared_ptr<MemoryState> state) : state_(std::move(state)) {}

  void CreateDataset(DatasetRecord dataset, Done<DatasetRecord> done) override {
    done(Create(dataset));
  }
  void DeleteDataset(std::string id, OwnerCheck check, Done<DatasetRecord> done) override {
    done(Delete(id, /*only_hidden=*/false, check));
  }

  void HideDataset(std::string id, OwnerCheck check, Done<DatasetRecord> done) override {
    done(Hide(id, check));
  }

  void DeleteHiddenDataset(std::string id, Done<DatasetRecord> done) override {
    done(Delete(id, /*only_hidden=*/true, nullptr));
  }

  absl::StatusOr<std::vector<std::string>> UnusedHiddenDatasets() override {
    absl::MutexLock lock(&state_->mutex);
    std::map<int64_t, std::string> hidden;
    for (const auto& [id, dataset] : state_->datasets) {
      if (dataset.record.hidden && !OpenJobWith(id).has_value()) {
        hidden[dataset.number] = id;
      }
    }
    std::vector<std::string> ids;
    for (const auto& [number, id] : hidden) {
      ids.push_back(id);
    }
    return ids;
  }

  absl::StatusOr<DatasetRecord> GetDataset(const std::string& id) override {
    absl::MutexLock lock(&state_->mutex);
    const auto found = state_->datasets.find(id);
    if (found == state_->datasets.end()) {
      return DatasetNotFound(id);
    }
    return found->second.record;
  }

  absl::StatusOr<Page<DatasetRecord>> ListDatasets(const PageRequest& page) override {
    MERCER_ASSIGN_OR_RETURN(const int size, EffectivePageSize(page));
    MERCER_ASSIGN_OR_RETURN(
        const int64_t before,
        ReadPageToken("datasets", page.token, std::numeric_limits<int64_t>::max()));
    absl::MutexLock lock(&state_->mutex);
    std::map<int64_t, DatasetRecord, std::greater<>> newest_first;
    for (const auto& [id, dataset] : state_->datasets) {
      if (dataset.number < before && !dataset.record.hidden) {
        newest_first.emplace(dataset.number, dataset.record);
      }
    }
    return CutPage(
        std::vector<std::pair<int64_t, DatasetRecord>>(newest_first.begin(), newest_first.end()),
        size, "datasets");
  }

  absl::StatusOr<int64_t> StoredBytes(const BlobDigest& except) override {
    absl::MutexLock lock(&state_->mutex);
    std::map<BlobDigest, int64_t> sizes;
    for (const auto& [id, dataset] : state_->datasets) {
      sizes[dataset.record.blob] = dataset.record.size_bytes;
    }
    sizes.erase(except);
    int64_t sum = 0;
    for (const auto& [blob, size] : sizes) {
      sum += size;
    }
    return sum;
  }

 private:
  absl::StatusOr<DatasetRecord> Create(const DatasetRecord& dataset) {
    absl::MutexLock lock(&state_->mutex);
    if (state_->datasets.count(dataset.id) > 0) {
      return DatasetExists(dataset.id);
    }
    state_->datasets[dataset.id] = {++state_->last_number, dataset};
    return dataset;
  }

  absl::StatusOr<DatasetRecord> Hide(const std::string& id, const OwnerCheck& check) {
    absl::MutexLock lock(&state_->mutex);
    const auto found = state_->datasets.find(id);
    if (found == state_->datasets.end()) {
      return DatasetNotFound(id);
    }
    MERCER_RETURN_IF_ERROR(CheckOwner(check, found->second.record.owner));
    found->second.record.hidden = true;
    return found->second.record;
  }

  // A job that is not final and needs the data set.
  std::optional<std::string> OpenJobWith(const std::string& id) const
      ABSL_EXCLUSIVE_LOCKS_REQUIRED(state_->mutex) {
    for (const auto& [job_id, job] : state_->jobs) {
      const std::vector<std::string>& used = job.record.dataset_ids;
      if (!IsFinal(job.record.state) && std::find(used.begin(), used.end(), id) != used.end()) {
        return job_id;
      }
    }
    return std::nullopt;
  }

  absl::StatusOr<DatasetRecord> Delete(const std::string& id, bool only_hidden,
                                       const OwnerCheck& check) {
    absl::MutexLock lock(&state_->mutex);
    const auto found = state_->datasets.find(id);
    if (found == state_->datasets.end() || (only_hidden && !found->second.record.hidden)) {
      return DatasetNotFound(id);
    }
    MERCER_RETURN_IF_ERROR(CheckOwner(check, found->second.record.owner));
    if (const std::optional<std::string> job = OpenJobWith(id); job.has_value()) {
      return DatasetInUse(id, *job);
    }
    DatasetRecord record = std::move(found->second.record);
    state_->datasets.erase(found);
    return record;
  }

  const std::shared_ptr<MemoryState> state_;
};

class MemoryEventLog final : public EventLog {
 public:
  explicit MemoryEventLog(std::shared_ptr<MemoryState> state) : state_(std::move(state)) {}

  void Append(Lease lease, std::vector<EventDraft> events, absl::Time now,
              Done<std::vector<EventRecord>> done) override {
    absl::StatusOr<std::vector<EventRecord>> result = LeaseLost(lease);
    {
      absl::MutexLock lock(&state_->mutex);
      if (MemoryJob* job = FindLeased(state_->jobs, lease); job != nullptr) {
        result = AppendMemoryEvents(*job, events, now);
      }
    }
    done(std::move(result));
  }

  absl::StatusOr<std::vector<EventRecord>> Read(const std::string& job_id, int64_t after_sequence,
                                                int limit) override {
    absl::MutexLock lock(&state_->mutex);
    std::vector<EventRecord> records;
    const auto found = state_->jobs.find(job_id);
    if (found == state_->jobs.end()) {
      return records;
    }
    for (const EventRecord& event : found->second.events) {
      if (event.sequence > after_sequence && static_cast<int>(records.size()) < limit) {
        records.push_back(event);
      }
    }
    return records;
  }

 private:
  const std::shared_ptr<MemoryState> state_;
};

class MemoryStorage final : public Storage {
 public:
  DatasetStore& datasets() override { return datasets_; }
  JobStore& jobs() override { return jobs_; }
  EventLog& events() override { return events_; }
  ModelStore& models() override { return models_; }

  absl::StatusOr<bool> IsBlobReferenced(const BlobDigest& blob) override {
    MERCER_ASSIGN_OR_RETURN(const std::vector<BlobDigest> blobs, ReferencedBlobs());
    return std::binary_search(blobs.begin(), blobs.end(), blob);
  }

  absl::StatusOr<std::vector<BlobDigest>> ReferencedBlobs() override {
    absl::MutexLock lock(&state_->mutex);
    std::set<BlobDigest> blobs;
    for (const auto& [id, dataset] : state_->datasets) {
      blobs.insert(dataset.record.blob);
    }
    for (const auto& [id, job] : state_->jobs) {
      if (job.checkpoint.has_value()) {
        blobs.insert(job.checkpoint->blob);
      }
    }
    for (const auto& [name, model] : state_->models) {
      for (const auto& [number, version] : model.versions) {
        blobs.insert({version.model_blob, version.witness_blob});
      }
    }
    blobs.erase("");
    return std::vector<BlobDigest>(blobs.begin(), blobs.end());
  }

  int64_t SnapshotBytes() override { return 0; }
  absl::StatusOr<std::vector<BlobDigest>> WriteSnapshot(
      const std::string& /*path*/, const std::function<bool()>& /*is_cancelled*/) override {
    return absl::UnimplementedError("this storage is kept in no file");
  }

 private:
  const std::shared_ptr<MemoryState> state_ = std::make_shared<MemoryState>();
  MemoryDatasetStore datasets_{state_};
  MemoryJobStore jobs_{state_};
  MemoryEventLog events_{state_};
  MemoryModelStore models_{state_};
};

}  // namespace

std::unique_ptr<Storage> MakeMemoryStorage() { return std::make_unique<MemoryStorage>(); }

}  // namespace mercer::server
