// Jobs and learners: the calls of TrainingService, without gRPC.
#pragma once

#include "absl/status/statusor.h"
#include <google/protobuf/empty.pb.h>

#include "mercer/v1/training_service.pb.h"
#include "server/api/api_context.h"
#include "server/rpc/rpc.h"

namespace mercer::server {

// Errors: kInvalidArgument with every bad field.
absl::StatusOr<JobFilter> ReadJobFilter(
    const google::protobuf::RepeatedField<int>& states,
    const google::protobuf::RepeatedField<int>& kinds,
    const google::protobuf::Map<std::string, std::string>& labels);

// Thread-safe; the calls wait for SQL. Errors as the service documents them.
class TrainingHandlers {
 public:
  explicit TrainingHandlers(const ApiContext& context) : context_(context) {}

  absl::StatusOr<v1::Job> Train(const v1::TrainRequest& request, const CallInfo& info = CallInfo(),
                                const CancellationToken& cancellation = CancellationToken()) const;
  absl::StatusOr<v1::Job> GetJob(const v1::GetJobRequest& request) const;
  absl::StatusOr<v1::ListJobsResponse> ListJobs(const v1::ListJobsRequest& request) const;
  absl::StatusOr<v1::Job> CancelJob(const v1::CancelJobRequest& request,
                                    const CallInfo& info = CallInfo()) const;
  absl::StatusOr<v1::Job> StopJob(const v1::StopJobRequest& request,
                                  const CallInfo& info = CallInfo()) const;
  absl::StatusOr<v1::Job> UpdateJob(const v1::UpdateJobRequest& request,
                                    const CallInfo& info = CallInfo()) const;
  absl::StatusOr<google::protobuf::Empty> DeleteJob(const v1::DeleteJobRequest& request,
                                                    const CallInfo& info = CallInfo()) const;
  absl::StatusOr<v1::EstimateCostResponse> EstimateCost(
      const v1::EstimateCostRequest& request,
      const CancellationToken& cancellation = CancellationToken()) const;
  absl::StatusOr<v1::ListLearnersResponse> ListLearners(
      const v1::ListLearnersRequest& request) const;

 private:
  // What Train submits. Errors: those of Train that need no data.
  absl::StatusOr<JobSubmission> MakeSubmission(const v1::TrainRequest& request) const;
  absl::StatusOr<v1::Job> ReadJob(const std::string& id) const;
  // Ends a job by `end`. It is no error when that has been done before, so that the call may be repeated.
  template <typename IsDone>
  absl::StatusOr<v1::Job> EndJob(const std::string& name, const CallInfo& info,
                                 absl::StatusOr<JobRecord> (JobManager::*end)(const std::string&,
                                                                              const OwnerCheck&),
                                 const IsDone& is_done) const;
  // Of what an update makes of the job's labels; adds the server's own, which may be given back. Errors: kNotFound, kInvalidArgument:
  // the job's request sets aside labels for what it makes, or one that the job has not is the server's own.
  absl::Status CheckNewLabels(const std::string& id, const v1::Job& job, Labels& labels) const;
  // Names the learners that may fit where another is too large.
  std::string LessMemoryAdvice(const v1::TrainRequest& request) const;
  // A refusal for the memory of a training, with that advice; other errors as they are.
  absl::Status WithAdvice(const absl::Status& status, const v1::TrainRequest& request) const;

  const ApiContext& context_;
};

}  // namespace mercer::server
