// What the jobs ask of the API: requests are stored TrainRequest messages.
#pragma once

#include <string>
#include <string_view>

#include "server/jobs/job_planner.h"

namespace mercer::server {

class RequestPlanner final : public JobPlanner {
 public:
  RequestPlanner(LearnerLookup find_learner, int default_threads)
      : find_learner_(std::move(find_learner)), default_threads_(default_threads) {}

  absl::StatusOr<JobPlan> Plan(std::string_view request) const override;
  absl::StatusOr<std::string> Complete(std::string_view request, const Dataset& dataset,
                                       const RunContext& context) const override;
  std::string SummarizeModel(const VersionContext& context, const Model& model) const override;

 private:
  LearnerLookup find_learner_;
  int default_threads_;
};

}  // namespace mercer::server
