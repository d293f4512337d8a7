#include "server/api/training_handlers.h"

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"

#include "core/base/memory/memory_reserve.h"
#include "core/base/status/errors.h"
#include "core/base/status/status_macros.h"
#include "server/api/page_filler.h"
#include "server/translation/error_details.h"
#include "server/translation/field_update.h"
#include "server/translation/job_translator.h"
#include "server/translation/list_fields.h"
#include "server/translation/option_translator.h"
#include "server/translation/recipe_translator.h"
#include "server/translation/request_paths.h"
#include "server/translation/resource_names.h"
#include "server/translation/times.h"

namespace mercer::server {
namespace {

// A request is kept with its job and its model, and comes with every list of them.
constexpr size_t kMaxStoredRequestBytes = size_t{1} << 20;

template <typename Answer>
Answer AboutJob(Answer answer, const std::string& id) {
  return AboutResource(std::move(answer), "job", JobName(id));
}

// The stores' "not found", said as that of the resource.
absl::Status AboutDataset(const absl::Status& status, const v1::TrainRequest& request) {
  if (status.code() != absl::StatusCode::kNotFound) {
    return status;
  }
  const std::string id = Find(GetErrorMetadata(status), "dataset");
  const std::string name = !id.empty()              ? DatasetName(id)
                           : request.data().empty() ? ""
                                                    : request.data(0).dataset();
  return WithReason(absl::NotFoundError(absl::StrCat("there is no data set '", name, "'")),
                    "DATASET_NOT_FOUND", {{"resource_type", "data set"}, {"resource_name", name}});
}

// Fields of a TrainRequest, said as those of the request that holds it.
absl::Status InTraining(const absl::Status& status) {
  if (GetFieldViolations(status).empty()) {
    return status;
  }
  FieldViolations violations;
  violations.AddAll("training", status);
  return WithReason(violations.ToStatus(), GetReason(status), GetErrorMetadata(status));
}

// Enumerators that have the same numbers in the API and in the stores; a filter has no use for more than there are.
template <typename Enumerator>
std::vector<Enumerator> ReadChosen(const google::protobuf::RepeatedField<int>& numbers,
                                   const std::string& name,
                                   const google::protobuf::EnumDescriptor& type,
                                   FieldViolations& violations) {
  std::vector<Enumerator> chosen;
  if (violations.Check(
          numbers.size() <= type.value_count(), name,
          absl::StrCat("must be at most ", type.value_count(), ", are ", numbers.size()))) {
    for (int i = 0; i < numbers.size(); ++i) {
      violations.Check(numbers[i] != 0, absl::StrCat(name, "[", i, "]"),
                       absl::StrCat("must not be ", type.value(0)->name()));
      chosen.push_back(static_cast<Enumerator>(numbers[i]));
    }
  }
  return chosen;
}

}  // namespace

absl::StatusOr<JobFilter> ReadJobFilter(
    const google::protobuf::RepeatedField<int>& states,
    const google::protobuf::RepeatedField<int>& kinds,
    const google::protobuf::Map<std::string, std::string>& labels) {
  FieldViolations violations;
  JobFilter filter;
  filter.states = ReadChosen<JobState>(states, "states", *v1::JobState_descriptor(), violations);
  filter.kinds = ReadChosen<JobKind>(kinds, "kinds", *v1::JobKind_descriptor(), violations);
  CheckLabels(labels, violations);
  MERCER_RETURN_IF_ERROR(violations.ToStatus());
  filter.labels = {labels.begin(), labels.end()};
  return filter;
}

std::string TrainingHandlers::LessMemoryAdvice(const v1::TrainRequest& request) const {
  std::vector<std::string> ways;
  for (const LearnerEntry* entry : context_.learners) {
    if (!entry->way_to_linear_memory.empty() &&
        entry->way_to_linear_memory != ChosenLearner(request)) {
      ways.push_back(entry->way_to_linear_memory);
    }
  }
  const std::string others = absl::StrCat("; it grows with the rows and not with their square in ",
                                          absl::StrJoin(ways, ", "));
  return absl::StrCat("fewer rows or kernels take less memory", ways.empty() ? "" : others);
}

absl::Status TrainingHandlers::WithAdvice(const absl::Status& status,
                                          const v1::TrainRequest& request) const {
  if (GetReason(status) != "JOB_TOO_LARGE") {
    return status;
  }
  const std::string message = absl::StrCat(status.message(), "; ", LessMemoryAdvice(request));
  return WithReason(absl::Status(status.code(), message), GetReason(status),
                    GetErrorMetadata(status));
}

absl::StatusOr<JobSubmission> TrainingHandlers::MakeSubmission(
    const v1::TrainRequest& request) const {
  const ScopedAllocations scope(Allocations::kNeeded);  // see whole_message.h
  v1::TrainRequest asked = request;
  asked.clear_decisions();
  absl::StatusOr<JobPlan> plan = context_.planner->Translate(asked, context_.learners);
  if (!plan.ok() && asked.target_kind() == v1::TARGET_KIND_UNSPECIFIED) {
    // An option that is for numbers alone says what the target is.
    asked.set_target_kind(v1::TARGET_KIND_REGRESSION);
    absl::StatusOr<JobPlan> of_numbers = context_.planner->Translate(asked, context_.learners);
    plan = of_numbers.ok() ? std::move(of_numbers) : std::move(plan);
  }
  MERCER_RETURN_IF_ERROR(plan.status());
  JobSubmission submission;
  submission.plan = std::make_shared<const JobPlan>(*std::move(plan));
  submission.request = EncodeTrainRequest(asked);
  if (submission.request.size() > kMaxStoredRequestBytes) {
    return WithReason(absl::ResourceExhaustedError(absl::StrCat(
                          "the request has ", submission.request.size(), " bytes, at most ",
                          kMaxStoredRequestBytes, " are kept with a job")),
                      "REQUEST_TOO_LARGE",
                      {{"limit_bytes", absl::StrCat(kMaxStoredRequestBytes)},
                       {"got_bytes", absl::StrCat(submission.request.size())}});
  }
  submission.request_id = request.request_id();
  submission.display_name = request.display_name();
  if (!request.model().empty()) {
    MERCER_ASSIGN_OR_RETURN(const ModelReference model, ParseModelName(request.model(), "model"));
    submission.model_name = model.model;
  }
  submission.priority = request.priority();
  submission.labels = {request.labels().begin(), request.labels().end()};
  return submission;
}

absl::StatusOr<v1::Job> TrainingHandlers::Train(const v1::TrainRequest& request,
                                                const CallInfo& info,
                                                const CancellationToken& cancellation) const {
  MERCER_ASSIGN_OR_RETURN(JobSubmission submission, MakeSubmission(request));
  submission.caller = info.caller.name;
  submission.check = info.CheckOfChange("model", ModelName(submission.model_name));
  submission.trace_id = info.trace_id;
  const absl::StatusOr<CreatedJob> created = context_.jobs->Submit(submission, cancellation);
  if (!created.ok()) {
    return WithAdvice(AboutDataset(WithRequestPaths(created.status(), request.learner()), request),
                      request);
  }
  return WriteJob(created->job, {});
}

absl::StatusOr<v1::Job> TrainingHandlers::ReadJob(const std::string& id) const {
  JobStore& jobs = context_.storage->jobs();
  MERCER_ASSIGN_OR_RETURN(const JobRecord record, AboutJob(jobs.GetJob(id), id));
  MERCER_ASSIGN_OR_RETURN(const std::vector<AttemptRecord> attempts, jobs.ListAttempts(id));
  return WriteJob(record, attempts);
}

absl::StatusOr<v1::Job> TrainingHandlers::GetJob(const v1::GetJobRequest& request) const {
  MERCER_ASSIGN_OR_RETURN(const std::string id, ParseJobName(request.name(), "name"));
  return ReadJob(id);
}

absl::StatusOr<v1::ListJobsResponse> TrainingHandlers::ListJobs(
    const v1::ListJobsRequest& request) const {
  MERCER_ASSIGN_OR_RETURN(JobFilter filter,
                          ReadJobFilter(request.states(), request.kinds(), request.labels()));
  MERCER_ASSIGN_OR_RETURN(filter.query, ReadJobQuery(request.filter(), request.order_by()));
  return AnswerList(
      request, context_.limits.message_bytes, &v1::ListJobsResponse::mutable_jobs,
      [&](const PageRequest& page) { return context_.storage->jobs().ListJobs(filter, page); },
      [](const JobRecord& record) { return WriteJob(record, {}); });
}

template <typename IsDone>
absl::StatusOr<v1::Job> TrainingHandlers::EndJob(
    const std::string& name, const CallInfo& info,
    absl::StatusOr<JobRecord> (JobManager::*end)(const std::string&, const OwnerCheck&),
    const IsDone& is_done) const {
  MERCER_ASSIGN_OR_RETURN(const std::string id, ParseJobName(name, "name"));
  const OwnerCheck check = info.CheckOfChange("job", JobName(id));
  const absl::Status status =
      ChangeThatFrees(context_, [&] { return (context_.jobs->*end)(id, check); }).status();
  if (absl::IsPermissionDenied(status)) {
    return status;
  }
  absl::StatusOr<v1::Job> job = ReadJob(id);
  return status.ok() || (job.ok() && is_done(*job)) ? std::move(job) : AboutJob(status, id);
}

absl::StatusOr<v1::Job> TrainingHandlers::CancelJob(const v1::CancelJobRequest& request,
                                                    const CallInfo& info) const {
  return EndJob(request.name(), info, &JobManager::Cancel,
                [](const v1::Job& job) { return job.state() == v1::JOB_STATE_CANCELLED; });
}

absl::StatusOr<v1::Job> TrainingHandlers::StopJob(const v1::StopJobRequest& request,
                                                  const CallInfo& info) const {
  return EndJob(request.name(), info, &JobManager::Stop,
                [](const v1::Job& job) { return job.stop_requested(); });
}

absl::Status TrainingHandlers::CheckNewLabels(const std::string& id, const v1::Job& job,
                                              Labels& labels) const {
  MERCER_ASSIGN_OR_RETURN(const JobRecord record,
                          AboutJob(context_.storage->jobs().GetJob(id), id));
  // A job has it from its beginning or never.
  if (const auto own = record.labels.find(kCallLabel); own != record.labels.end()) {
    const std::string& kept = labels.insert(*own).first->second;
    if (kept == own->second) {
      return absl::OkStatus();
    }
  }
  FieldViolations of_job;
  if (record.kind == JobKind::kTraining) {
    MERCER_ASSIGN_OR_RETURN(const v1::TrainRequest asked, DecodeTrainRequest(record.request));
    CheckLabelsOfTraining(job.labels(), asked.path(), of_job);
  } else {
    CheckLabelsOfJob(job.labels(), of_job);
  }
  FieldViolations violations;
  violations.AddAll("job", of_job.ToStatus());
  return violations.ToStatus();
}

absl::StatusOr<v1::Job> TrainingHandlers::UpdateJob(const v1::UpdateJobRequest& request,
                                                    const CallInfo& info) const {
  const v1::Job& given = request.job();
  MERCER_ASSIGN_OR_RETURN(const std::string id, ParseJobName(given.name(), "job.name"));
  MERCER_ASSIGN_OR_RETURN(
      ResourceUpdate fields,
      ReadFieldUpdate("job", {given.etag(), &given.labels(), &given.display_name()},
                      MaskOf(request)));
  if (fields.labels.has_value()) {
    MERCER_RETURN_IF_ERROR(CheckNewLabels(id, given, *fields.labels));
  }
  fields.check = info.CheckOfChange("job", JobName(id));
  JobStore& jobs = context_.storage->jobs();
  MERCER_ASSIGN_OR_RETURN(const JobRecord updated,
                          AboutJob(jobs.UpdateJob({std::move(fields), id}), id));
  MERCER_ASSIGN_OR_RETURN(const std::vector<AttemptRecord> attempts, jobs.ListAttempts(id));
  return WriteJob(updated, attempts);
}

absl::StatusOr<google::protobuf::Empty> TrainingHandlers::DeleteJob(
    const v1::DeleteJobRequest& request, const CallInfo& info) const {
  MERCER_ASSIGN_OR_RETURN(const std::string id, ParseJobName(request.name(), "name"));
  const OwnerCheck check = info.CheckOfChange("job", JobName(id));
  const auto change = [&] { return context_.storage->jobs().DeleteJob(id, check); };
  MERCER_ASSIGN_OR_RETURN(const DeletedJob deleted,
                          AboutJob(ChangeThatFrees(context_, change), id));
  ReleaseBlobs(context_, deleted.released_blobs);
  return google::protobuf::Empty();
}

absl::StatusOr<v1::EstimateCostResponse> TrainingHandlers::EstimateCost(
    const v1::EstimateCostRequest& request, const CancellationToken& cancellation) const {
  const v1::TrainRequest& training = request.training();
  const absl::StatusOr<JobSubmission> submission = MakeSubmission(training);
  if (!submission.ok()) {
    return InTraining(submission.status());
  }
  const absl::StatusOr<JobCost> cost = context_.jobs->Estimate(*submission, cancellation);
  if (!cost.ok()) {
    return InTraining(AboutDataset(WithRequestPaths(cost.status(), training.learner()), training));
  }
  v1::EstimateCostResponse response;
  response.set_memory_bytes(cost->memory_bytes);
  response.set_memory_budget_bytes(cost->memory_budget_bytes);
  response.set_fits(cost->memory_bytes <= cost->memory_budget_bytes);
  if (!response.fits()) {
    response.set_advice(LessMemoryAdvice(training));
  }
  SetDuration(cost->time, response.mutable_time());
  MERCER_ASSIGN_OR_RETURN(v1::TrainRequest completed, DecodeTrainRequest(cost->request));
  response.mutable_decisions()->Swap(completed.mutable_decisions());
  return response;
}

absl::StatusOr<v1::ListLearnersResponse> TrainingHandlers::ListLearners(
    const v1::ListLearnersRequest&) const {
  v1::ListLearnersResponse response;
  for (const LearnerEntry* entry : context_.learners) {
    *response.add_learners() = DescribeLearner(*entry);
  }
  return response;
}

}  // namespace mercer::server
