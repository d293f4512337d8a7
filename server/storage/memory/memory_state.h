// The tables of the memory implementation, and what several of its stores do with them.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "absl/base/thread_annotations.h"
#include "absl/status/statusor.h"
#include "absl/synchronization/mutex.h"

#include "server/storage/job_store.h"
#include "server/storage/model_store.h"
#include "server/storage/page_token.h"
#include "server/storage/records.h"

namespace mercer::server {

struct MemoryDataset {
  int64_t number = 0;
  DatasetRecord record;
};

struct MemoryJob {
  JobRecord record;
  std::string request_digest;
  std::vector<EventRecord> events;
  std::vector<AttemptRecord> attempts;
  std::optional<CheckpointRecord> checkpoint;
};

// A request_id of ModelStore::MoveAlias.
struct MemoryMove {
  std::string digest;
  AliasRecord answer;
};

struct MemoryModel {
  ModelRecord record;  // newest_version and num_versions are counted when read
  int64_t next_version = 1;
  std::map<int64_t, VersionRecord> versions;                      // without `aliases`
  std::map<std::string, std::vector<AliasChange>> alias_changes;  // by alias, oldest first
};

struct MemoryState {
  absl::Mutex mutex;
  std::map<std::string, MemoryDataset> datasets ABSL_GUARDED_BY(mutex);
  std::map<std::string, MemoryJob> jobs ABSL_GUARDED_BY(mutex);       // by id
  std::map<int64_t, std::string> job_ids ABSL_GUARDED_BY(mutex);      // by number
  std::map<std::string, int64_t> queue_turns ABSL_GUARDED_BY(mutex);  // by caller: its last claim
  int64_t last_turn ABSL_GUARDED_BY(mutex) = 0;
  std::map<std::string, MemoryModel> models ABSL_GUARDED_BY(mutex);
  // By caller and request_id.
  std::map<std::pair<std::string, std::string>, MemoryMove> moves ABSL_GUARDED_BY(mutex);
  int64_t last_number ABSL_GUARDED_BY(mutex) = 0;
};

// The aliases of a version, or with 0 of all versions; sorted.
std::vector<std::string> AliasesOf(const MemoryModel& model, int64_t version);
// Deletes the versions that are not among the newest `keep_newest` (0: none) and have no alias; with
// `dry_run` only tells them.
DeletedVersions DropOldVersions(MemoryModel& model, int64_t keep_newest, bool dry_run);

// Whether all of `wanted` are there with these values.
bool HoldsLabels(const Labels& labels, const Labels& wanted);

// Appends to the job's log; answers the events as stored.
std::vector<EventRecord> AppendMemoryEvents(MemoryJob& job, const std::vector<EventDraft>& events,
                                            absl::Time now);

// The job that the lease holds, else null.
MemoryJob* FindLeased(std::map<std::string, MemoryJob>& jobs, const Lease& lease);

// One page of `items` (key, value), which are in the order of the list.
template <typename Key, typename T>
Page<T> CutPage(std::vector<std::pair<Key, T>> items, int size, const std::string& query) {
  Page<T> page;
  for (size_t i = 0; i < items.size(); ++i) {
    if (static_cast<int>(i) == size) {
      page.next_token = MakePageToken(query, items[i - 1].first);
      break;
    }
    page.items.push_back(std::move(items[i].second));
  }
  return page;
}

}  // namespace mercer::server
