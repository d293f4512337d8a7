// What requests may have in bytes, and take in memory together.
#include "server/rpc/request_intake.h"

#include <string>

#include <grpcpp/support/proto_buffer_reader.h>
#include <gtest/gtest.h>

#include "core/base/status/errors.h"
#include "mercer/v1/prediction_service.pb.h"
#include "mercer/v1/training_service.pb.h"
#include "server/rpc/parsed_bytes.h"
#include "server/rpc/request_call.h"
#include "tests/server/api/api_fixture.h"
#include "tests/support/server/raw_call.h"

namespace mercer::server {
namespace {

using grpc::StatusCode;

class RequestIntakeTest : public ApiTest {
 protected:
  grpc::Status Call(const std::string& method, const std::string& bytes) {
    return CallRaw(server_->InProcessChannel({}),
                   {.path = "/mercer.v1." + method, .message = MessageOf(bytes)});
  }
};

TEST_F(RequestIntakeTest, BytesThatAreNoMessageAreInvalid) {
  Serve();
  for (const char* method :
       {"TrainingService/GetJob", "TrainingService/WatchJobs", "TrainingService/StreamProgress",
        "ModelService/ExportModel", "ModelService/VerifyModel", "PredictionService/Predict",
        "PredictionService/PredictStream", "DatasetService/UploadDataset"}) {
    for (const char* bytes : {"\x0a\x05one", "\xff\xff\xff", "\x0a\x01\xff"}) {
      const grpc::Status status = Call(method, bytes);
      EXPECT_EQ(status.error_code(), StatusCode::INVALID_ARGUMENT) << method;
      EXPECT_EQ(ReasonOf(status), "MALFORMED_MESSAGE") << method << ": " << status.error_message();
    }
  }
}

// Each takes more than half of the memory for all: the first has gone before the second counts.
TEST(RequestIntakeOfAStreamTest, MessagesWithManyFieldsComeOneAfterTheOther) {
  v1::PredictStreamRequest request;
  for (int i = 0; i < 30'000; ++i) {
    request.mutable_rows()->add_tasks("task of the row");
  }
  RpcEnvironment environment;
  CallLoad load;
  v1::PredictStreamRequest message;
  grpc::ByteBuffer bytes = BytesOf(request);
  grpc::ProtoBufferReader reader(&bytes);
  const int64_t taken = ParsedBytes(message, reader);
  environment.request_memory_bytes = taken + taken / 2;
  RequestIntake intake(environment, environment.max_message_bytes, load);
  for (int i = 0; i < 3; ++i) {
    bytes = BytesOf(request);
    EXPECT_TRUE(intake.TakesLong(bytes, message));
    const absl::Status parsed = intake.Parse(bytes, message);
    ASSERT_TRUE(parsed.ok()) << i << ": " << parsed;
    EXPECT_EQ(message.rows().tasks_size(), 30'000);
  }
  bytes = BytesOf(v1::PredictStreamRequest());
  EXPECT_TRUE(intake.TakesLong(bytes, message));  // to destroy the one before
  ASSERT_TRUE(intake.Parse(bytes, message).ok());
  EXPECT_FALSE(intake.TakesLong(bytes, message));
}

TEST_F(RequestIntakeTest, MethodsTakeNoMoreBytesThanTheyNeed) {
  Serve();
  v1::GetJobRequest small;
  small.set_name(std::string(70'000, 'j'));
  EXPECT_EQ(ReasonOf(Call("TrainingService/GetJob", small.SerializeAsString())),
            "REQUEST_TOO_LARGE");
  v1::TrainRequest large;
  large.set_display_name(std::string(size_t{2} << 20, 'n'));
  EXPECT_EQ(ReasonOf(Call("TrainingService/Train", large.SerializeAsString())),
            "REQUEST_TOO_LARGE");
}

TEST_F(RequestIntakeTest, RequestsShareOneMemory) {
  environment_.request_memory_bytes = 100'000;
  Serve();
  v1::PredictRequest request;
  request.set_model(std::string(90'000, 'm'));
  EXPECT_EQ(ReasonOf(Call("PredictionService/Predict", request.SerializeAsString())), "BAD_FIELDS");
  const auto others = environment_.request_memory.Take(
      50'000, 100'000, [] { return false; });  // waits for the call above
  ASSERT_TRUE(others.ok());
  EXPECT_EQ(ReasonOf(Call("PredictionService/Predict", request.SerializeAsString())),
            "REQUESTS_FILL_MEMORY");
  request.set_model(std::string(200'000, 'm'));
  EXPECT_EQ(ReasonOf(Call("PredictionService/Predict", request.SerializeAsString())),
            "REQUEST_TOO_LARGE");
}

}  // namespace
}  // namespace mercer::server
