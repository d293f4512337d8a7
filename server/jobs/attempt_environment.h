// What all attempts of a manager share.
#pragma once

#include <memory>

#include "core/base/memory/shared_cache.h"
#include "server/jobs/data/dataset_cache.h"
#include "server/jobs/data/job_scratch.h"
#include "server/jobs/executor.h"
#include "server/jobs/job_manager.h"
#include "server/jobs/kept_plans.h"

namespace mercer::server {

// Outlives the attempts.
struct AttemptEnvironment {
  JobManagerOptions options;
  JobManagerDependencies dependencies;
  DatasetCache* datasets = nullptr;
  std::shared_ptr<SharedCache> cache = nullptr;
  std::unique_ptr<JobScratch> scratch = nullptr;
  // Of files, beside the threads that train.
  std::unique_ptr<Executor> writers = nullptr;
  std::unique_ptr<KeptPlans> plans = nullptr;  // of jobs that wait
};

}  // namespace mercer::server
