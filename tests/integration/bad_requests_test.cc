// What is refused, with which code, reason and fields; and that a refusal changes nothing.
#include <thread>

#include <gmock/gmock.h>

#include "tests/integration/test_server.h"

namespace mercer::server {
namespace {

using grpc::StatusCode;
using testing::Contains;
using testing::HasSubstr;

class BadRequestsTest : public ServerTest {
 protected:
  BadRequestsTest() {
    ServerOptions options;
    options.workers = 1;
    StartServer(options);
    v1::Dataset dataset;
    EXPECT_TRUE(Upload(CloudsCsv(600, 3, 1), "clouds", &dataset).ok());
  }

  grpc::Status Train(const v1::TrainRequest& request, v1::Job* job = nullptr) {
    grpc::ClientContext context;
    v1::Job ignored;
    return training_->Train(&context, request, job == nullptr ? &ignored : job);
  }
  int CountJobs() {
    grpc::ClientContext context;
    v1::ListJobsResponse response;
    EXPECT_TRUE(training_->ListJobs(&context, v1::ListJobsRequest(), &response).ok());
    return response.jobs_size();
  }
  grpc::Status Cancel(const std::string& name) {
    grpc::ClientContext context;
    v1::CancelJobRequest request;
    request.set_name(name);
    v1::Job job;
    return training_->CancelJob(&context, request, &job);
  }
  grpc::Status DeleteDataset(const std::string& name) {
    grpc::ClientContext context;
    v1::DeleteDatasetRequest request;
    request.set_name(name);
    google::protobuf::Empty empty;
    return datasets_->DeleteDataset(&context, request, &empty);
  }
};

TEST_F(BadRequestsTest, UnknownFieldsAreRefusedByNumberAndNothingChanges) {
  v1::TrainRequest request = MakeRequest("datasets/clouds");
  v1::LpMkl& learner = *request.mutable_learner()->mutable_lp_mkl();
  learner.GetReflection()->MutableUnknownFields(&learner)->AddVarint(4711, 1);
  const grpc::Status status = Train(request);
  EXPECT_EQ(status.error_code(), StatusCode::INVALID_ARGUMENT);
  EXPECT_THAT(ViolationsOf(status),
              Contains(HasSubstr("learner.lp_mkl: unknown field number 4711")));
  EXPECT_EQ(CountJobs(), 0);
}

TEST_F(BadRequestsTest, EveryBadFieldIsNamed) {
  v1::TrainRequest request = MakeRequest("datasets/clouds");
  request.mutable_learner()->mutable_lp_mkl()->set_p(0.5);
  request.mutable_learner()->mutable_lp_mkl()->set_c(0);
  request.mutable_learner()->mutable_lp_mkl()->mutable_kernels(0)->set_bandwidths(2, -1);
  const grpc::Status status = Train(request);
  EXPECT_EQ(status.error_code(), StatusCode::INVALID_ARGUMENT);
  EXPECT_EQ(ReasonOf(status), "BAD_FIELDS");
  const std::vector<std::string> violations = ViolationsOf(status);
  EXPECT_THAT(violations, Contains(HasSubstr("learner.lp_mkl.p")));
  EXPECT_THAT(violations, Contains(HasSubstr("learner.lp_mkl.C")));
  EXPECT_THAT(violations,
              Contains(HasSubstr("learner.lp_mkl.kernels[0].bandwidths[2]: must be > 0")));
  EXPECT_EQ(CountJobs(), 0);
}

// Clients take 8 KiB of headers; what is larger reaches them as RESOURCE_EXHAUSTED, without the reasons.
TEST_F(BadRequestsTest, ManyLongViolationsReachTheClient) {
  v1::TrainRequest request = MakeRequest("datasets/clouds");
  std::string letters;
  for (int i = 0; i < 1000; ++i) {
    letters += "\xC3\xA4";
  }
  for (int i = 0; i < 100; ++i) {
    (*request.mutable_labels())[letters + std::to_string(i)] = "x";
    (*request.mutable_class_weights()->mutable_weights())[letters + std::to_string(i)] = -1;
  }
  const grpc::Status status = Train(request);
  EXPECT_EQ(status.error_code(), StatusCode::INVALID_ARGUMENT) << status.error_message();
  EXPECT_EQ(ReasonOf(status), "BAD_FIELDS");
  const std::vector<std::string> violations = ViolationsOf(status);
  ASSERT_GT(violations.size(), 2u);
  EXPECT_THAT(violations.back(), testing::MatchesRegex(": and [0-9]+ more"));
}

TEST_F(BadRequestsTest, UnknownNamesAreNotFound) {
  grpc::Status status = Train(MakeRequest("datasets/other"));
  EXPECT_EQ(status.error_code(), StatusCode::NOT_FOUND);
  EXPECT_TRUE(HasDetail<google::rpc::ResourceInfo>(status));
  EXPECT_EQ(Cancel("jobs/none").error_code(), StatusCode::NOT_FOUND);
  EXPECT_EQ(DeleteDataset("datasets/none").error_code(), StatusCode::NOT_FOUND);
  std::vector<v1::ProgressEvent> events;
  EXPECT_EQ(Stream("jobs/none", 0, &events).error_code(), StatusCode::NOT_FOUND);
  EXPECT_EQ(Stream("none", 0, &events).error_code(), StatusCode::INVALID_ARGUMENT);
  EXPECT_EQ(Stream("jobs/none", -1, &events).error_code(), StatusCode::INVALID_ARGUMENT);
  for (const char* model : {"models/none", "models/none/versions/1", "models/none/aliases/live"}) {
    grpc::ClientContext context;
    v1::PredictResponse response;
    EXPECT_EQ(prediction_->Predict(&context, MakePrediction(model, 1, 3), &response).error_code(),
              StatusCode::NOT_FOUND)
        << model;
  }
}

TEST_F(BadRequestsTest, PageTokensFromElsewhereAreRefused) {
  for (int i = 0; i < 2; ++i) {
    v1::Dataset dataset;
    ASSERT_TRUE(Upload(CloudsCsv(10, 2, 2), "", &dataset).ok());
  }
  grpc::ClientContext first;
  v1::ListDatasetsRequest request;
  request.set_page_size(1);
  v1::ListDatasetsResponse page;
  ASSERT_TRUE(datasets_->ListDatasets(&first, request, &page).ok());
  ASSERT_FALSE(page.next_page_token().empty());
  grpc::ClientContext second;
  v1::ListJobsRequest jobs;
  jobs.set_page_token(page.next_page_token());
  v1::ListJobsResponse ignored;
  const grpc::Status status = training_->ListJobs(&second, jobs, &ignored);
  EXPECT_EQ(status.error_code(), StatusCode::INVALID_ARGUMENT);
  EXPECT_EQ(ReasonOf(status), "BAD_PAGE_TOKEN");
  EXPECT_THAT(ViolationsOf(status), Contains(HasSubstr("page_token")));
  // All pages together hold each data set once.
  int count = page.datasets_size();
  while (!page.next_page_token().empty()) {
    grpc::ClientContext context;
    request.set_page_token(page.next_page_token());
    ASSERT_TRUE(datasets_->ListDatasets(&context, request, &page).ok());
    count += page.datasets_size();
  }
  EXPECT_EQ(count, 3);
}

TEST_F(BadRequestsTest, NegativePageSizeIsRefused) {
  grpc::ClientContext context;
  v1::ListJobsRequest request;
  request.set_page_size(-1);
  v1::ListJobsResponse response;
  EXPECT_EQ(ReasonOf(training_->ListJobs(&context, request, &response)), "BAD_PAGE_SIZE");
}

TEST_F(BadRequestsTest, SameRequestIdGivesTheSameJobAndRefusesOtherContent) {
  v1::TrainRequest request = MakeRequest("datasets/clouds");
  request.set_request_id("r-1");
  v1::Job first;
  v1::Job second;
  ASSERT_TRUE(Train(request, &first).ok());
  ASSERT_TRUE(Train(request, &second).ok());
  EXPECT_EQ(first.name(), second.name());
  request.set_seed(5);
  const grpc::Status status = Train(request);
  EXPECT_EQ(status.error_code(), StatusCode::ALREADY_EXISTS);
  EXPECT_EQ(ReasonOf(status), "REQUEST_ID_REUSED");
  EXPECT_EQ(CountJobs(), 1);
}

TEST_F(BadRequestsTest, MessageAboveTheLimitIsRefused) {
  v1::PredictRequest request = MakePrediction("models/none", 1, 3);
  request.mutable_rows()->mutable_dense(0)->mutable_values()->set_raw(
      std::string(size_t{65} << 20, 'x'));
  grpc::ClientContext context;
  v1::PredictResponse response;
  EXPECT_EQ(prediction_->Predict(&context, request, &response).error_code(),
            StatusCode::RESOURCE_EXHAUSTED);
  EXPECT_EQ(CountJobs(), 0) << "the server goes on";
}

TEST_F(BadRequestsTest, DataSetOfAQueuedJobCannotBeDeleted) {
  const v1::Job busy = TrainOk(MakeEndlessRequest("datasets/clouds"));
  const v1::Job queued = TrainOk(MakeRequest("datasets/clouds"));
  const grpc::Status status = DeleteDataset("datasets/clouds");
  EXPECT_EQ(status.error_code(), StatusCode::FAILED_PRECONDITION);
  EXPECT_EQ(ReasonOf(status), "DATASET_IN_USE");
  EXPECT_TRUE(HasDetail<google::rpc::PreconditionFailure>(status));
  EXPECT_TRUE(Cancel(queued.name()).ok());  // before the other one leaves it the worker
  EXPECT_TRUE(Cancel(busy.name()).ok());
  EXPECT_EQ(WaitForEnd(busy.name()).state(), v1::JOB_STATE_CANCELLED);
  EXPECT_EQ(WaitForEnd(queued.name()).state(), v1::JOB_STATE_CANCELLED);
  EXPECT_TRUE(DeleteDataset("datasets/clouds").ok());
}

TEST_F(BadRequestsTest, CancellingTwiceIsHarmlessAndCancellingAnEndedJobIsRefused) {
  const v1::Job endless = TrainOk(MakeEndlessRequest("datasets/clouds"));
  WaitForStart(endless.name());
  EXPECT_TRUE(Cancel(endless.name()).ok());
  EXPECT_EQ(WaitForEnd(endless.name()).state(), v1::JOB_STATE_CANCELLED);
  EXPECT_TRUE(Cancel(endless.name()).ok());
  const v1::Job job = WaitForEnd(TrainOk(MakeRequest("datasets/clouds")).name());
  ASSERT_EQ(job.state(), v1::JOB_STATE_SUCCEEDED) << job.ShortDebugString();
  const grpc::Status status = Cancel(job.name());
  EXPECT_EQ(status.error_code(), StatusCode::FAILED_PRECONDITION);
  EXPECT_EQ(ReasonOf(status), "JOB_IS_FINAL");
}

TEST_F(BadRequestsTest, ClientThatVanishesDuringAnUploadLeavesNothing) {
  const size_t blobs = FilesIn("blobs");
  {
    grpc::ClientContext context;
    v1::Dataset dataset;
    auto writer = datasets_->UploadDataset(&context, &dataset);
    v1::UploadDatasetRequest message;
    message.mutable_header()->set_dataset_id("vanished");
    message.mutable_header()->add_parts()->mutable_csv();
    writer->Write(message);
    message.mutable_chunk()->set_data("a,b\n1,2\n");
    writer->Write(message);
    context.TryCancel();
    EXPECT_EQ(writer->Finish().error_code(), StatusCode::CANCELLED);
  }
  // The end of the call is seen by the server at its own time; draining waits for it.
  server_->Drain();
  EXPECT_EQ(FilesIn("uploads"), 0u);
  EXPECT_EQ(FilesIn("blobs"), blobs);
  KillServer();
  StartServer();
  grpc::ClientContext context;
  v1::GetDatasetRequest request;
  request.set_name("datasets/vanished");
  v1::Dataset dataset;
  EXPECT_EQ(datasets_->GetDataset(&context, request, &dataset).error_code(), StatusCode::NOT_FOUND);
}

TEST_F(BadRequestsTest, WatchersThatVanishDisturbNobody) {
  const v1::Job job = TrainOk(MakeRequest("datasets/clouds"));
  for (int i = 0; i < 20; ++i) {
    grpc::ClientContext context;
    v1::StreamProgressRequest request;
    request.set_job(job.name());
    auto reader = training_->StreamProgress(&context, request);
    context.TryCancel();
    reader->Finish();
  }
  EXPECT_EQ(WaitForEnd(job.name()).state(), v1::JOB_STATE_SUCCEEDED);
}

TEST_F(BadRequestsTest, DataThatCannotBeTrainedOnAreRefusedWithAReason) {
  v1::Dataset dataset;
  ASSERT_TRUE(Upload("x1,label\n1,0\n2,0\n3,0\n", "single", &dataset).ok());
  const grpc::Status status = Train(MakeRequest("datasets/single"));
  EXPECT_EQ(status.error_code(), StatusCode::INVALID_ARGUMENT) << status.error_message();
  EXPECT_EQ(ReasonOf(status), "ONE_CLASS");
  EXPECT_EQ(CountJobs(), 0);
}

TEST_F(BadRequestsTest, JobAboveTheMemoryBudgetIsRefusedWithItsEstimate) {
  KillServer();
  ServerOptions options;
  options.memory_budget_bytes = 1000;
  StartServer(options);
  const grpc::Status status = Train(MakeRequest("datasets/clouds"));
  EXPECT_EQ(status.error_code(), StatusCode::RESOURCE_EXHAUSTED);
  EXPECT_EQ(ReasonOf(status), "JOB_TOO_LARGE");
  v1::EstimateCostRequest request;
  *request.mutable_training() = MakeRequest("datasets/clouds");
  v1::EstimateCostResponse cost;
  grpc::ClientContext context;
  EXPECT_TRUE(training_->EstimateCost(&context, request, &cost).ok());
  EXPECT_FALSE(cost.fits());
  EXPECT_EQ(cost.memory_budget_bytes(), 1000);
  EXPECT_EQ(CountJobs(), 0);
}

TEST_F(BadRequestsTest, RowsThatDoNotFitTheModelAreRefused) {
  const v1::Job job = WaitForEnd(TrainOk(MakeRequest("datasets/clouds")).name());
  ASSERT_EQ(job.state(), v1::JOB_STATE_SUCCEEDED) << job.ShortDebugString();
  const auto predict = [&](const v1::PredictRequest& request) {
    grpc::ClientContext context;
    v1::PredictResponse response;
    return prediction_->Predict(&context, request, &response);
  };
  EXPECT_EQ(predict(MakePrediction(job.model(), 2, 4)).error_code(), StatusCode::INVALID_ARGUMENT);
  EXPECT_EQ(predict(MakePrediction(job.model(), 0, 3)).error_code(), StatusCode::INVALID_ARGUMENT);
  v1::PredictRequest request = MakePrediction(job.model(), 2, 3);
  request.mutable_rows()->mutable_dense(0)->mutable_values()->set_values(
      4, std::numeric_limits<double>::infinity());
  EXPECT_THAT(predict(request).error_message(), HasSubstr("row 2"));
  request.mutable_rows()->mutable_dense(0)->mutable_values()->set_values(4, std::nan(""));
  EXPECT_THAT(predict(request).error_message(), HasSubstr("row 2"));
  request = v1::PredictRequest();
  request.set_model(job.model());
  EXPECT_THAT(ViolationsOf(predict(request)), Contains(HasSubstr("rows")));
  v1::TypedColumn& column = *request.mutable_rows()->add_columns();
  column.set_name("nonsense");
  column.mutable_numbers()->add_values(1);
  EXPECT_THAT(ViolationsOf(predict(request)), Contains(HasSubstr("rows.columns[0].name")));
  column.set_name("x1");
  EXPECT_THAT(predict(request).error_message(), HasSubstr("x2"));
  request.set_probabilities(true);
  EXPECT_EQ(ReasonOf(predict(request)), "NOT_CALIBRATED");
}

TEST_F(BadRequestsTest, SecondServerOnTheFolderIsRefused) {
  ServerOptions options;
  options.data_dir = folder_;
  options.listen = "127.0.0.1:0";
  const auto second = Server::Start(options, MakeLogger("off"));
  EXPECT_EQ(second.status().code(), absl::StatusCode::kFailedPrecondition);
  EXPECT_THAT(std::string(second.status().message()), HasSubstr(folder_.string()));
}

TEST_F(BadRequestsTest, OtherAddressesThanLoopbackAreRefused) {
  for (const char* address :
       {"0.0.0.0:0", "[::]:0", "10.0.0.1:80", "example.org:80", "127.0.0.1.example.org:80"}) {
    ServerOptions options;
    options.data_dir = folder_ / "other";
    options.listen = address;
    const auto server = Server::Start(options, MakeLogger("off"));
    EXPECT_EQ(server.status().code(), absl::StatusCode::kFailedPrecondition) << address;
    EXPECT_THAT(std::string(server.status().message()), HasSubstr("loopback")) << address;
  }
  EXPECT_FALSE(std::filesystem::exists(folder_ / "other"));
}

TEST_F(BadRequestsTest, DamagedModelFileIsDataLoss) {
  const v1::Job job = WaitForEnd(TrainOk(MakeRequest("datasets/clouds")).name());
  ASSERT_EQ(job.state(), v1::JOB_STATE_SUCCEEDED) << job.ShortDebugString();
  grpc::ClientContext get;
  v1::GetModelVersionRequest request;
  request.set_name(job.model());
  v1::ModelVersion model;
  ASSERT_TRUE(models_->GetModelVersion(&get, request, &model).ok());
  DrainServer();
  const std::filesystem::path path =
      folder_ / "blobs" / model.digest().substr(0, 2) / model.digest();
  std::filesystem::permissions(path, std::filesystem::perms::owner_all);
  {
    FILE* file = fopen(path.c_str(), "r+b");
    ASSERT_NE(file, nullptr) << path;
    fseek(file, 100, SEEK_SET);
    const int byte = fgetc(file);
    fseek(file, 100, SEEK_SET);
    fputc(byte ^ 1, file);
    fclose(file);
  }
  StartServer();
  grpc::ClientContext context;
  v1::PredictResponse response;
  const grpc::Status status =
      prediction_->Predict(&context, MakePrediction(job.model(), 1, 3), &response);
  EXPECT_EQ(status.error_code(), StatusCode::DATA_LOSS);
  EXPECT_EQ(ReasonOf(status), "BLOB_DAMAGED");
}

}  // namespace
}  // namespace mercer::server
