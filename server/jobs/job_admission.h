// From a request to the row that it becomes in the queue. What looks at rows ends with kCancelled soon after its context is.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "absl/functional/function_ref.h"
#include "absl/status/statusor.h"

#include "core/training/run/machine_rates.h"
#include "server/jobs/attempt_environment.h"
#include "server/jobs/data/dataset_cache.h"
#include "server/jobs/job_manager.h"

namespace mercer::server {

// What can be checked without data. Errors: kInvalidArgument.
absl::StatusOr<const LearnerEntry*> ValidatePlan(const LearnerLookup& find_learner,
                                                 const JobPlan& plan);

// `plan` is that of `request`. Errors: those of ValidatePlan, of the data and of JobPlanner.
absl::StatusOr<CompleteRequest> MakeComplete(const AttemptEnvironment& environment,
                                             std::string_view request, const JobPlan& plan,
                                             const RunContext& context);

// Refuses what the training would fail on for its data. Missing values are looked for in a single data set of up to
// kMostCheckedBytes; in more the job finds them. Errors: those of CheckRows, CheckNamedColumns and CheckMissingValues.
absl::Status CheckJobData(const AttemptEnvironment& environment, const JobPlan& plan,
                          const RunContext& context);
inline constexpr size_t kMostCheckedBytes = size_t{1} << 30;

// Errors: those of ValidatePlan and of the data.
absl::StatusOr<JobEstimate> EstimateJob(const AttemptEnvironment& environment, const JobPlan& plan,
                                        const RunContext& context);

// Errors: the same.
absl::StatusOr<absl::Duration> EstimateJobTime(const AttemptEnvironment& environment,
                                               const JobPlan& plan,
                                               const RunningConditions& conditions,
                                               const RunContext& context);

// The row of a training, whose plan is kept for its worker; `plan` is that of its request. Errors: those of Submit.
absl::StatusOr<NewJob> AdmitTraining(const AttemptEnvironment& environment,
                                     const JobSubmission& submission, const JobPlan& plan,
                                     const RunContext& context);

// What the request of the submission means, for as long as `asked` and the submission live. Errors: those of JobPlanner::Plan.
absl::StatusOr<const JobPlan*> PlanOf(const AttemptEnvironment& environment,
                                      const JobSubmission& submission,
                                      std::optional<JobPlan>& asked);

// That of a job of another kind. Errors: those of SubmitOther.
absl::StatusOr<NewJob> AdmitOther(const AttemptEnvironment& environment, JobAdmitter admit);

// What a training would cost. Errors: those of Submit that are about the request and its data.
absl::StatusOr<JobCost> EstimateCost(const AttemptEnvironment& environment, MachineRates& rates,
                                     const JobSubmission& submission, const RunContext& context);

// The earlier job of this submission, or a new one of what `admit` answers, once the server takes jobs: `draining` says whether
// it does not. Fills in what is the same for all kinds. Errors: those of JobManager::Submit.
absl::StatusOr<CreatedJob> SubmitJob(const AttemptEnvironment& environment,
                                     const JobSubmission& submission,
                                     absl::FunctionRef<bool()> draining,
                                     absl::FunctionRef<absl::StatusOr<NewJob>()> admit);

// 80 random bits in Crockford's alphabet, lower case: no letters that look alike.
std::string MakeJobId();

}  // namespace mercer::server
