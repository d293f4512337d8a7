#include "server/storage/memory/memory_state.h"

#include <algorithm>
#include <set>

namespace mercer::server {

std::vector<EventRecord> AppendMemoryEvents(MemoryJob& job, const std::vector<EventDraft>& events,
                                            absl::Time now) {
  std::vector<EventRecord> records;
  for (const EventDraft& event : events) {
    job.events.push_back({static_cast<int64_t>(job.events.size()) + 1, job.record.attempt,
                          event.iteration, now, event.payload});
    job.record.last_event = job.events.back();
    records.push_back(job.events.back());
  }
  return records;
}

MemoryJob* FindLeased(std::map<std::string, MemoryJob>& jobs, const Lease& lease) {
  const auto found = jobs.find(lease.job_id);
  if (found == jobs.end() || lease.worker.empty() ||
      found->second.record.lease_worker != lease.worker ||
      found->second.record.epoch != lease.epoch) {
    return nullptr;
  }
  return &found->second;
}

std::vector<std::string> AliasesOf(const MemoryModel& model, int64_t version) {
  std::vector<std::string> aliases;
  for (const auto& [alias, changes] : model.alias_changes) {
    const int64_t target = changes.back().to;
    if (target != 0 && (version == 0 || target == version)) {
      aliases.push_back(alias);
    }
  }
  return aliases;
}

DeletedVersions DropOldVersions(MemoryModel& model, int64_t keep_newest, bool dry_run) {
  DeletedVersions deleted;
  const int64_t num_old =
      keep_newest == 0 ? 0 : static_cast<int64_t>(model.versions.size()) - keep_newest;
  std::set<BlobDigest> blobs;
  auto entry = model.versions.begin();
  for (int64_t i = 0; i < num_old; ++i) {
    const auto old = entry++;
    if (!AliasesOf(model, old->first).empty()) {
      continue;
    }
    deleted.versions.push_back(old->first);
    blobs.insert({old->second.model_blob, old->second.witness_blob});
    if (!dry_run) {
      model.versions.erase(old);
    }
  }
  blobs.erase("");
  deleted.released_blobs.assign(blobs.begin(), blobs.end());
  return deleted;
}

bool HoldsLabels(const Labels& labels, const Labels& wanted) {
  return std::all_of(wanted.begin(), wanted.end(), [&](const auto& entry) {
    const auto found = labels.find(entry.first);
    return found != labels.end() && found->second == entry.second;
  });
}

}  // namespace mercer::server
