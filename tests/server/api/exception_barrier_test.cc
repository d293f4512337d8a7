// Whatever a call throws ends that call with a status, and nothing else.
#include <stdexcept>

#include <gtest/gtest.h>

#include "server/rpc/rpc_service.h"
#include "tests/server/api/api_fixture.h"

namespace mercer::server {
namespace {

using grpc::StatusCode;

// GetDataset throws what its request names.
class ThrowingRpcs final : public RpcService {
 public:
  explicit ThrowingRpcs(const RpcEnvironment& environment) : RpcService(environment) {
    Unary<v1::GetDatasetRequest>(
        "DatasetService/GetDataset", *environment.io,
        [](const v1::GetDatasetRequest& message) -> absl::StatusOr<v1::Dataset> {
          if (message.name() == "memory") {
            throw std::bad_alloc();
          }
          if (message.name() == "bug") {
            throw std::logic_error("row 7 is secret");
          }
          return v1::Dataset();
        });
  }
};

class ExceptionBarrierTest : public ApiTest {
 protected:
  void ExpectOutOfMemory(const grpc::Status& status) {
    EXPECT_EQ(status.error_code(), StatusCode::RESOURCE_EXHAUSTED) << status.error_message();
    EXPECT_EQ(ReasonOf(status), "OUT_OF_MEMORY");
  }
};

TEST_F(ExceptionBarrierTest, UnaryHandler) {
  ThrowingRpcs service(environment_);
  grpc::ServerBuilder builder;
  builder.RegisterService(&service);
  const std::unique_ptr<grpc::Server> server = builder.BuildAndStart();
  const auto stub = v1::DatasetService::NewStub(server->InProcessChannel({}));
  const auto get = [&](const std::string& name) {
    grpc::ClientContext context;
    v1::GetDatasetRequest request;
    request.set_name(name);
    v1::Dataset dataset;
    return stub->GetDataset(&context, request, &dataset);
  };
  ExpectOutOfMemory(get("memory"));
  const grpc::Status bug = get("bug");
  EXPECT_EQ(bug.error_code(), StatusCode::INTERNAL);
  EXPECT_EQ(bug.error_message().find("secret"), std::string::npos);
  EXPECT_TRUE(get("nothing").ok());
  server->Shutdown();
  server->Wait();
  EXPECT_EQ(environment_.calls->running(), 0);
}

TEST_F(ExceptionBarrierTest, Upload) {
  Serve();
  storage_.no_datasets = true;
  grpc::ClientContext context;
  v1::Dataset dataset;
  auto writer = datasets_->UploadDataset(&context, &dataset);
  v1::UploadDatasetRequest message;
  message.mutable_header()->add_parts()->mutable_csv();
  writer->Write(message);
  message.mutable_chunk()->set_data("a,b\n1,2\n");
  writer->Write(message);
  writer->WritesDone();
  ExpectOutOfMemory(writer->Finish());
  EXPECT_TRUE(std::filesystem::is_empty(folder_ / "uploads"));
}

TEST_F(ExceptionBarrierTest, PredictAndItsStream) {
  TrainClouds();
  blobs_->before_answer = [](const std::string&) { throw std::bad_alloc(); };
  Serve();
  grpc::ClientContext unary;
  v1::PredictResponse response;
  ExpectOutOfMemory(prediction_->Predict(&unary, CloudsRows("models/clouds", 1), &response));
  grpc::ClientContext context;
  auto stream = prediction_->PredictStream(&context);
  v1::PredictStreamRequest message;
  message.mutable_header()->set_model("models/clouds");
  stream->Write(message);
  EXPECT_FALSE(stream->Read(&response));
  ExpectOutOfMemory(stream->Finish());
  blobs_->before_answer = [](const std::string&) {};
  grpc::ClientContext again;
  EXPECT_TRUE(prediction_->Predict(&again, CloudsRows("models/clouds", 1), &response).ok());
}

TEST_F(ExceptionBarrierTest, Export) {
  TrainClouds();
  blobs_->before_answer = [](const std::string&) { throw std::bad_alloc(); };
  Serve();
  grpc::ClientContext context;
  v1::ExportModelRequest request;
  request.set_name("models/clouds");
  auto reader = models_->ExportModel(&context, request);
  v1::ExportModelResponse response;
  EXPECT_FALSE(reader->Read(&response));
  ExpectOutOfMemory(reader->Finish());
}

TEST_F(ExceptionBarrierTest, ProgressOfAnEndedJob) {
  const std::string job = TrainClouds();
  Serve();
  storage_.no_jobs = true;
  grpc::ClientContext context;
  v1::StreamProgressRequest request;
  request.set_job(job);
  auto reader = training_->StreamProgress(&context, request);
  v1::StreamProgressResponse response;
  while (reader->Read(&response)) {
    EXPECT_LT(response.event().state_change().state(), v1::JOB_STATE_SUCCEEDED);
  }
  ExpectOutOfMemory(reader->Finish());
}

}  // namespace
}  // namespace mercer::server
