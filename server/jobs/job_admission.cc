// From a request to the row that it becomes in the queue. What looks at rows ends with kCancelled soon after its context is.
#include <algorithm>
#include <utility>

#include "absl/strings/str_cat.h"

#include "core/base/status/byte_count.h"
#include "core/base/status/errors.h"
#include "core/base/status/status_macros.h"
#include "core/training/recipe/recipe_checks.h"
#include "server/digest/sha256.h"
#include "server/jobs/data/training_data.h"
#include "server/jobs/job_manager.h"
#include "server/jobs/model_verification.h"
#include "server/jobs/record/job_event.h"
#include "server/storage/new_id.h"

namespace mercer::server {
namespace {

// Missing values are looked for in a single data set of no more; in a larger one the job finds them.
constexpr size_t kMostCheckedBytes = size_t{1} << 30;

// What can be checked without data. Errors: kInvalidArgument.
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

// What the request of the submission means.
absl::StatusOr<std::shared_ptr<const JobPlan>> PlanOf(const JobPlanner& planner,
                                                      const JobSubmission& submission) {
  if (submission.plan != nullptr) {
    return submission.plan;
  }
  MERCER_ASSIGN_OR_RETURN(JobPlan plan, planner.Plan(submission.request));
  return std::make_shared<const JobPlan>(std::move(plan));
}

// What is known of the data before any row of it is joined.
absl::StatusOr<std::shared_ptr<const Dataset>> OpenShapeOf(DatasetCache& datasets,
                                                           const JobPlan& plan) {
  std::vector<NamedContent> contents;
  for (const std::string& id : plan.dataset_ids) {
    MERCER_ASSIGN_OR_RETURN(std::shared_ptr<const Dataset> rows, IfVisible(datasets.Open(id)));
    contents.push_back({id, "", std::move(rows)});
  }
  return ShapeOfContents(contents);
}

// A training that is asked for.
struct AskedTraining {
  CompleteRequest complete;
  const LearnerEntry* entry = nullptr;
  std::shared_ptr<const Dataset> shape;  // of its rows
  int64_t memory_bytes = 0;              // that it takes at most

  const TrainingRecipe& recipe() const { return complete.plan.recipe; }
};

// `plan` is that of `request`. Errors: those of ValidatePlan, of the data and of JobPlanner.
absl::StatusOr<AskedTraining> LookAt(const AttemptEnvironment& environment,
                                     const std::string& request, const JobPlan& plan,
                                     const RunContext& context) {
  const JobManagerDependencies& dependencies = environment.dependencies;
  AskedTraining asked;
  MERCER_RETURN_IF_ERROR(ValidatePlan(dependencies.find_learner, plan).status());
  MERCER_ASSIGN_OR_RETURN(asked.shape, OpenShapeOf(*environment.datasets, plan));
  MERCER_ASSIGN_OR_RETURN(asked.complete,
                          dependencies.planner->Complete(request, plan, *asked.shape, context));
  MERCER_ASSIGN_OR_RETURN(asked.entry,
                          ValidatePlan(dependencies.find_learner, asked.complete.plan));
  MERCER_ASSIGN_OR_RETURN(
      const ScratchChoice choice,
      environment.scratch->Choose(*asked.entry, asked.recipe(), *asked.shape,
                                  environment.options.memory_budget_bytes, context));
  asked.memory_bytes = choice.memory_bytes;
  return asked;
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

// Refuses what the training would fail on for its data. Errors: those of CheckRows, CheckNamedColumns and CheckMissingValues.
absl::Status CheckData(const AskedTraining& asked, const RunContext& context) {
  MERCER_RETURN_IF_ERROR(CheckNamedColumns(asked.recipe(), *asked.shape));
  MERCER_RETURN_IF_ERROR(CheckRows(*asked.entry, asked.recipe(), *asked.shape, context).status());
  const bool has_values = asked.complete.plan.dataset_ids.size() == 1;
  if (has_values && BytesOfValues(*asked.shape) <= kMostCheckedBytes) {
    MERCER_RETURN_IF_ERROR(CheckMissingValues(asked.recipe(), *asked.shape, context));
  }
  return context.CheckCancelled();
}

// Whether there is a server that has the memory. Errors: kResourceExhausted (JOB_TOO_LARGE).
absl::Status CheckFits(const JobManagerOptions& options, int64_t bytes) {
  const int64_t largest =
      std::max<int64_t>(options.memory_budget_bytes, options.largest_budget_bytes);
  return bytes <= largest ? absl::OkStatus() : JobTooLarge(bytes, largest);
}

}  // namespace

absl::Status JobTooLarge(int64_t estimate_bytes, int64_t budget_bytes) {
  return WithReason(
      absl::ResourceExhaustedError(absl::StrCat(
          "the job needs up to ", estimate_bytes,
          " bytes of memory, more than the server's budget of ", budget_bytes, " bytes")),
      "JOB_TOO_LARGE",
      {{"estimate_bytes", absl::StrCat(estimate_bytes)},
       {"budget_bytes", absl::StrCat(budget_bytes)}});
}

absl::StatusOr<CreatedJob> JobManager::Submit(const JobSubmission& submission,
                                              const CancellationToken& cancellation) {
  const JobManagerDependencies& dependencies = environment_.dependencies;
  // A request that is wrong in itself is refused also when it repeats one.
  MERCER_ASSIGN_OR_RETURN(const std::shared_ptr<const JobPlan> plan,
                          PlanOf(*dependencies.planner, submission));
  MERCER_RETURN_IF_ERROR(ValidatePlan(dependencies.find_learner, *plan).status());
  return SubmitOnce(submission, [&]() -> absl::StatusOr<NewJob> {
    const RunContext context(cancellation, 1, nullptr);
    MERCER_ASSIGN_OR_RETURN(AskedTraining asked,
                            LookAt(environment_, submission.request, *plan, context));
    MERCER_RETURN_IF_ERROR(CheckFits(environment_.options, asked.memory_bytes));
    MERCER_RETURN_IF_ERROR(CheckData(asked, context));
    NewJob job;
    job.id = NewId();
    job.request = asked.complete.request;
    job.learner = asked.recipe().learner;
    job.dataset_ids = asked.complete.plan.dataset_ids;
    job.model_name =
        submission.model_name.empty() ? absl::StrCat("model-", job.id) : submission.model_name;
    job.memory_bytes = asked.memory_bytes;
    environment_.plans->Keep(job.id, std::move(asked.complete));  // before a worker may claim it
    return job;
  });
}

absl::StatusOr<CreatedJob> JobManager::SubmitOther(const JobSubmission& submission,
                                                   JobAdmitter admit) {
  return SubmitOnce(submission, [&]() -> absl::StatusOr<NewJob> {
    MERCER_ASSIGN_OR_RETURN(AdmittedJob admitted, admit());
    MERCER_RETURN_IF_ERROR(CheckFits(environment_.options, admitted.memory_bytes));
    NewJob job;
    job.id = NewId();
    job.request = std::move(admitted.request);
    job.dataset_ids = std::move(admitted.dataset_ids);
    job.memory_bytes = admitted.memory_bytes;
    job.used_model = std::move(admitted.model);
    job.used_version = admitted.version;
    return job;
  });
}

absl::StatusOr<JobCost> JobManager::Estimate(const JobSubmission& submission,
                                             const CancellationToken& cancellation) {
  const RunContext context(cancellation, 1, nullptr);
  const JobManagerOptions& options = environment_.options;
  MERCER_ASSIGN_OR_RETURN(const std::shared_ptr<const JobPlan> plan,
                          PlanOf(*environment_.dependencies.planner, submission));
  MERCER_ASSIGN_OR_RETURN(AskedTraining asked,
                          LookAt(environment_, submission.request, *plan, context));
  MERCER_RETURN_IF_ERROR(CheckData(asked, context));
  const RunningConditions conditions{rates_.Get(), asked.complete.plan.num_threads,
                                     static_cast<size_t>(options.cache_bytes)};
  MERCER_ASSIGN_OR_RETURN(
      const double seconds,
      EstimateRecipeSeconds(*asked.entry, asked.recipe(), *asked.shape, conditions, context));
  return JobCost{asked.memory_bytes, absl::Seconds(seconds), options.memory_budget_bytes,
                 std::move(asked.complete.request)};
}

absl::StatusOr<CreatedJob> JobManager::SubmitOnce(
    const JobSubmission& submission, absl::FunctionRef<absl::StatusOr<NewJob>()> admit) {
  // Requests of other kinds may be the same bytes.
  const std::string digest =
      submission.kind == JobKind::kTraining
          ? Sha256Hex(submission.request)
          : Sha256Hex(absl::StrCat(static_cast<int>(submission.kind), "\n", submission.request));
  if (!submission.request_id.empty()) {
    // A retry gets its job also when the data set is gone by now or the server is draining.
    MERCER_ASSIGN_OR_RETURN(
        std::optional<JobRecord> earlier,
        storage().jobs().FindRequest(submission.caller, submission.request_id, digest));
    if (earlier.has_value()) {
      return CreatedJob{*std::move(earlier), false};
    }
  }
  if (draining()) {
    return WithReason(absl::UnavailableError("the server is shutting down and takes no new jobs"),
                      "DRAINING");
  }
  if (environment_.dependencies.disk != nullptr) {
    MERCER_RETURN_IF_ERROR(environment_.dependencies.disk->CheckRoom());
  }
  MERCER_ASSIGN_OR_RETURN(NewJob job, admit());
  job.kind = submission.kind;
  job.limits = environment_.options.queue_limits;
  job.caller = submission.caller;
  job.trace_id = submission.trace_id;
  job.priority = submission.priority;
  job.display_name = submission.display_name;
  job.request_id = submission.request_id;
  job.request_digest = digest;
  job.labels = submission.labels;
  job.now = clock().Now();
  job.event = QueuedEvent(submission.trace_id);
  job.check = submission.check;
  const std::string id = job.id;
  absl::StatusOr<CreatedJob> created = storage().jobs().CreateJob(std::move(job));
  if (!created.ok() || !created->created) {
    environment_.plans->Take(id, "");
  }
  if (created.ok()) {
    signal_.Tell();
  }
  return created;
}

absl::StatusOr<std::shared_ptr<const Dataset>> JobManager::OpenDataset(
    const std::string& id, const CancellationToken& cancellation) {
  return IfVisible(environment_.datasets->OpenVerified(id, cancellation));
}

absl::StatusOr<std::shared_ptr<const Dataset>> JobManager::OpenShape(const std::string& id) {
  return IfVisible(environment_.datasets->Open(id));
}

absl::StatusOr<int64_t> JobManager::VerificationBytes(const StoredModel& stored,
                                                      const CancellationToken& cancellation) {
  MERCER_ASSIGN_OR_RETURN(
      const PreparedVerification prepared,
      PrepareVerification(environment_, stored, OpenedFor::kShape, cancellation));
  return prepared.choice.memory_bytes;
}

}  // namespace mercer::server
