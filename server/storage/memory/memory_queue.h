// The order of the queue and its limits (job_store.h), over the tables in memory.
#pragma once

#include <cstdint>
#include <map>
#include <string>

#include "absl/status/status.h"
#include "absl/time/time.h"

#include "server/storage/memory/memory_state.h"

namespace mercer::server {

// Errors: kResourceExhausted (QUOTA_EXCEEDED).
absl::Status CheckMemoryQuota(const std::map<std::string, MemoryJob>& jobs, const NewJob& job);

// The head of the queue, whether it fits or not; null if there is none. Jobs whose time has come become ready.
MemoryJob* FindMemoryHead(std::map<std::string, MemoryJob>& jobs,
                          const std::map<std::string, int64_t>& turns, const ClaimRequest& request);

absl::Time FindMemoryReadyTime(const std::map<std::string, MemoryJob>& jobs);

}  // namespace mercer::server
