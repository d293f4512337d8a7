#include "server/jobs/job_admission.h"

#include <algorithm>
#include <optional>
#include <random>
#include <utility>

#include "absl/strings/str_cat.h"

#include "core/base/status/byte_count.h"
#include "core/base/status/errors.h"
#include "core/base/status/status_macros.h"
#include "core/training/recipe/recipe_checks.h"
#include "server/digest/sha256.h"
#include "server/jobs/data/training_data.h"
#include "server/jobs/record/job_errors.h"
#include "server/jobs/record/job_event.h"
#include "server/storage/refusals.h"

namespace mercer::server {

absl::StatusOr<const LearnerEntry*> ValidatePlan(const LearnerLookup& find_learner,
                                                 const JobPlan& plan) {
  const LearnerEntry* entry = find_learner(plan.recipe.learner);
  if (entry == nullptr) {
    return WithReason(
        absl::InvalidArgumentError(absl::StrCat("there is no learner '", plan.recipe.learner, "'")),
        "UNKNOWN_LEARNER", {{"learner", plan.recipe.learner}});
  }
  MERCER_RETURN_IF_ERROR(ValidateRecipe(*entry, plan.recipe));
  return entry;
}

namespace {

// What is known of the data before any row of it is joined.
absl::StatusOr<std::shared_ptr<const Dataset>> OpenShape(const AttemptEnvironment& environment,
                                                         const JobPlan& plan) {
  MERCER_ASSIGN_OR_RETURN(const OpenedData data, OpenData(*environment.datasets, plan.dataset_ids));
  for (size_t i = 0; i < data.records.size(); ++i) {
    if (data.records[i].hidden) {
      return DatasetNotFound(plan.dataset_ids[i]);
    }
  }
  return ShapeOfContents(data.contents);
}

size_t BytesOfValues(const Dataset& dataset) {
  ByteCount bytes(0);
  for (const FeatureBlock& block : dataset.blocks) {
    const size_t values = block.is_sparse ? block.sparse.values.size()
                                          : static_cast<size_t>(block.values.view().size());
    bytes = bytes + ByteCount(values) * ByteCount(sizeof(double));
  }
  return bytes.value();
}

// Whether there is a server that has the memory. Errors: kResourceExhausted (JOB_TOO_LARGE).
absl::Status CheckFits(const JobManagerOptions& options, int64_t bytes) {
  const int64_t largest =
      std::max<int64_t>(options.memory_budget_bytes, options.largest_budget_bytes);
  return bytes <= largest ? absl::OkStatus() : JobTooLarge(bytes, largest);
}

}  // namespace

absl::StatusOr<CompleteRequest> MakeComplete(const AttemptEnvironment& environment,
                                             std::string_view request, const JobPlan& plan,
                                             const RunContext& context) {
  MERCER_RETURN_IF_ERROR(ValidatePlan(environment.dependencies.find_learner, plan).status());
  MERCER_ASSIGN_OR_RETURN(const std::shared_ptr<const Dataset> shape, OpenShape(environment, plan));
  return environment.dependencies.planner->Complete(request, plan, *shape, context);
}

absl::StatusOr<const JobPlan*> PlanOf(const AttemptEnvironment& environment,
                                      const JobSubmission& submission,
                                      std::optional<JobPlan>& asked) {
  if (submission.plan != nullptr) {
    return submission.plan.get();
  }
  MERCER_ASSIGN_OR_RETURN(asked, environment.dependencies.planner->Plan(submission.request));
  return &*asked;
}

absl::Status CheckJobData(const AttemptEnvironment& environment, const JobPlan& plan,
                          const RunContext& context) {
  MERCER_ASSIGN_OR_RETURN(const LearnerEntry* entry,
                          ValidatePlan(environment.dependencies.find_learner, plan));
  MERCER_ASSIGN_OR_RETURN(const std::shared_ptr<const Dataset> shape, OpenShape(environment, plan));
  MERCER_RETURN_IF_ERROR(CheckNamedColumns(plan.recipe, *shape));
  MERCER_RETURN_IF_ERROR(CheckRows(*entry, plan.recipe, *shape, context).status());
  const bool has_values = plan.dataset_ids.size() == 1;
  if (has_values && BytesOfValues(*shape) <= kMostCheckedBytes) {
    MERCER_RETURN_IF_ERROR(CheckMissingValues(plan.recipe, *shape, context));
  }
  return context.CheckCancelled();
}

absl::StatusOr<JobEstimate> EstimateJob(const AttemptEnvironment& environment, const JobPlan& plan,
                                        const RunContext& context) {
  MERCER_ASSIGN_OR_RETURN(const LearnerEntry* entry,
                          ValidatePlan(environment.dependencies.find_learner, plan));
  MERCER_ASSIGN_OR_RETURN(const std::shared_ptr<const Dataset> shape, OpenShape(environment, plan));
  MERCER_ASSIGN_OR_RETURN(
      const ScratchChoice choice,
      environment.scratch->Choose(*entry, plan.recipe, *shape,
                                  environment.options.memory_budget_bytes, context));
  return JobEstimate{choice.memory_bytes};
}

absl::StatusOr<absl::Duration> EstimateJobTime(const AttemptEnvironment& environment,
                                               const JobPlan& plan,
                                               const RunningConditions& conditions,
                                               const RunContext& context) {
  MERCER_ASSIGN_OR_RETURN(const LearnerEntry* entry,
                          ValidatePlan(environment.dependencies.find_learner, plan));
  MERCER_ASSIGN_OR_RETURN(const OpenedData data, OpenData(*environment.datasets, plan.dataset_ids));
  MERCER_ASSIGN_OR_RETURN(const std::shared_ptr<const Dataset> shape,
                          ShapeOfContents(data.contents));
  MERCER_ASSIGN_OR_RETURN(const double seconds,
                          EstimateRecipeSeconds(*entry, plan.recipe, *shape, conditions, context));
  return absl::Seconds(seconds);
}

absl::StatusOr<NewJob> AdmitTraining(const AttemptEnvironment& environment,
                                     const JobSubmission& submission, const JobPlan& plan,
                                     const RunContext& context) {
  MERCER_ASSIGN_OR_RETURN(CompleteRequest complete,
                          MakeComplete(environment, submission.request, plan, context));
  MERCER_ASSIGN_OR_RETURN(const JobEstimate estimate,
                          EstimateJob(environment, complete.plan, context));
  MERCER_RETURN_IF_ERROR(CheckFits(environment.options, estimate.memory_bytes));
  MERCER_RETURN_IF_ERROR(CheckJobData(environment, complete.plan, context));
  NewJob job;
  job.id = MakeJobId();
  job.request = complete.request;
  job.learner = complete.plan.recipe.learner;
  job.dataset_ids = complete.plan.dataset_ids;
  job.model_name =
      submission.model_name.empty() ? absl::StrCat("model-", job.id) : submission.model_name;
  job.memory_bytes = estimate.memory_bytes;
  environment.plans->Keep(job.id, std::move(complete));  // before a worker may claim it
  return job;
}

absl::StatusOr<NewJob> AdmitOther(const AttemptEnvironment& environment, JobAdmitter admit) {
  MERCER_ASSIGN_OR_RETURN(AdmittedJob admitted, admit());
  MERCER_RETURN_IF_ERROR(CheckFits(environment.options, admitted.memory_bytes));
  NewJob job;
  job.id = MakeJobId();
  job.request = std::move(admitted.request);
  job.dataset_ids = std::move(admitted.dataset_ids);
  job.memory_bytes = admitted.memory_bytes;
  return job;
}

absl::StatusOr<JobCost> EstimateCost(const AttemptEnvironment& environment, MachineRates& rates,
                                     const JobSubmission& submission, const RunContext& context) {
  std::optional<JobPlan> kept;
  MERCER_ASSIGN_OR_RETURN(const JobPlan* asked, PlanOf(environment, submission, kept));
  MERCER_ASSIGN_OR_RETURN(CompleteRequest complete,
                          MakeComplete(environment, submission.request, *asked, context));
  const JobPlan& plan = complete.plan;
  MERCER_ASSIGN_OR_RETURN(const JobEstimate estimate, EstimateJob(environment, plan, context));
  MERCER_RETURN_IF_ERROR(CheckJobData(environment, plan, context));
  const RunningConditions conditions{rates.Get(), plan.num_threads,
                                     static_cast<size_t>(environment.options.cache_bytes)};
  MERCER_ASSIGN_OR_RETURN(const absl::Duration time,
                          EstimateJobTime(environment, plan, conditions, context));
  return JobCost{estimate.memory_bytes, time, environment.options.memory_budget_bytes,
                 std::move(complete.request)};
}

absl::StatusOr<CreatedJob> SubmitJob(const AttemptEnvironment& environment,
                                     const JobSubmission& submission,
                                     absl::FunctionRef<bool()> draining,
                                     absl::FunctionRef<absl::StatusOr<NewJob>()> admit) {
  JobStore& jobs = environment.dependencies.storage->jobs();
  // Requests of other kinds may be the same bytes.
  const std::string digest =
      submission.kind == JobKind::kTraining
          ? Sha256Hex(submission.request)
          : Sha256Hex(absl::StrCat(static_cast<int>(submission.kind), "\n", submission.request));
  if (!submission.request_id.empty()) {
    // A retry gets its job also when the data set is gone by now or the server is draining.
    MERCER_ASSIGN_OR_RETURN(std::optional<JobRecord> earlier,
                            jobs.FindRequest(submission.caller, submission.request_id, digest));
    if (earlier.has_value()) {
      return CreatedJob{*std::move(earlier), false};
    }
  }
  if (draining()) {
    return ServerDraining();
  }
  if (environment.dependencies.disk != nullptr) {
    MERCER_RETURN_IF_ERROR(environment.dependencies.disk->CheckRoom());
  }
  MERCER_ASSIGN_OR_RETURN(NewJob job, admit());
  job.kind = submission.kind;
  job.limits = environment.options.queue_limits;
  job.caller = submission.caller;
  job.trace_id = submission.trace_id;
  job.priority = submission.priority;
  job.request_id = submission.request_id;
  job.request_digest = digest;
  job.labels = submission.labels;
  job.now = environment.dependencies.clock->Now();
  job.event = QueuedEvent(submission.trace_id);
  job.check = submission.check;
  const std::string id = job.id;
  absl::StatusOr<CreatedJob> created = jobs.CreateJob(std::move(job));
  if (!created.ok() || !created->created) {
    environment.plans->Take(id, "");
  }
  return created;
}

std::string MakeJobId() {
  constexpr char kAlphabet[] = "0123456789abcdefghjkmnpqrstvwxyz";
  std::random_device device;
  std::string id;
  for (int i = 0; i < 16; ++i) {
    id.push_back(kAlphabet[device() % 32]);
  }
  return id;
}

}  // namespace mercer::server
