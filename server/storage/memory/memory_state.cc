#include "server/storage/memory/memory_state.h"

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

}  // namespace mercer::server
