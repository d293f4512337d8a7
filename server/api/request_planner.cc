#include "server/api/request_planner.h"

#include "core/base/status_macros.h"
#include "server/api/model_translator.h"
#include "server/api/recipe_translator.h"

namespace mercer::server {

absl::StatusOr<JobPlan> RequestPlanner::Plan(std::string_view request) const {
  MERCER_ASSIGN_OR_RETURN(const v1::TrainRequest message, DecodeTrainRequest(request));
  return ReadTrainRequest(message, find_learner_, default_threads_);
}

std::string RequestPlanner::SummarizeModel(const VersionContext& context,
                                           const Model& model) const {
  return EncodeModelSummary(context, model);
}

}  // namespace mercer::server
