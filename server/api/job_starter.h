// The calls that make jobs of other kinds than trainings.
#pragma once

#include <string>

#include "absl/status/statusor.h"

#include "core/base/status/errors.h"
#include "core/base/status/status_macros.h"
#include "mercer/v1/job.pb.h"
#include "server/jobs/job_manager.h"
#include "server/rpc/rpc.h"
#include "server/translation/job_translator.h"
#include "server/translation/recipe_translator.h"
#include "server/translation/whole_message.h"

namespace mercer::server {

template <typename Request>
JobSubmission MakeJobSubmission(JobKind kind, const Request& request, const CallInfo& info) {
  const ScopedAllocations scope(Allocations::kNeeded);  // see whole_message.h
  Request same = request;
  same.clear_request_id();
  JobSubmission submission;
  submission.kind = kind;
  submission.request = EncodeWhole(same);
  submission.request_id = request.request_id();
  submission.display_name = request.display_name();
  submission.caller = info.caller.name;
  submission.trace_id = info.trace_id;
  submission.priority = request.priority();
  submission.labels = {request.labels().begin(), request.labels().end()};
  return submission;
}

// What the calls that start jobs and those that wait for them may say of the job.
template <typename Request>
void CheckJobOf(const Request& request, FieldViolations& violations) {
  CheckLabelsOfJob(request.labels(), violations);
  CheckDisplayName(request.display_name(), violations);
  if (request.has_time_limit()) {
    CheckTimeLimit(request.time_limit(), "time_limit", violations);
  }
}

// What `Request` says of the job is checked along with what `violations` names; `admit` is asked for what is
// stored. Errors: kInvalidArgument with every bad field; those of JobManager::SubmitOther.
template <typename Request>
absl::StatusOr<v1::Job> StartJob(JobManager& jobs, JobKind kind, const Request& request,
                                 const CallInfo& info, FieldViolations violations,
                                 JobAdmitter admit) {
  CheckJobOf(request, violations);
  CheckRequestId(request.request_id(), violations);
  CheckPriority(request.priority(), violations);
  MERCER_RETURN_IF_ERROR(violations.ToStatus());
  MERCER_ASSIGN_OR_RETURN(const CreatedJob created,
                          jobs.SubmitOther(MakeJobSubmission(kind, request, info), admit));
  return WriteJob(created.job, {});
}

// The same for a call that waits for the job. Nobody can ask for it again, and whoever may not start jobs overtakes none. Errors: as
// StartJob.
template <typename Request>
absl::StatusOr<JobRecord> StartJobOfCall(JobManager& jobs, JobKind kind, const Request& request,
                                         const CallInfo& info, JobAdmitter admit) {
  FieldViolations violations;
  constexpr char kWhy[] = "is for jobs that go on without their call";
  violations.Check(request.request_id().empty(), "request_id", kWhy);
  violations.Check(request.priority() == 0, "priority", kWhy);
  CheckJobOf(request, violations);
  MERCER_RETURN_IF_ERROR(violations.ToStatus());
  JobSubmission submission = MakeJobSubmission(kind, request, info);
  submission.labels[kCallLabel] = kCallLabelValue;
  MERCER_ASSIGN_OR_RETURN(CreatedJob created, jobs.SubmitOther(submission, admit));
  return std::move(created.job);
}

}  // namespace mercer::server
