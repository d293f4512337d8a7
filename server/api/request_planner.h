// What the jobs ask of the API: requests are stored TrainRequest messages.
#pragma once

#include <atomic>
#include <cstdint>
#include <string>
#include <string_view>
#include <utility>

#include "absl/types/span.h"

#include "mercer/v1/training.pb.h"
#include "server/jobs/job_planner.h"

namespace mercer::server {

class RequestPlanner final : public JobPlanner {
 public:
  RequestPlanner(LearnerLookup find_learner, int default_threads)
      : find_learner_(std::move(find_learner)), default_threads_(default_threads) {}

  // As ReadTrainRequest. Whoever has the plan hands it on: of a large request this is work.
  absl::StatusOr<JobPlan> Translate(const v1::TrainRequest& request,
                                    absl::Span<const LearnerEntry* const> learners = {}) const;
  // Calls of Translate so far, those of Plan among them.
  int64_t translations() const { return translations_; }

  absl::StatusOr<JobPlan> Plan(std::string_view request) const override;
  absl::StatusOr<CompleteRequest> Complete(std::string_view request, const JobPlan& plan,
                                           const Dataset& dataset,
                                           const RunContext& context) const override;
  std::string SummarizeModel(const VersionContext& context, const Model& model) const override;

 private:
  const LearnerLookup find_learner_;
  const int default_threads_;
  mutable std::atomic<int64_t> translations_{0};
};

}  // namespace mercer::server
