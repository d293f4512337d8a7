#include "server/jobs/model_verification.h"

#include <algorithm>
#include <memory>
#include <utility>

#include "absl/strings/str_cat.h"

#include "core/base/memory/shared_cache.h"
#include "core/base/status/errors.h"
#include "core/base/status/status_macros.h"
#include "server/jobs/data/training_data.h"
#include "server/storage/refusals.h"

namespace mercer::server {
namespace {

absl::StatusOr<std::shared_ptr<const Dataset>> OpenBlob(const AttemptEnvironment& environment,
                                                        const BlobDigest& blob, OpenedFor purpose,
                                                        const CancellationToken& cancellation) {
  DatasetCache& datasets = *environment.datasets;
  absl::StatusOr<std::shared_ptr<const Dataset>> dataset =
      purpose == OpenedFor::kShape ? datasets.OpenShape(blob)
                                   : datasets.OpenContent(blob, cancellation);
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

// What the outputs of one model share while it is verified. Nothing comes from the cache of the
// trainings: a certificate that is asked for later rests on the data alone. The estimate is that of
// a training, whose solver is not there: a quarter of it is taken for the cache.
std::shared_ptr<SharedCache> CacheOfVerification(int64_t most_bytes, int64_t estimate_bytes) {
  return std::make_shared<SharedCache>(
      static_cast<size_t>(std::min(most_bytes, estimate_bytes / 4)));
}

}  // namespace

absl::StatusOr<PreparedVerification> PrepareVerification(const AttemptEnvironment& environment,
                                                         const StoredModel& stored,
                                                         OpenedFor purpose,
                                                         const CancellationToken& cancellation) {
  const JobManagerDependencies& dependencies = environment.dependencies;
  PreparedVerification prepared;
  MERCER_ASSIGN_OR_RETURN(prepared.plan, dependencies.planner->Plan(stored.request));
  const JobPlan& plan = prepared.plan;
  prepared.entry = dependencies.find_learner(plan.recipe.learner);
  if (prepared.entry == nullptr) {
    return WithReason(absl::FailedPreconditionError(absl::StrCat(
                          "this version of the server has no learner '", plan.recipe.learner, "'")),
                      "UNKNOWN_LEARNER", {{"learner", plan.recipe.learner}});
  }
  const RunContext planning(cancellation, plan.num_threads, nullptr);
  if (stored.dataset_blobs.size() != plan.dataset_ids.size()) {
    return absl::DataLossError("the model's lineage does not name the data of its request");
  }
  for (size_t i = 0; i < stored.dataset_blobs.size(); ++i) {
    const BlobDigest& blob = stored.dataset_blobs[i];
    MERCER_ASSIGN_OR_RETURN(std::shared_ptr<const Dataset> rows,
                            OpenBlob(environment, blob, purpose, cancellation));
    prepared.contents.push_back({plan.dataset_ids[i], blob, std::move(rows)});
  }
  MERCER_ASSIGN_OR_RETURN(const std::shared_ptr<const Dataset> shape,
                          ShapeOfContents(prepared.contents));
  // A training verifies what it has found, so its estimate holds for that alone.
  MERCER_ASSIGN_OR_RETURN(prepared.choice, environment.scratch->Choose(
                                               *prepared.entry, plan.recipe, *shape,
                                               environment.options.memory_budget_bytes, planning));
  return prepared;
}

absl::StatusOr<Certificate> RunVerification(const AttemptEnvironment& environment,
                                            const StoredModel& stored,
                                            const PreparedVerification& prepared,
                                            const CancellationToken& cancellation,
                                            RunContext::StageCallback on_stage) {
  const ScratchChoice& choice = prepared.choice;
  RunContext context(cancellation, prepared.plan.num_threads,
                     CacheOfVerification(environment.options.cache_bytes, choice.memory_bytes));
  MERCER_ASSIGN_OR_RETURN(const TrainingData data, JoinContents(prepared.contents, context));
  context.set_scratch(choice.space);
  context.set_stage_callback(std::move(on_stage));
  const RecipeRun run{prepared.entry, &prepared.plan.recipe, data.rows.get(), data.digest,
                      environment.options.code_version};
  return VerifyModel(run, *stored.model, *stored.witness, context);
}

}  // namespace mercer::server
