// A server that has one of everything, for requests that spoil the fields of good ones.
#pragma once

#include <functional>
#include <map>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "tests/integration/any_call.h"
#include "tests/integration/test_server.h"

namespace mercer::server {

// Data sets "clouds" and "small"; versions 1 and 2 of "models/clouds" with the aliases "live", which has moved, and "next";
// a finished job.
class FieldWalkTest : public ServerTest {
 public:
  // What good requests need, made when it is not there (any more).
  void EnsureDataset(const std::string& id);
  void EnsureUpload(const std::string& id);  // half of it
  std::string SpareVersion(
      const std::string& model = "models/clouds");  // a new one, without an alias
  v1::Job VersionOf(v1::TrainRequest request, const std::string& model);  // what has made one
  void EnsureAliases();
  // A job that waits, because another one runs until the end of the test.
  std::string WaitingJob();
  void CancelWaitingJobs();
  // Waits for the ends of jobs that are no trainings, and deletes what they have made.
  void FinishOtherJobs();
  std::string CancelledJob();              // a new one
  void DropUpload(const std::string& id);  // if there is one
  void DropUploadedDatasets();             // those that SetUp has not made
  void BlockWorker();
  const std::string& finished_job() const { return finished_job_; }
  int Count() { return ++count_; }  // for ids that are used once
  // Of a job that is no training, what all their requests say.
  template <typename Request>
  Request JobToStart() {
    Request request;
    request.set_request_id("job-" + std::to_string(Count()));
    request.set_display_name("a job");
    request.mutable_time_limit()->set_seconds(600);
    (*request.mutable_labels())["team"] = "blue";
    return request;
  }
  std::string EtagOf(const std::string& alias);

  template <typename Request, typename Response>
  std::string PageToken(grpc::Status (v1::ModelService::Stub::*list)(grpc::ClientContext*,
                                                                     const Request&, Response*),
                        const Request& request) {
    return PageToken(*models_, list, request);
  }
  template <typename Stub, typename Request, typename Response>
  std::string PageToken(Stub& stub,
                        grpc::Status (Stub::*list)(grpc::ClientContext*, const Request&, Response*),
                        const Request& request) {
    Response response;
    Call(stub, list, request, &response);
    EXPECT_FALSE(response.next_page_token().empty()) << request.ShortDebugString();
    return response.next_page_token();
  }
  v1::DatasetService::Stub& datasets() { return *datasets_; }
  v1::TrainingService::Stub& training() { return *training_; }

 protected:
  void SetUp() override;

  // All that clients can see of what is stored, but for the progress of jobs.
  std::string StoredState();
  template <typename Stub, typename Request, typename Response>
  static void Call(Stub& stub,
                   grpc::Status (Stub::*method)(grpc::ClientContext*, const Request&, Response*),
                   const Request& request, Response* response) {
    grpc::ClientContext context;
    const grpc::Status status = (stub.*method)(&context, request, response);
    EXPECT_TRUE(status.ok()) << request.ShortDebugString() << ": " << status.error_message();
  }

 private:
  int count_ = 0;
  std::string finished_job_;
  std::string blocking_job_;
  std::string waiting_job_;
};

// A call that succeeds, and how its fields are spoiled.
struct GoodRequest {
  using Hook = std::function<void(FieldWalkTest&)>;

  std::function<Messages(FieldWalkTest&)> make;  // anew after every call that succeeded
  Hook after_success = nullptr;
  Hook after_refusal = nullptr;   // takes away what a refused call may leave behind
  bool only_present = false;      // as in MutationOptions
  int max_depth = 8;              // as in MutationOptions
  size_t max_answers = SIZE_MAX;  // of a stream that does not end
};

// By method: "TrainingService/Train".
const std::map<std::string, std::vector<GoodRequest>>& GoodRequests();

}  // namespace mercer::server
