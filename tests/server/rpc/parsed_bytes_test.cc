#include "server/rpc/parsed_bytes.h"

#include <string>

#include <google/protobuf/io/zero_copy_stream_impl_lite.h>
#include <gtest/gtest.h>

#include "mercer/v1/prediction_service.pb.h"
#include "mercer/v1/training_service.pb.h"

namespace mercer::server {
namespace {

int64_t Counted(const google::protobuf::Message& type, const std::string& bytes) {
  google::protobuf::io::ArrayInputStream stream(bytes.data(), static_cast<int>(bytes.size()));
  return ParsedBytes(type, stream);
}

// What protobuf itself says that the message takes once it is parsed.
int64_t TakenBytes(google::protobuf::Message& message, const std::string& bytes) {
  EXPECT_TRUE(message.ParseFromString(bytes));
  return static_cast<int64_t>(message.SpaceUsedLong());
}

template <typename Message>
void ExpectCounted(const std::string& bytes) {
  Message message;
  const int64_t taken = TakenBytes(message, bytes);
  const int64_t counted = Counted(Message(), bytes);
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
  EXPECT_GT(Counted(kernels, empty_kernels), 20 * static_cast<int64_t>(empty_kernels.size()));
  ExpectCounted<v1::TrainRequest>(empty_kernels);
  // Field 1000, which no message has: a number, a group with groups in it, and a string.
  ExpectCounted<v1::GetJobRequest>(Repeated("\xc0\x3e\x01", 100'000));
  ExpectCounted<v1::GetJobRequest>(Repeated("\xc3\x3e\xc3\x3e\x08\x01\xc4\x3e\xc4\x3e", 10'000));
  ExpectCounted<v1::GetJobRequest>(Repeated("\xc2\x3e\x05hello", 10'000));
}

TEST(ParsedBytesTest, ReadsNoFurtherThanItMust) {
  const std::string parts = Repeated(std::string("\x0a\x00", 2), 100'000);
  google::protobuf::io::ArrayInputStream stream(parts.data(), static_cast<int>(parts.size()),
                                                /*block_size=*/64);
  const int64_t counted = ParsedBytes(v1::TrainRequest(), stream, 10'000);
  EXPECT_GT(counted, 10'000);
  EXPECT_LT(counted, 11'000);
  EXPECT_LT(stream.ByteCount(), 1000);
}

bool HasMore(const google::protobuf::Message& message, int64_t fields) {
  const std::string bytes = message.SerializeAsString();
  google::protobuf::io::ArrayInputStream stream(bytes.data(), static_cast<int>(bytes.size()));
  return HasMoreFields(message, stream, fields);
}

TEST(ParsedBytesTest, CountsTheFieldsOfAllMessages) {
  v1::TrainRequest request;
  EXPECT_FALSE(HasMore(request, 0));
  auto& learner = *request.mutable_learner()->mutable_lp_mkl();
  for (int i = 0; i < 10; ++i) {
    learner.add_kernels()->set_type(v1::KERNEL_TYPE_GAUSSIAN);
  }
  EXPECT_TRUE(HasMore(request, 21));
  EXPECT_FALSE(HasMore(request, 22));  // the learner, its options, ten kernels and their types
  v1::Matrix numbers;
  numbers.mutable_values()->Resize(1000, 1.5);
  EXPECT_FALSE(HasMore(numbers, 1));
}

TEST(ParsedBytesTest, BytesWithoutSenseAreCountedAsFarAsTheyGo) {
  for (const char* bytes :
       {"\x0a\x7f", "\x0b", "\x0c", "\xff\xff\xff", "\x0a\xff\xff\xff\xff\x0f"}) {
    EXPECT_GE(Counted(v1::TrainRequest(), bytes), 0);
  }
  std::string nested;  // a thousand messages within each other
  for (int i = 0; i < 1000; ++i) {
    v1::TrainRequest outer;
    outer.GetReflection()->MutableUnknownFields(&outer)->AddLengthDelimited(2, nested);
    nested = outer.SerializeAsString();
  }
  EXPECT_GE(Counted(v1::TrainRequest(), nested), 0);
}

}  // namespace
}  // namespace mercer::server
