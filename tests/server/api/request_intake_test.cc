// What requests may have in bytes, and take in memory.
#include "server/api/request_intake.h"

#include <string>

#include <gtest/gtest.h>

#include "core/base/errors.h"
#include "mercer/v1/prediction_service.pb.h"
#include "mercer/v1/training_service.pb.h"
#include "tests/server/api/api_fixture.h"
#include "tests/support/server/raw_call.h"

namespace mercer::server {
namespace {

using grpc::StatusCode;

// What protobuf itself says that the message takes once it is parsed.
int64_t TakenBytes(google::protobuf::Message& message, const std::string& bytes) {
  EXPECT_TRUE(message.ParseFromString(bytes));
  return static_cast<int64_t>(message.SpaceUsedLong());
}

template <typename Message>
void ExpectCounted(const std::string& bytes) {
  Message message;
  const int64_t taken = TakenBytes(message, bytes);
  const int64_t counted = ParsedBytes(Message(), MessageOf(bytes));
  EXPECT_GE(counted, taken);
  EXPECT_LE(counted, 4 * taken + 1024);
}

std::string Repeated(const std::string& piece, int times) {
  std::string bytes;
  for (int i = 0; i < times; ++i) {
    bytes += piece;
  }
  return bytes;
}

TEST(ParsedBytesTest, CountsWhatMessagesTake) {
  ExpectCounted<v1::GetJobRequest>("");
  v1::GetJobRequest job;
  job.set_name(std::string(100'000, 'j'));
  ExpectCounted<v1::GetJobRequest>(job.SerializeAsString());
  v1::PredictRequest rows;
  rows.set_model("models/m");
  for (int i = 0; i < 10'000; ++i) {
    rows.mutable_rows()->add_tasks("t");
  }
  ExpectCounted<v1::PredictRequest>(rows.SerializeAsString());
  v1::TrainRequest labels;
  for (int i = 0; i < 1000; ++i) {
    (*labels.mutable_labels())["label-" + std::to_string(i)] = "value";
  }
  ExpectCounted<v1::TrainRequest>(labels.SerializeAsString());
}

TEST(ParsedBytesTest, CountsWhatGrows) {
  v1::TrainRequest kernels;
  for (int i = 0; i < 100'000; ++i) {
    kernels.mutable_learner()->mutable_lp_mkl()->add_kernels();
  }
  const std::string empty_kernels = kernels.SerializeAsString();
  EXPECT_GT(ParsedBytes(kernels, MessageOf(empty_kernels)),
            20 * static_cast<int64_t>(empty_kernels.size()));
  ExpectCounted<v1::TrainRequest>(empty_kernels);
  // Field 1000, which no message has: a number, a group with groups in it, and a string.
  ExpectCounted<v1::GetJobRequest>(Repeated("\xc0\x3e\x01", 100'000));
  ExpectCounted<v1::GetJobRequest>(Repeated("\xc3\x3e\xc3\x3e\x08\x01\xc4\x3e\xc4\x3e", 10'000));
  ExpectCounted<v1::GetJobRequest>(Repeated("\xc2\x3e\x05hello", 10'000));
}

TEST(ParsedBytesTest, BytesWithoutSenseAreCountedAsFarAsTheyGo) {
  for (const char* bytes :
       {"\x0a\x7f", "\x0b", "\x0c", "\xff\xff\xff", "\x0a\xff\xff\xff\xff\x0f"}) {
    EXPECT_GE(ParsedBytes(v1::TrainRequest(), MessageOf(bytes)), 0);
  }
  std::string nested;  // a thousand messages within each other
  for (int i = 0; i < 1000; ++i) {
    v1::TrainRequest outer;
    outer.GetReflection()->MutableUnknownFields(&outer)->AddLengthDelimited(2, nested);
    nested = outer.SerializeAsString();
  }
  EXPECT_GE(ParsedBytes(v1::TrainRequest(), MessageOf(nested)), 0);
}

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
  const auto others = environment_.request_memory->Take(
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
