#include "server/app/server_info.h"

#include <thread>

#include "absl/time/clock.h"

#include "server/translation/times.h"

namespace mercer::server {

v1::ServerInfo MakeServerInfo(const ServerOptions& options,
                              const std::vector<const LearnerEntry*>& learners) {
  v1::ServerInfo info;
  info.set_version(kCodeVersion);
  SetTimestamp(absl::FromUnixMillis(absl::ToUnixMillis(absl::Now())), info.mutable_started());
  info.set_tokens(!options.access.tokens.empty());
  info.set_learners(static_cast<int>(learners.size()));
  for (const LearnerEntry* learner : learners) {
    info.add_learner_names(learner->name);
  }
  info.set_code_version(kCodeVersion);
  info.mutable_limits()->set_memory_budget_bytes(options.memory_budget_bytes);
  info.set_processors(static_cast<int>(std::thread::hardware_concurrency()));
  info.set_workers(options.workers);
  info.set_threads_per_job(options.threads);
  return info;
}

}  // namespace mercer::server
