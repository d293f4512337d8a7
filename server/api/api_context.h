// What all handlers share.
#pragma once

#include <string>
#include <vector>

#include "core/training/contract/learner.h"
#include "mercer/v1/server_service.pb.h"
#include "server/api/request_planner.h"
#include "server/jobs/job_manager.h"
#include "server/prediction/model_jobs.h"
#include "server/uploads/dataset_context.h"
#include "server/watching/job_feed.h"
#include "server/watching/progress_hub.h"

namespace mercer::server {

// The parts that the API is built on; all outlive it.
struct ApiContext : DatasetContext {
  JobManager* jobs = nullptr;
  const RequestPlanner* planner = nullptr;
  ProgressHub* hub = nullptr;
  // Of calls that wait for jobs, which are told at once; watchers are told in the background.
  ProgressHub* call_hub = nullptr;
  JobFeed* feed = nullptr;
  const ModelJobContext* model_jobs = nullptr;
  std::vector<const LearnerEntry*> learners;
  v1::ServerInfo about;       // what stays as long as the server runs
  std::string backup_folder;  // for the copy of the database while a backup is made; exists
};

}  // namespace mercer::server
