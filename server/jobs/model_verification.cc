#include "server/jobs/model_verification.h"

#include <memory>

#include "absl/strings/str_cat.h"

#include "core/base/errors.h"
#include "core/base/status_macros.h"
#include "server/jobs/job_admission.h"

namespace mercer::server {
namespace {

absl::StatusOr<std::shared_ptr<const Dataset>> OpenData(const AttemptEnvironment& environment,
                                                        const BlobDigest& blob) {
  absl::StatusOr<std::shared_ptr<const Dataset>> dataset = environment.datasets->OpenContent(blob);
  if (!absl::IsNotFound(dataset.status())) {
    return dataset;
  }
  MERCER_ASSIGN_OR_RETURN(const bool stored,
                          environment.dependencies.storage->IsBlobReferenced(blob));
  if (stored) {
    return BlobMissing(blob);
  }
  return WithReason(
      absl::FailedPreconditionError(absl::StrCat(
          "the data set that the model was trained on is deleted; upload it again: its stored form "
          "has the SHA-256 ",
          blob)),
      "DATASET_GONE", {{"digest", blob}});
}

}  // namespace

absl::StatusOr<Certificate> VerifyStoredModel(const AttemptEnvironment& environment,
                                              const StoredModel& stored,
                                              const MemoryKeeper& take_memory,
                                              const CancellationToken& cancellation) {
  const JobManagerDependencies& dependencies = environment.dependencies;
  MERCER_ASSIGN_OR_RETURN(const JobPlan plan, dependencies.planner->Plan(stored.request));
  const LearnerEntry* const entry = dependencies.find_learner(plan.recipe.learner);
  if (entry == nullptr) {
    return WithReason(absl::FailedPreconditionError(absl::StrCat(
                          "this version of the server has no learner '", plan.recipe.learner, "'")),
                      "UNKNOWN_LEARNER", {{"learner", plan.recipe.learner}});
  }
  MERCER_ASSIGN_OR_RETURN(const std::shared_ptr<const Dataset> dataset,
                          OpenData(environment, stored.dataset_blob));
  // A training verifies what it has found, so its estimate holds for that alone.
  MERCER_ASSIGN_OR_RETURN(const ScratchChoice choice,
                          environment.scratch->Choose(*entry, plan.recipe, *dataset,
                                                      environment.options.memory_budget_bytes));
  MERCER_ASSIGN_OR_RETURN(const std::shared_ptr<const void> memory,
                          take_memory(choice.memory_bytes));
  RunContext context(cancellation, plan.num_threads, environment.cache);
  context.set_scratch(choice.space);
  const RecipeRun run{entry, &plan.recipe, dataset.get(), stored.dataset_blob,
                      environment.options.code_version};
  return VerifyModel(run, *stored.model, *stored.witness, context);
}

}  // namespace mercer::server
