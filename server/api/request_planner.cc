#include "server/api/request_planner.h"

#include <google/protobuf/descriptor.h>
#include <google/protobuf/message.h>

#include "core/base/status/status_macros.h"
#include "core/training/recipe/default_kernels.h"
#include "core/training/recipe/recipe_defaults.h"
#include "server/translation/kernel_translator.h"
#include "server/translation/model_translator.h"
#include "server/translation/recipe_translator.h"
#include "server/translation/request_paths.h"

namespace mercer::server {

namespace {

// Writes the kernels of a learner that takes them into its options.
void WriteKernels(const LearnerEntry& entry, const TrainingRecipe& recipe, const Dataset& dataset,
                  v1::TrainRequest& message) {
  v1::Learner& learner = *message.mutable_learner();
  google::protobuf::Message& options =
      *learner.GetReflection()->MutableMessage(&learner, ChosenField(learner));
  const google::protobuf::FieldDescriptor* field =
      options.GetDescriptor()->FindFieldByName("kernels");
  if (field == nullptr || !entry.uses_kernels) {
    return;
  }
  const google::protobuf::Reflection& reflection = *options.GetReflection();
  const int given = reflection.FieldSize(options, field);
  for (int i = 0; i < given; ++i) {
    CompleteKernelGrid(
        static_cast<v1::KernelGrid&>(*reflection.MutableRepeatedMessage(&options, field, i)));
  }
  if (given == 0) {
    for (const KernelGrid& grid : DefaultKernels(entry, recipe, dataset)) {
      reflection.AddMessage(&options, field)->CopyFrom(WriteKernelGrid(grid));
    }
  }
}

}  // namespace

absl::StatusOr<JobPlan> RequestPlanner::Translate(
    const v1::TrainRequest& request, absl::Span<const LearnerEntry* const> learners) const {
  ++translations_;
  return ReadTrainRequest(request, find_learner_, default_threads_, learners);
}

absl::StatusOr<JobPlan> RequestPlanner::Plan(std::string_view request) const {
  MERCER_ASSIGN_OR_RETURN(const v1::TrainRequest message, DecodeTrainRequest(request));
  return Translate(message);
}

absl::StatusOr<CompleteRequest> RequestPlanner::Complete(std::string_view request,
                                                         const JobPlan& plan,
                                                         const Dataset& dataset,
                                                         const RunContext& context) const {
  MERCER_ASSIGN_OR_RETURN(v1::TrainRequest message, DecodeTrainRequest(request));
  const LearnerEntry* const entry = find_learner_(plan.recipe.learner);
  const bool kind_is_open = message.target_kind() == v1::TARGET_KIND_UNSPECIFIED;
  MERCER_ASSIGN_OR_RETURN(CompletedRecipe completed,
                          CompleteRecipe(*entry, plan.recipe, kind_is_open, dataset, context));
  WriteDecisions(completed, message);
  WriteKernels(*entry, completed.recipe, dataset, message);
  CompleteRequest complete{EncodeTrainRequest(message), plan};
  complete.plan.recipe = std::move(completed.recipe);
  MERCER_RETURN_IF_ERROR(ReadDecisions(message, *entry, complete.plan.recipe));
  return complete;
}

std::string RequestPlanner::SummarizeModel(const VersionContext& context,
                                           const Model& model) const {
  return EncodeModelSummary(context, model);
}

}  // namespace mercer::server
