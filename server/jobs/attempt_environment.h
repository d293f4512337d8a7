// What all attempts of a manager share, and what it is made with.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <string>

#include "absl/time/time.h"

#include "core/base/memory/shared_cache.h"
#include "core/base/process/live_value.h"
#include "server/blobs/blob_store.h"
#include "server/blobs/disk_guard.h"
#include "server/jobs/data/dataset_cache.h"
#include "server/jobs/data/job_scratch.h"
#include "server/jobs/executor.h"
#include "server/jobs/job_observer.h"
#include "server/jobs/job_planner.h"
#include "server/jobs/job_work.h"
#include "server/jobs/kept_plans.h"
#include "server/jobs/record/clock.h"
#include "server/jobs/upkeep/crash_notes.h"
#include "server/storage/storage.h"

namespace spdlog {
class logger;
}  // namespace spdlog

namespace mercer::server {

struct JobManagerOptions {
  std::string host;          // recorded with attempts
  std::string code_version;  // recorded with checkpoints and models; a checkpoint of another
                             // version starts again
  int num_workers = 2;       // jobs that run at the same time, >= 1
  int64_t memory_budget_bytes = int64_t{4} << 30;  // for the estimates of all running jobs together
  // The largest budget of all servers that share the storage; 0: there is no other. What exceeds this server's and not that one is
  // accepted here and left to the others.
  LiveValue<int64_t> largest_budget_bytes = int64_t{0};
  int64_t cache_bytes = int64_t{256} << 20;  // shared by runs, for kernels and the like
  // An existing folder for tables that are too large for memory; see job_scratch.h. Empty: all are in memory.
  std::string scratch_folder;
  int64_t least_scratch_bytes = int64_t{64} << 20;  // tables of no more are never written there
  absl::Duration checkpoint_interval = absl::Seconds(5);
  absl::Duration event_interval =
      absl::Milliseconds(250);  // progress events of one job are at least this far apart
  // Progress of an attempt's first moments waits for their end, or for the end of an attempt that takes no longer: see
  // progress_recorder.h. Without progress afterwards housekeeping writes it.
  absl::Duration quiet_start = absl::Milliseconds(20);
  absl::Duration lease_duration = absl::Seconds(30);
  // So many attempts of a job may be lost with the process for an unknown reason, and as many fail for
  // reasons of the server (see retry_policy.h), without a new checkpoint; the job then fails (see
  // orphans.h). Raise it where machines are taken away often.
  LiveValue<int> max_lost_attempts = 10;
  LiveValue<QueueLimits> queue_limits = QueueLimits();
  LiveValue<int64_t> max_running_jobs_per_caller = int64_t{0};  // 0: no limit
  // A thread renews leases and writes progress that was held back. Tests turn it off and call
  // RunHousekeeping.
  bool housekeeping_thread = true;
};

// All must outlive the manager.
struct JobManagerDependencies {
  Storage* storage = nullptr;
  BlobStore* blobs = nullptr;
  const JobPlanner* planner = nullptr;
  LearnerLookup find_learner;
  Clock* clock = nullptr;
  // Of the kinds that are no trainings. With any, one worker more than num_workers takes jobs of these kinds alone, so that
  // they do not wait for the end of trainings that have all others.
  std::map<JobKind, JobWorkMaker> other_works = {};
  const DiskGuard* disk = nullptr;    // may be null: jobs are taken however full the disk is
  DiskReserve* reserve = nullptr;     // may be null: on a full disk no job that is left is deleted
  CrashNotes* crash_notes = nullptr;  // may be null: a crash of the process is blamed on no job
  JobObserver* observer = nullptr;    // may be null; told of the time that attempts take
  std::shared_ptr<spdlog::logger> log;  // may be null
};

// Outlives the attempts.
struct AttemptEnvironment {
  JobManagerOptions options;
  JobManagerDependencies dependencies;
  std::unique_ptr<DatasetCache> datasets = nullptr;
  std::shared_ptr<SharedCache> cache = nullptr;
  std::unique_ptr<JobScratch> scratch = nullptr;
  // Of files, beside the threads that train.
  std::unique_ptr<Executor> writers = nullptr;
  std::unique_ptr<KeptPlans> plans = nullptr;  // of jobs that wait
};

}  // namespace mercer::server
